# The worker: when it starts and ends, what it survives, and that it does what
# is due in the meantime.  Each scenario of src/README.worker has its test here.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node(
	'worker',
	preload => 1,
	conf => "fsync = off\nmax_prepared_transactions = 5\n"
	  . "approval.min_decide_within = '1s'\nrestart_after_crash = on\n");
$node->start;
my $root = install_gate($node);
my ($agent, $alice, $runner);

sub connect_all
{
	$root = Wire->new($node);
	($agent, $alice, $runner) =
	  map { Wire->new($node, user => $_) } qw(agent alice runner);
}
connect_all();

sub state
{
	return $root->run("SELECT $_[0] FROM approval.worker_state()")->value;
}

sub short
{
	my ($seconds, %more) = @_;

	return propose_one($agent, more => "expires_in => '$seconds s'", %more);
}

sub wait_expired
{
	my ($request, $what) = @_;

	wait_for(
		$root,
		"SELECT count(*) FROM approval.events WHERE request_id = '$request->{id}' AND kind = 'expired'",
		1,
		$what);
	return;
}

# CREATE EXTENSION: after its commit there is a worker, after its end none.
wait_for(
	$root, 'SELECT state FROM approval.worker_state()',
	'running', 'CREATE EXTENSION starts a worker');
is( $root->run(
		"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'approval worker' AND datname = current_database()"
	)->value,
	1,
	'which is seen in pg_stat_activity');
$root->run("CREATE DATABASE never");
my $never = Wire->new($node, dbname => 'never');
$never->run('BEGIN');
$never->run('CREATE EXTENSION approval');
$never->run('ROLLBACK');
is( $root->run(
		"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'approval worker' AND datname = 'never'"
	)->value,
	0,
	'but not where it was rolled back');
$never->close;

# The next deadline, and a nearer one committed meanwhile.
my $far = short(3600);
my $near = short(1);
wait_expired($near,
	'wakes for a nearer deadline that was committed meanwhile');
is(state_of($root, $far), 'pending - 1 0', 'and leaves what is not due');
is( $root->run(
		"SELECT actor FROM approval.events WHERE request_id = '$near->{id}' AND kind = 'expired'"
	)->value,
	'worker',
	'the event says who');

# Idle, it does nothing: no statement, no snapshot.
wait_for(
	$root,
	"SELECT state || ' ' || coalesce(backend_xmin::text, '-') || ' ' || coalesce(xact_start::text, '-') FROM pg_stat_activity WHERE application_name = 'approval worker' AND datname = current_database()",
	'idle - -',
	'idle, it holds nothing');
my $pid = state('worker_pid');

# Once the last round is over: idle between two rounds looks the same.
select(undef, undef, undef, 1);
my $began =
  $root->run("SELECT state_change FROM pg_stat_activity WHERE pid = $pid")
  ->value;
select(undef, undef, undef, 1.5);
is( $root->run("SELECT state_change FROM pg_stat_activity WHERE pid = $pid")
	  ->value,
	$began, 'and executes nothing');

# Decisions inside a prepared transaction are announced when that commits.
my $listener = Wire->new($node, user => 'alice');
$listener->run('LISTEN approval');
my $prepared = propose_one($agent);
$alice->run('BEGIN');
$alice->run(decide_sql($prepared, 'approve'));
is($alice->run("PREPARE TRANSACTION 'decided'")->verdict,
	'ok', 'a decision can be prepared');
$alice->run("COMMIT PREPARED 'decided'");
my %heard;

for (1 .. 200)
{
	$listener->run('SELECT 1');
	$heard{ decode_json($_->[1])->{id} . ' '
		  . decode_json($_->[1])->{event} }++
	  for $listener->notifications;
	last if $heard{"$prepared->{id} approved"};
	select(undef, undef, undef, 0.02);
}
ok( $heard{"$prepared->{id} approved"},
	'and is announced once it is committed');
ok($heard{"$prepared->{id} proposed"}, 'as the proposal was');
$listener->close;

# Waiting ends with the decision.
my $waited = propose_one($agent);
my $waiter = Wire->new($node, user => 'agent');
$waiter->start("SELECT status FROM approval.wait('$waited->{id}', '30 s')");
wait_for($root, 'SELECT waits FROM approval.worker_state()',
	1, 'somebody waits');
$alice->run(decide_sql($waited, 'approve'));
is($waiter->finish->value, 'approved', 'and is told');

# SIGTERM: another one comes.
$pid = state('worker_pid');
$root->run("SELECT pg_terminate_backend($pid)");
wait_for($root,
	"SELECT state || (worker_pid <> $pid) FROM approval.worker_state()",
	'runningtrue', 'SIGTERM: another one comes');
wait_expired(short(1), 'and does its work');

# The launcher's end changes nothing for long.
$root->run(
	'SELECT pg_terminate_backend(launcher_pid) FROM approval.worker_state()');
wait_for($root,
	'SELECT (launcher_pid IS NOT NULL)::text FROM approval.worker_state()',
	'true', 'the launcher comes back');

# An error ends the round, not the process: one row fails, the rest goes on.
$pid = state('worker_pid');
$root->run(<<'SQL');
CREATE FUNCTION public.poison() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.kind = 'expired' AND NEW.request_id = (SELECT request_id FROM public.poisoned) THEN
		RAISE EXCEPTION 'poisoned';
	END IF;
	RETURN NEW;
