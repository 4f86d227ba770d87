# Runs that somebody holds open: who stops one is answered soon, whatever
# it is that hangs; and a snapshot that is too old permits nothing.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('held');
$node->start;
my $root = install_gate($node);
$root->run("ALTER ROLE alice SET approval.turn_wait = '200 ms'");
my ($agent, $hung, $alice) =
  map { Wire->new($node, user => $_) } qw(agent agent alice);

# A run that is started and claimed: its token.
sub held
{
	my ($run, $parent, $parent_token) = @_;
	my $above = $parent ? ", '$parent', '$parent_token'" : '';

	$agent->run("SELECT approval.start_run('conv', '$run'$above)");
	return $agent->run("SELECT token FROM approval.claim_run('$run')")->value;
}

sub call_in
{
	my ($s, $run, $token) = @_;

	return propose_one($s,
		more =>
		  "conversation_id => 'conv', run_id => '$run', run_token => '$token'"
	);
}

sub is_refused
{
	my ($run, $problem, $status) = @_;
	my $answer = $alice->query("SELECT approval.cancel_run('$run')");

	is($answer->verdict, 'PT409 run_claimed', $problem);
	is($answer->detail->{problem}, $problem, 'DETAIL says so');
	is($answer->detail->{status}, $status, 'and that nothing has ended');
}

sub is_stopped
{
	my ($run) = @_;

	is( $alice->run("SELECT status FROM approval.cancel_run('$run')")->value,
		'cancelled', 'then it can be stopped');
}

$alice->run("SET statement_timeout = '60 s'");

# A child whose transaction is open.
{
	my $token = held('parent');
	my $its = held('child', 'parent', $token);

	$hung->run('BEGIN');
	call_in($hung, 'child', $its);
	is_refused('parent', 'a transaction that works on a run below it is open',
		'running');
	$hung->run('COMMIT');
	is($agent->run("SELECT status FROM approval.run_of('child')")->value,
		'awaiting_approval', 'nothing comes late');
	is_stopped('parent');
}

# A call whose transaction is open: the agent's own, for ever about to withdraw it.
{
	my $token = held('called');
	my $call = call_in($agent, 'called', $token);

	$hung->run('BEGIN');
	$hung->run("SELECT approval.cancel('$call->{id}')");
	is_refused('called',
		'a transaction that works on a call of the run is open',
		'awaiting_approval');
	$hung->run('ROLLBACK');
	is( $root->run(
			"SELECT count(*) FROM approval.events WHERE kind = 'cancelled' AND request_id = '$call->{id}'"
		)->value,
		0,
		'nothing comes late');
	is_stopped('called');
}

# Without the token nobody proposes in a run that the snapshot does not know.
for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	my $run = "new in $level";

	$hung->run("BEGIN ISOLATION LEVEL $level");
	$hung->run('SELECT count(*) FROM pg_class');
	held($run);
	is_stopped($run);
	is( $hung->query(
			"SELECT approval.propose('late $level', 'refund', '{}', conversation_id => 'conv', run_id => '$run')"
		)->sqlstate,
		'40001',
		"$level: a run that has begun since is not proposed in");
	$hung->run('ROLLBACK');
}

# A run that waits for a handle or for a child is released without a ring, or
# whoever is rung up would release it again, and so on; what it waits for rings.
{
	my $token = held('bell');
	my $listener = Wire->new($node, user => 'agent');
	my $channel =
	  $listener->run("SELECT approval.channel('run', 'bell')")->value;
	my $released = sub {
		$agent->run("SELECT approval.release_run('bell', '$token')");
		$token =
		  $agent->run("SELECT token FROM approval.claim_run('bell')")->value;
	};

	# a listener hears what was committed before its own statement
	my $heard = sub {
		$listener->run('SELECT 1');
		return join ' ',
		  map { JSON::PP->new->decode($_->[1])->{event} }
		  $listener->notifications;
	};
	$listener->run("LISTEN $channel");
	$released->();
	is($heard->(), 'released', 'nothing is open: a release rings');
	my $secret = $agent->run(
		"SELECT secret FROM approval.attach_handle('bell', '$token', 'n8n', 'bell')"
	)->value;
	$released->();
	is($heard->(), '', 'a handle is open');
	$agent->run(
		"SELECT approval.callback('n8n', 'bell', '$secret', 'failed')");
	is($heard->(), 'callback', 'its callback rings');
	$released->();
	is($heard->(), 'released', 'after it a release does');
	my $its = held('small', 'bell', $token);
	$released->();
	is($heard->(), '', 'a child is live');
	$agent->run("SELECT approval.complete_run('small', '$its', 'done')");
	is($heard->(), 'child_ended', 'its end rings');
	$released->();
	is($heard->(), 'released', 'after it a release does');
	held('small again', 'bell', $token);
	$agent->run("SELECT approval.fail_run('bell', '$token', 'enough')");
	is($heard->(), 'failed', 'children that end with it say nothing');
	$listener->close;
}

# A tree that is stopped and a list that is decided take requests in one order.
{
	my $token = held('tree');
	my $its = held('leaf', 'tree', $token);
	my @calls =
	  (call_in($agent, 'leaf', $its), call_in($agent, 'tree', $token));
	my $decisions = JSON::PP->new->canonical->encode(
		[
			map {
				{
					id => $_->{id},
					seen => $_->{review_hash},
					verdict => 'reject'
				}
			} @calls
		]);

	$root->run("ALTER ROLE alice SET approval.turn_wait = '60 s'");
	my ($bob, $stops) = map { Wire->new($node, user => $_) } qw(bob alice);

	# somebody holds the first of them while both are on their way
	$root->run('BEGIN');
	$root->run(
		"SELECT id FROM approval.requests WHERE id = '$calls[0]{id}' FOR UPDATE"
	);
	my $watch = Wire->new($node);
	$_->pid for $bob, $stops;
	$bob->start("SELECT * FROM approval.decide_many('$decisions')");
	wait_blocked($watch, $bob);
	$stops->start("SELECT status FROM approval.cancel_run('tree')");
	wait_for(
		$watch,
		"SELECT wait_event_type FROM pg_stat_activity WHERE pid = $stops->{pid}",
		'Extension',
		'the other one waits');
	$root->run('ROLLBACK');
	like(
		$bob->finish->verdict,
		qr/^(ok|PT409 already_decided)$/,
		'the list is decided, or comes too late');
	is($stops->finish->value, 'cancelled', 'the tree is stopped');
	is_deeply([ verify_all($root) ], [], 'all chains are whole');
	$_->close for $bob, $stops, $watch;
}

$_->close for $agent, $hung, $alice;
done_testing();
