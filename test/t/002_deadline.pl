# Lock, then clock, then test: whoever waits for the row past the deadline is
# told that it is too late, whatever the holder does in the end.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('deadline', conf => "fsync = off\n");
$node->start;
my $root = install_gate($node);
my $holder = Wire->new($node);
my $alice = Wire->new($node, user => 'alice');
my $bob = Wire->new($node, user => 'bob');

sub short_sessions
{
	my %settings = @_;

	$root->run("ALTER ROLE agent SET $_ = '$settings{$_}'")
	  for keys %settings;
	my $s = Wire->new($node, user => 'agent');
	$root->run("ALTER ROLE agent RESET $_") for keys %settings;
	return $s;
}

# The statement waits for a row that is held until the deadline is over.
sub wait_for_it
{
	my ($request, $deadline, $waiter, $sql, $end) = @_;

	$waiter->pid;
	$holder->run(
		"BEGIN; SELECT 1 FROM approval.requests WHERE id = '$request->{id}' FOR UPDATE"
	);
	$waiter->start($sql);
	wait_blocked($root, $waiter);
	my $late = $root->run(
		"SELECT clock_timestamp() >= " . literal($deadline) . "::timestamptz")
	  ->value;
	die "the test came too late to start before the deadline\n"
	  if $late eq 't';
	wait_past($root, $deadline);
	$holder->run($end);
	return $waiter->finish;
}

# A way to make a request that is still open for a moment, repeated with more
# time on a machine that is too slow.
sub in_time
{
	my $code = shift;

	for my $seconds (1, 4, 16, 64)
	{
		my $r = eval { $code->($seconds) };
		return $r if $r;
		die $@ unless $@ =~ /too late to start/;
		$holder->query('ROLLBACK');
	}
	die "this machine is too slow\n";
}

# The snapshot of the later levels is older than the deadline; the clock is not.
for my $isolation ('read committed', 'repeatable read', 'serializable')
{
	my $late = Wire->new(
		$node,
		user => 'bob',
		params => { default_transaction_isolation => $isolation });
	my $runner = Wire->new(
		$node,
		user => 'runner',
		params => { default_transaction_isolation => $isolation });

	for my $end ('COMMIT', 'ROLLBACK')
	{
		for my $verdict ('approve', 'reject')
		{
			my $request;
			my $r = in_time(
				sub {
					my $seconds = shift;
					my $agent = short_sessions(
						'approval.decide_within' => "${seconds}s",
						'approval.min_decide_within' => '1s');
					$request = propose_one($agent);
					return wait_for_it($request, $request->{expires_at},
						$late, decide_sql($request, $verdict), $end);
				});
			is( $r->verdict,
				'PT410 expired',
				"$verdict, $isolation, holder does $end: expired");
			is($r->detail->{status},
				'expired', "$verdict, $isolation, $end: DETAIL says so");
			is( state_of($root, $request),
				'pending - 1 0',
				"$verdict, $isolation, $end: nothing written");
		}

		my $request;
		my $r = in_time(
			sub {
				my $seconds = shift;
				my $agent =
				  short_sessions('approval.use_within' => "${seconds}s");
				$request = approved_one($agent, $alice);
				my $use_by =
				  $root->run(
					"SELECT use_by FROM approval.requests WHERE id = '$request->{id}'"
				)->value;
				return wait_for_it($request, $use_by, $runner,
					'SELECT * FROM ' . consume_sql($request), $end);
			});
		is( $r->verdict,
			'PT410 expired',
			"consume, $isolation, holder does $end: expired");
		is( state_of($root, $request),
			'approved - 2 1',
			"consume, $isolation, $end: nothing written");
	}
}

# Within one transaction, which began before the deadline.
{
	my $agent = short_sessions(
		'approval.decide_within' => '1s',
		'approval.min_decide_within' => '1s');

	$bob->run('BEGIN');
	my $request = propose_one($agent);
	wait_past($root, $request->{expires_at});
	is( $bob->query(decide_sql($request, 'approve'))->verdict,
		'PT410 expired',
		'the start of the transaction does not count');
	$bob->run('ROLLBACK');
	is( $bob->query(decide_sql($request, 'reject'))->verdict,
		'PT410 expired',
		'nor does a reject');
	is( $agent->query("SELECT * FROM approval.cancel('$request->{id}')")
		  ->verdict,
		'PT410 expired',
		'nor does cancel');
	is( $agent->run(
			"SELECT status, cause FROM approval.request_of('$request->{id}')")
		  ->{rows}[0][0],
		'expired',
		'readers see it expired');
	is( scalar @{ $agent->run("SELECT * FROM approval.pending('')")->{rows} },
		0,
		'it does not wait for anybody');
	is( $bob->run(
			"SELECT status FROM approval.inbox WHERE id = '$request->{id}'")
		  ->value,
		'expired',
		'the inbox shows it as expired');
}

# A lease that ends while the report waits: complete is never too late,
# heartbeat is.
for my $verb ('complete', 'heartbeat')
{
	my $agent = Wire->new($node, user => 'agent');
	my $runner = Wire->new($node, user => 'runner');
	my $request;
	my $r = in_time(
		sub {
			my $seconds = shift;
			$request = approved_one($agent, $alice);
			my $permit = $runner->run(
				"SELECT * FROM approval.consume('$request->{id}', '$TOOL', "
				  . "'$ARGUMENTS', 'run-1', lease => '$seconds s')")->record;
			return wait_for_it(
				$request,
				$permit->{lease_until},
				$runner,
				"SELECT * FROM approval.$verb('$request->{id}', 'run-1', '$permit->{token}'"
				  . ($verb eq 'complete' ? ", 'succeeded')" : ')'),
				'COMMIT');
		});
	is( $r->verdict,
		$verb eq 'complete' ? 'ok' : 'PT410 lease_expired',
		"$verb that waited past the lease");
	is( state_of($root, $request),
		$verb eq 'complete'
		? 'consumed succeeded 4 1'
		: 'consumed in_flight 3 1',
		"$verb that waited past the lease: what is written");
}

is_deeply([ verify_all($root) ], [], 'every chain verifies');

done_testing();
