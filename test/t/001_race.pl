# 64 sessions want the same row at the same moment: one gets it.
#
# The moment is made by a session that holds the row until all of them wait.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $SESSIONS = 64;

my $node = new_node('race', conf => "max_connections = 100\nfsync = off\n");
$node->start;
my $root = install_gate($node);
my $agent = Wire->new($node, user => 'agent');
my $alice = Wire->new($node, user => 'alice');

# Starts a statement in every session while the row is held, lets go, and
# returns the results in the order of the sessions.
sub at_once
{
	my ($request, $sessions, $statement) = @_;

	$_->pid for @$sessions;
	$root->run(
		"BEGIN; SELECT 1 FROM approval.requests WHERE id = '$request->{id}' FOR UPDATE"
	);
	$sessions->[$_]->start($statement->($_)) for 0 .. $#$sessions;
	wait_blocked($root, @$sessions);
	$root->run('ROLLBACK');
	return map { $_->finish } @$sessions;
}

sub open_sessions
{
	my ($user, $isolation) = @_;

	return map {
		Wire->new(
			$node,
			user => $user,
			params => { default_transaction_isolation => $isolation })
	} 1 .. $SESSIONS;
}

# One winner; what the others got, and what they get when they try again.
sub check_race
{
	my ($what, $isolation, $request, $sessions, $statement, $reason,
		$decided_by)
	  = @_;
	my @results = at_once($request, $sessions, $statement);
	my @winners = grep { !@{ $results[$_]{errors} } } 0 .. $#results;
	my @losers = grep { @{ $results[$_]{errors} } } 0 .. $#results;

	is(scalar @winners, 1, "$what, $isolation: one winner");
	my $winner = $winners[0];
	if ($isolation ne 'read committed')
	{
		is( scalar(grep { $results[$_]->sqlstate eq '40001' } @losers),
			$SESSIONS - 1,
			"$what, $isolation: all the others get 40001");
		like(
			$results[ $losers[0] ]->error->{M},
			qr/^could not serialize access/,
			"$what, $isolation: in the words of the server");
		$results[$_] = $sessions->[$_]->query($statement->($_)) for @losers;
	}
	is_deeply(
		{ map { $results[$_]->verdict => 1 } @losers },
		{ "PT409 $reason" => 1 },
		"$what, $isolation: the others are told so"
		  . ($isolation eq 'read committed' ? '' : ' when they try again'));
	my $expected = $decided_by->($winner);
	is( scalar(
			grep { $results[$_]->detail->{decided_by} eq $expected } @losers),
		$SESSIONS - 1,
		"$what, $isolation: DETAIL names $expected");
	is( scalar(grep { ($_->error->{D} // '') !~ /\n/ } @results[@losers]),
		$SESSIONS - 1,
		"$what, $isolation: DETAIL is one line");
	return $winner;
}

for my $isolation ('read committed', 'repeatable read', 'serializable')
{
	# Decide: the same delegate login, 64 people, every other one rejects.
	my @web = open_sessions('web', $isolation);
	my $request = propose_one($agent);
	my $winner = check_race(
		'decide',
		$isolation,
		$request,
		\@web,
		sub {
			my $i = shift;
			return decide_sql(
				$request,
				$i % 2 ? 'approve' : 'reject',
				"actor => 'user:$i'");
		},
		'already_decided',
		sub { 'user:' . shift });
	is( state_of($root, $request),
		($winner % 2 ? 'approved' : 'rejected') . ' - 2 1',
		"decide, $isolation: two events and one decision");
	is( $root->run(
			"SELECT decided_by FROM approval.requests WHERE id = '$request->{id}'"
		)->value,
		"user:$winner",
		"decide, $isolation: the winner is the one in the row");
	$_->close for @web;

	# Consume: the same executor, each with an execution id of its own.
	my @runners = open_sessions('runner', $isolation);
	$request = approved_one($agent, $alice);
	$winner = check_race(
		'consume',
		$isolation,
		$request,
		\@runners,
		sub {
			return 'SELECT * FROM '
			  . consume_sql($request, execution => 'run-' . shift);
		},
		'already_consumed',
		sub { 'user:alice' });
	is( state_of($root, $request),
		'consumed in_flight 3 1',
		"consume, $isolation: three events, one consumption");
	is( $root->run(
			"SELECT execution_id FROM approval.requests WHERE id = '$request->{id}'"
		)->value,
		"run-$winner",
		"consume, $isolation: the winner's execution is the one in the row");

	# The twin keeps the refusals.
	$request = approved_one($agent, $alice);
	my @results = at_once(
		$request,
		\@runners,
		sub {
			return 'SELECT ok, reason FROM '
			  . consume_sql($request, function => 'try_consume');
		});
	my %counts;
	$counts{ $_->sqlstate
		  || $_->{rows}[0][0] . ' ' . ($_->{rows}[0][1] // '') }++
	  for @results;
	is_deeply(
		\%counts,
		{
			't ' => 1,
			(   $isolation eq 'read committed'
				? 'f already_consumed'
				: '40001') => $SESSIONS - 1
		},
		"try_consume, $isolation: one permit");
	is( $root->run(
			"SELECT count(*) FROM approval.refusal_log WHERE request_id = '$request->{id}'"
		)->value,
		$isolation eq 'read committed' ? $SESSIONS - 1 : 0,
		"try_consume, $isolation: refusals are kept, failures are not");
	$_->close for @runners;
}

# The same proposal from 64 sessions: one row, one event, 64 times the same id.
for my $isolation ('read committed', 'repeatable read', 'serializable')
{
	my @agents = open_sessions('agent', $isolation);
	my $sql =
	  "SELECT id FROM approval.propose('same', '$TOOL', '$ARGUMENTS', '$isolation')";
	my $first = Wire->new($node, user => 'agent');

	# The first holds the key until all the others wait for it.
	$_->pid for @agents;
	$first->run('BEGIN');
	my $id = $first->run($sql)->value;
	$_->start($sql) for @agents;
	wait_blocked($root, @agents);
	$first->run('COMMIT');
	my @results = map { $_->finish } @agents;

	if ($isolation ne 'read committed')
	{
		is(scalar(grep { $_->sqlstate eq '40001' } @results),
			$SESSIONS, "propose, $isolation: overlapping ones get 40001");
		@results = map { $_->query($sql) } @agents;
	}
	is(scalar(grep { ($_->value // '') eq $id } @results),
		$SESSIONS,
		"propose, $isolation: the others get the row of the first");
	is( state_of($root, { id => $id }),
		'pending - 1 0',
		"propose, $isolation: one event");
	$_->close for @agents;
}

# SERIALIZABLE: a failure that only COMMIT finds goes through untouched.
{
	my @s = map {
		Wire->new(
			$node,
			user => 'web',
			params => { default_transaction_isolation => 'serializable' })
	} 1, 2;
	my @requests = map { propose_one($agent) } 1, 2;

	$root->run(
		'CREATE TABLE skew AS SELECT 1 AS n, 0 AS v UNION ALL SELECT 2, 0;'
		  . 'GRANT SELECT, UPDATE ON skew TO web');
	$_->run('BEGIN; SELECT sum(v) FROM skew') for @s;
	for my $i (0, 1)
	{
		$s[$i]->run('UPDATE skew SET v = 1 WHERE n = ' . ($i + 1));
		$s[$i]
		  ->run(decide_sql($requests[$i], 'approve', "actor => 'user:$i'"));
	}
	$s[0]->run('COMMIT');
	my $r = $s[1]->query('COMMIT');
	is($r->sqlstate, '40001',
		'write skew: the second COMMIT fails with 40001');
	is( state_of($root, $requests[0]),
		'approved - 2 1',
		'write skew: the first decision stands');
	is( state_of($root, $requests[1]),
		'pending - 1 0',
		'write skew: nothing is left of the second');
	is( $s[1]->query(decide_sql($requests[1], 'approve', "actor => 'user:1'"))
		  ->verdict,
		'ok',
		'write skew: the second decision can be made again');
}

# The winner's backend is ended before it commits: the next one wins.
{
	my $request = propose_one($agent);
	my ($first, $second) = map { Wire->new($node, user => 'web') } 1, 2;

	$second->pid;
	my $pid = $first->pid;
	$first->run('BEGIN');
	$first->run(decide_sql($request, 'approve', "actor => 'user:1'"));
	$second->start(decide_sql($request, 'reject', "actor => 'user:2'"));
	wait_blocked($root, $second);
	$root->run("SELECT pg_terminate_backend($pid)");
	is($second->finish->verdict,
		'ok', 'terminated winner: the other one decides');
	is( state_of($root, $request),
		'rejected - 2 1',
		'terminated winner: one decision');
}

# Two rows in opposite orders: a deadlock is the server's business.
{
	my ($x, $y) = map { propose_one($agent) } 1, 2;
	my ($first, $second) = map { Wire->new($node, user => 'web') } 1, 2;

	$_->run('BEGIN') for $first, $second;
	$second->pid;
	$first->run(decide_sql($x, 'approve', "actor => 'user:1'"));
	$second->run(decide_sql($y, 'approve', "actor => 'user:2'"));
	$second->start(decide_sql($x, 'approve', "actor => 'user:2'"));
	wait_blocked($root, $second);
	my $r1 = $first->query(decide_sql($y, 'approve', "actor => 'user:1'"));
	$first->run('ROLLBACK');
	my $r2 = $second->finish;
	$second->query('COMMIT');
	is_deeply(
		[ sort $r1->verdict, $r2->verdict ],
		[ '40P01', 'ok' ],
		'deadlock: 40P01 for one');
}

is_deeply([ verify_all($root) ], [], 'every chain verifies');

done_testing();
