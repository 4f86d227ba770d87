# What was answered survives a crash, whatever synchronous_commit says; what
# was not committed leaves nothing.
#
# The writers of the server are stopped first, so that only what a commit
# flushed by itself is on disk when everything is killed.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('crash',
	conf =>
	  "fsync = on\nsynchronous_commit = on\nmax_prepared_transactions = 4\n");
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
my ($root, $agent, $alice, $runner);

sub connect_all
{
	$root = Wire->new($node);
	($agent, $alice, $runner) =
	  map { Wire->new($node, user => $_) } qw(agent alice runner);
	$_->run('SET synchronous_commit = off') for $agent, $alice, $runner;
}

sub stop_writers
{
	my @pids = map { $_->[0] } @{
		$root->run(
			"SELECT pid FROM pg_stat_activity WHERE backend_type IN ('walwriter', 'checkpointer', 'background writer')"
		)->{rows}
	};

	kill 'STOP', @pids;
}

# As in a power cut: nobody gets to do anything any more.
sub crash
{
	my $postmaster =
	  (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];

	kill 'STOP', $postmaster;
	my @children = split ' ', `ps -o pid= --ppid $postmaster`;
	kill 'KILL', @children;
	$node->kill9;
	for my $pid ($postmaster, @children)
	{
		select(undef, undef, undef, 0.05)
		  while -d "/proc/$pid" && `ps -o stat= -p $pid` !~ /^(Z|$)/;
	}

	# The lock files may name a zombie, which still counts as alive.
	unlink $node->data_dir . '/postmaster.pid',
	  $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	$node->start;
	connect_all();
}

$root = Wire->new($node);
$root->run('CREATE EXTENSION approval');
gate_logins($root);
connect_all();

# Before the crash: one request in each state that a verb leads to.
my %pending =
  map { $_ => propose_one($agent) } qw(untouched decided rejected torn);
my %approved = map { $_ => approved_one($agent, $alice) }
  qw(consumed revoked cancelled torn);
my $permit;

$root->run('CHECKPOINT');
stop_writers();
$alice->run(decide_sql($pending{decided}, 'approve'));
$alice->run(decide_sql($pending{rejected}, 'reject'));
$permit =
  $runner->run('SELECT * FROM ' . consume_sql($approved{consumed}))->record;
$alice->run("SELECT * FROM approval.revoke('$approved{revoked}{id}')");
$agent->run("SELECT * FROM approval.cancel('$approved{cancelled}{id}')");

# In the middle of a transaction.
my $torn = Wire->new($node, user => 'alice');
$torn->run('BEGIN');
$torn->run(decide_sql($pending{torn}, 'approve'));
$torn->run("SELECT * FROM approval.revoke('$approved{torn}{id}')");
crash();

is( state_of($root, $pending{untouched}),
	'pending - 1 0',
	'a pending request is still there');
is( state_of($root, $pending{decided}),
	'approved - 2 1',
	'an approval is kept');
is( state_of($root, $pending{rejected}),
	'rejected - 2 1',
	'a rejection is kept');
is( state_of($root, $approved{consumed}),
	'consumed in_flight 3 1',
	'a consumption is kept');
is( state_of($root, $approved{revoked}),
	'revoked - 3 1',
	'a revocation is kept');
is( state_of($root, $approved{cancelled}),
	'cancelled - 3 1',
	'a cancellation is kept');
is( state_of($root, $pending{torn}),
	'pending - 1 0',
	'nothing is left of an open transaction');
is( state_of($root, $approved{torn}),
	'approved - 2 1',
	'not of a revocation in it either');
is_deeply([ verify_all($root) ], [], 'every chain verifies');

# It goes on.
is($alice->query(decide_sql($pending{untouched}, 'approve'))->verdict,
	'ok', 'decide afterwards');
is($alice->query(decide_sql($pending{torn}, 'reject'))->verdict,
	'ok', 'decide the torn one');
