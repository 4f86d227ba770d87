# Rows go into the indexes that they belong to, and into no others: those of
# ours, and what an administrator adds, changes and takes away while sessions
# work.  amcheck looks for every row in every index.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('indexes', conf => "fsync = off\n");
$node->start;
my $root = Wire->new($node);
install_gate($node);
$root->run('CREATE EXTENSION amcheck; CREATE EXTENSION pgstattuple');

# One session for all of it: what it keeps of indexes has to follow.
my $s = Wire->new($node);
$s->run('SET approval.commit_first = off');
$s->run('SET approval.separate_logins = off');
$s->run(q[SELECT approval.register_login('postgres', 'delegate')]);
$s->run(
	q[SELECT approval.register_tool('refund', 'action', '{"reviewer_group":"desk","cool_down":"1 hour"}')]
);
$s->run(
	q[SELECT approval.register_tool('panel', 'action', '{"reviewers":{"desk":1,"*":1}}')]
);
$s->run(q[SELECT approval.add_member('desk', 'user:1')]);

sub propose
{
	my ($call, $tool, $more) = @_;

	return $s->run(
		"SELECT id, review_hash FROM approval.propose('$call', '$tool', '{\"n\":\"$call\"}', conversation_id => '$call' $more)"
	)->record;
}

sub decide
{
	my ($request, $verdict) = @_;

	$s->run(
		"SELECT approval.decide('$request->{id}', '$verdict', '$request->{review_hash}', actor => 'user:1')"
	);
}

# Requests in every state: waiting, assigned, of a group, of a panel, approved,
# rejected, running, done.
sub live
{
	my ($name) = @_;
	my ($pending, $approved, $rejected, $running, $done) =
	  map { propose("$name-$_", 'refund', ", assignee => 'user:2'") } 1 .. 5;

	propose("$name-6", 'panel', '');
	propose("$name-7", 'unknown', '');
	decide($_, 'approve') for $approved, $running, $done;
	decide($rejected, 'reject');
	for my $r ($running, $done)
	{
		my $call = $r == $running ? "$name-4" : "$name-5";
		my $permit = $s->run(
			"SELECT token FROM approval.consume('$r->{id}', 'refund', '{\"n\":\"$call\"}', 'x')"
		)->value;

		$s->run(
			"SELECT approval.complete('$r->{id}', 'x', '$permit', 'succeeded')"
		) if $r == $done;
	}
	$s->run(
		"SELECT approval.decide_many(json_agg(json_build_object('id', id, 'seen', review_hash, 'verdict', 'reject')), 'user:1') FROM approval.requests WHERE tool = 'refund' AND status = 'pending'"
	) if $name =~ /bulk/;
	return;
}

# What is missing in an index, or there twice, is an error of amcheck; what is
# there and should not be, a difference in number.
sub sound
{
	my ($name) = @_;
	my @bad;

	for my $index (
		@{
			$root->run(
				q[SELECT indexrelid::regclass, pg_get_expr(indpred, indrelid), indrelid::regclass FROM pg_index WHERE indrelid IN ('approval.requests'::regclass, 'approval.events'::regclass, 'approval.decisions'::regclass) ORDER BY 1]
			)->{rows}
		})
	{
		my ($oid, $predicate, $table) = @$index;
		my $check = $root->query("SELECT bt_index_check('$oid', true)");
		my $where = $predicate // 'true';
		$root->run("VACUUM (INDEX_CLEANUP ON) $table");
		my $entries =
		  $root->run("SELECT tuple_count FROM pgstattuple('$oid')")->value;
		my $rows =
		  $root->run("SELECT count(*) FROM $table WHERE $where")->value;

		push @bad, "$oid: " . $check->error->{M} if $check->sqlstate;
		push @bad, "$oid: $entries entries for $rows rows"
		  if $entries != $rows;
	}
	is_deeply(\@bad, [], $name);
	return;
}

live('own');
sound('our own indexes');
live('bulk');
sound('several verdicts in one command');

$root->run(
	q[CREATE INDEX more ON approval.requests (tool_call_id) WHERE status = 'rejected'; CREATE INDEX all_of ON approval.requests (lower(summary))]
);
live('more');
sound('two more of an administrator');
$root->run(
	q[DROP INDEX approval.more; CREATE INDEX more ON approval.requests (tool_call_id) WHERE status = 'consumed' AND attempt > 0]
);
live('other');
sound('one of the same name with another predicate');
$root->run('DROP INDEX approval.all_of');
live('less');
sound('one less');
$root->run('REINDEX TABLE CONCURRENTLY approval.requests');
live('anew');
sound('all of them anew');
$s->run('BEGIN');
$s->run(
	q[CREATE INDEX own_one ON approval.requests (requested_by, id) WHERE status = 'pending']
);
live('inside');
$s->run('COMMIT');
sound('one that is made in the same transaction');
$root->run(
	q[CREATE FUNCTION zz() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER zz BEFORE INSERT OR UPDATE ON approval.requests FOR EACH ROW EXECUTE FUNCTION zz()]
);
live('trigger');
sound('with a trigger that may change rows');
is_deeply([ verify_all($root) ], [], 'every chain verifies');

done_testing();