END
$$
SQL
$root->run('CREATE TABLE public.poisoned (request_id approval.ulid)');
$root->run('GRANT SELECT ON public.poisoned TO PUBLIC');
$root->run(
	'CREATE TRIGGER poison BEFORE INSERT ON approval.events FOR EACH ROW EXECUTE FUNCTION public.poison()'
);
my @batch = map { short(2) } 1 .. 5;
$root->run("INSERT INTO public.poisoned VALUES ('$batch[2]{id}')");
wait_expired($batch[$_], "row $_ of a batch with a poisoned row")
  for 0, 1, 3, 4;
wait_for(
	$root,
	"SELECT problem FROM approval.set_aside WHERE request_id = '$batch[2]{id}'",
	'poisoned',
	'the poisoned one is set aside');
is(state('worker_pid'), $pid, 'by the same process');
my $log = slurp_file($node->logfile);
my @times = $log =~ /$batch[2]{id} could not be put away/g;
is(scalar @times, 1, 'and logged once');
$root->run('DROP TRIGGER poison ON approval.events');

# A role that is gone.
$root->run('CREATE ROLE passing LOGIN');
$root->run('GRANT approval_requester TO passing');
my $passing = Wire->new($node, user => 'passing');
my $orphan = propose_one($passing, more => "expires_in => '2 s'");
$passing->close;
$root->run('DROP ROLE passing');
wait_expired($orphan, 'a request whose login is gone');

# Somebody who keeps a table locked: the worker gives up, and comes back.
my $locker = Wire->new($node);
$locker->run('BEGIN');
$locker->run('LOCK TABLE approval.requests IN ACCESS EXCLUSIVE MODE');
$root->run('SELECT approval.wake_worker()');
wait_for(
	$root, 'SELECT (errors > 0)::text FROM approval.worker_state()',
	'true', 'a table that is locked ends the round');
is(state('worker_pid'), $pid, 'and not the process');
$locker->run('COMMIT');
wait_expired(short(1), 'which goes on afterwards');

# Databases are renamed, copied and dropped without FORCE.
$root->run('CREATE DATABASE house');
my $house = install_gate($node, 'house');
wait_for(
	$house, 'SELECT state FROM approval.worker_state()',
	'running', 'a worker in another database');
$house->close;
is($root->run('ALTER DATABASE house RENAME TO home')->verdict, 'ok',
	'RENAME');
$house = Wire->new($node, dbname => 'home');
wait_for(
	$house, 'SELECT state FROM approval.worker_state()',
	'running', 'which goes on under another name');
$house->close;
is($root->run('CREATE DATABASE copy TEMPLATE home')->verdict,
	'ok', 'TEMPLATE');
is($root->run("DROP DATABASE $_")->verdict, 'ok', "DROP $_")
  for qw(home copy);

# DROP EXTENSION, and again.
$root->run('CREATE DATABASE again');
my $again = install_gate($node, 'again');
for my $time (1, 2)
{
	wait_for($again, 'SELECT state FROM approval.worker_state()',
		'running', "CREATE EXTENSION, $time");
	$again->run(
		"SELECT count(approval.propose('drop-' || i, '$TOOL', '{}', expires_in => '1 s')) FROM generate_series(1, 4000) i"
	);
	wait_for($again,
		'SELECT (expired > 0)::text FROM approval.worker_state()',
		'true', "sweeping, $time");
	is($again->query('DROP EXTENSION approval')->verdict,
		'ok', "DROP EXTENSION meanwhile, $time");
	wait_for(
		$again,
		"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'approval worker' AND datname = 'again'",
		0,
		'and the worker goes');
	$again->run('CREATE EXTENSION approval');
}

# One that has to wait for somebody, while the worker has work.
my $reader = Wire->new($node, dbname => 'again');
my $dropper = Wire->new($node, dbname => 'again');
$dropper->pid;
$again->run(
	"SELECT approval.propose('due', '$TOOL', '{}', expires_in => '1 s')");
$reader->run('BEGIN');
$reader->run('SELECT count(*) FROM approval.requests');
$dropper->start('DROP EXTENSION approval');
wait_blocked($again, $dropper);
select(undef, undef, undef, 2);
$reader->run('COMMIT');
is($dropper->finish->verdict,
	'ok', 'DROP EXTENSION and the worker do not wait for each other');
$_->close for $again, $reader, $dropper;

# kill -9: all start anew, and nothing that was due is forgotten.
my $due = short(2);
$root->run('SELECT approval.wake_worker()');
wait_for($root, 'SELECT state FROM approval.worker_state()',
	'running', 'awake');
kill 'KILL', state('worker_pid');
for (1 .. 500)
{
	last if $node->poll_query_until('postgres', 'SELECT true');
}
connect_all();
wait_expired($due, 'after kill -9 of the worker');

# Restart, with a deadline that passes meanwhile.
$due = short(1);
$node->restart;
connect_all();
wait_expired($due, 'after a restart');

# Reload.
$node->append_conf('postgresql.conf', "approval.worker_idle = '1s'");
$node->reload;
my $later = short(4);
wait_for(
	$root, 'SELECT state FROM approval.worker_state()',
	'sleeping', 'after a reload it ends sooner');
wait_expired($later, 'and is started for the next deadline');

is_deeply([ verify_all($root) ], [], 'every chain is whole');
$node->stop;
done_testing();