is( $runner->query('SELECT * FROM ' . consume_sql($approved{consumed}))
	  ->verdict,
	'PT409 already_consumed',
	'consume afterwards');
is( $runner->query('SELECT * FROM ' . consume_sql($approved{torn}))->verdict,
	'ok',
	'consume the one that was nearly revoked');
is( $runner->query(
		"SELECT * FROM approval.complete('$approved{consumed}{id}', 'run-1', '$permit->{token}', 'succeeded')"
	)->verdict,
	'ok',
	'the token from before the crash is good');

# The permit is in the hands of the client when the server dies at once, 5
# times: first statement of a session, pipeline, twin.
for my $way ('simple', 'extended', 'pipeline', 'try_', 'serializable')
{
	my $request = approved_one($agent, $alice);
	my $select = 'SELECT * FROM ' . consume_sql($request);
	my $s = Wire->new(
		$node,
		user => 'runner',
		params => {
			synchronous_commit => 'off',
			$way eq 'serializable'
			? (default_transaction_isolation => 'serializable')
			: ()
		});
	my $r;

	$root->run('CHECKPOINT');
	stop_writers();
	if ($way eq 'extended')
	{
		$r = $s->extended($select)->sync->finish;
	}
	elsif ($way eq 'pipeline')
	{
		# The server is gone before the pipeline ends.
		$r = $s->extended($select)->message('H')->finish('C');
	}
	elsif ($way eq 'try_')
	{
		$select =~ s/consume/try_consume/;
		$r = $s->query($select);
	}
	else
	{
		$r = $s->query($select);
	}
	is(scalar @{ $r->{rows} }, 1, "$way: the permit is there");
	crash();
	is( state_of($root, $request),
		'consumed in_flight 3 1',
		"$way: and the approval is used");
}

# Prepared transactions, where nothing is notified: still open after the crash.
{
	my ($kept, $dropped) = map { propose_one($agent) } 1, 2;

	$root->run('ALTER ROLE alice SET approval.notify = off');
	for my $case ([ $kept, 'kept' ], [ $dropped, 'dropped' ])
	{
		my $s = Wire->new($node, user => 'alice');
		$s->run($_)
		  for 'BEGIN', decide_sql($case->[0], 'approve'),
		  "PREPARE TRANSACTION '$case->[1]'";
		$s->close;
	}
	crash();
	is(state_of($root, $kept), 'pending - 1 0', 'prepared: not decided yet');
	my $s = Wire->new($node, user => 'bob');
	$s->pid;
	$s->start(decide_sql($kept, 'reject'));
	wait_blocked($root, $s);
	$root->run("COMMIT PREPARED 'kept'");
	is( $s->finish->verdict,
		'PT409 already_decided',
		'prepared and committed: decided');
	$root->run("ROLLBACK PREPARED 'dropped'");
	is($s->query(decide_sql($dropped, 'reject'))->verdict,
		'ok', 'prepared and rolled back: the next one decides');
	is(state_of($root, $kept), 'approved - 2 1', 'prepared: one decision');
	is( state_of($root, $dropped),
		'rejected - 2 1',
		'prepared: no trace of what was rolled back');
	$root->run('ALTER ROLE alice RESET approval.notify');
}

# The same with the switch off loses it: the test can fail.
{
	my $request = approved_one($agent, $alice);

	$root->run('ALTER ROLE runner SET approval.force_sync = off');
	my $s = Wire->new(
		$node,
		user => 'runner',
		params => { synchronous_commit => 'off' });
	$root->run('CHECKPOINT');
	stop_writers();
	is($s->query('SELECT * FROM ' . consume_sql($request))->verdict,
		'ok', 'force_sync off: consumed');
	crash();
	is( state_of($root, $request),
		'approved - 2 1',
		'force_sync off: lost in the crash');
	$root->run('ALTER ROLE runner RESET approval.force_sync');
}

is_deeply([ verify_all($root) ], [], 'every chain verifies');

done_testing();
