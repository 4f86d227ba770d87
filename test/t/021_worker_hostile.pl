# The worker among people who mean it no good: logins without any rights, the
# owner of the database, and triggers that raise whatever they like.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node(
	'hostile',
	preload => 1,
	conf =>
	  "fsync = off\napproval.min_decide_within = '1s'\napproval.worker_idle = '2s'\nmax_locks_per_transaction = 10\n"
);
$node->start;
my $root = install_gate($node);
my ($agent, $alice) =
  map { Wire->new($node, user => $_) } qw(agent alice);

sub state
{
	return $root->run("SELECT $_[0] FROM approval.worker_state()")->value;
}

sub short
{
	return propose_one($agent, more => "expires_in => '$_[0] s'");
}

sub wait_expired
{
	my ($request, $what) = @_;

	wait_for($root,
		"SELECT status FROM approval.requests WHERE id = '$request->{id}'",
		'expired', $what);
	return;
}

# How many errors there are in a while: few, as it pauses after each.
sub errors_meanwhile
{
	my $before = state('errors');

	select(undef, undef, undef, 3);
	return state('errors') - $before;
}

# A trigger that raises what looks like no row's fault.
$root->run(
	'CREATE TABLE public.poisoned (request_id approval.ulid, code text)');
$root->run('GRANT SELECT ON public.poisoned TO PUBLIC');
$root->run(<<'SQL');
CREATE FUNCTION public.poison() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	with_code text := (SELECT code FROM public.poisoned p WHERE p.request_id = NEW.request_id);
BEGIN
	IF NEW.kind IN ('expired', 'reminded') AND with_code IS NOT NULL THEN
		RAISE EXCEPTION 'poisoned' USING ERRCODE = with_code;
	END IF;
	RETURN NEW;
END
$$
SQL
$root->run(
	'CREATE TRIGGER poison BEFORE INSERT ON approval.events FOR EACH ROW EXECUTE FUNCTION public.poison()'
);
my @codes = qw(42P01 55000 55P03 57014 53200 40001);
my @bad = map { short(1) } @codes;
$root->run(
	"INSERT INTO public.poisoned VALUES ('$bad[$_]{id}', '$codes[$_]')")
  for 0 .. $#codes;
wait_for(
	$root, 'SELECT (errors > 0)::text FROM approval.worker_state()',
	'true', 'rows fail, and no others are there to tell why');
cmp_ok(errors_meanwhile(), '<=', 20, 'it is tried again at intervals');
my $listener = Wire->new($node, user => 'alice');
$listener->run('LISTEN approval');
my $heard = propose_one($agent);
my $rings = 0;

for (1 .. 500)
{
	$rings ||= grep { $_->[1] =~ /$heard->{id}/ } $listener->notifications;
	last if $rings;
	select(undef, undef, undef, 0.02);
}
ok($rings, 'and meanwhile it announces what is new');
wait_expired(short(1), 'a row that is due later is put away all the same');
wait_for(
	$root,
	'SELECT count(*) FROM approval.set_aside',
	scalar @codes,
	'and shows that it was the others');

# Settled by somebody: not set aside any more.
my $settled = propose_one($agent, more => "expires_in => '2 h'");
$root->run(
	"INSERT INTO approval.set_aside VALUES ('', '$settled->{id}', now() - interval '2 hours', 1, now() + interval '2 hours', 'P0001', 'x')"
);
$alice->run(decide_sql($settled, 'reject'));
is( $root->run(
		"SELECT count(*) FROM approval.stuck WHERE id = '$settled->{id}'")
	  ->value,
	0,
	'what was settled is not stuck');

# The cause is mended, and somebody says so.
$root->run('DROP TRIGGER poison ON approval.events');
$root->run('SELECT approval.wake_worker()');
wait_expired($_, 'tried again when somebody says so') for @bad;
wait_for($root, 'SELECT count(*) FROM approval.set_aside', 0,
	'and forgotten');

# Anybody may lock the extension against being dropped.
my $nobody = Wire->new($node, user => 'nobody_at_all');
$nobody->run('BEGIN');
$nobody->run(
	"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'");
$nobody->run('ALTER FUNCTION pg_temp.f() DEPENDS ON EXTENSION approval');
wait_expired(short(1), 'nobody can lock the worker out');
$nobody->run('ROLLBACK');

# What cannot be announced is written down all the same.
my $locker = Wire->new($node);
$locker->run('BEGIN');
$locker->run('LOCK TABLE approval.positions IN ACCESS EXCLUSIVE MODE');
my $failures = state('errors');
wait_expired(short(1), 'deadlines do not need announcements');
wait_for($root,
	"SELECT (errors > $failures)::text FROM approval.worker_state()",
	'true', 'which fail meanwhile');
$locker->run('COMMIT');
$locker->close;

# The lock table is full when something falls due.
my $starved = short(2);
$nobody->query(<<'SQL');
DO $$
BEGIN
	FOR i IN 1 .. 1000000 LOOP
		BEGIN
			PERFORM pg_advisory_lock(i);
		EXCEPTION WHEN OTHERS THEN
			EXIT;
		END;
	END LOOP;
END
$$
SQL
my $errors = errors_meanwhile();
note("$errors errors");
cmp_ok($errors, '<=', 20, 'a full lock table makes it pause');
$nobody->run('SELECT pg_advisory_unlock_all()');
wait_expired($starved, 'and it goes on afterwards');
$nobody->close;

# The owner of a database sets what he likes for its sessions.
$root->run("CREATE DATABASE owned OWNER alice");
my $owned = install_gate($node, 'owned');
my $master = Wire->new($node, user => 'alice', dbname => 'owned');
for my $set (
	'role = nobody_at_all',
	'session_authorization = nobody_at_all',
	'exit_on_error = on',
	"default_table_access_method = 'nope'",
	'default_transaction_read_only = on',
	"lock_timeout = '1ms'")
{
	$master->query("ALTER DATABASE owned SET $set");
}
$master->close;
$owned->run(
	"SELECT pg_terminate_backend(worker_pid) FROM approval.worker_state()");
$owned->run(
	"SELECT approval.propose('x', '$TOOL', '{}', expires_in => '1 s')");
wait_for(
	$owned, 'SELECT status FROM approval.requests',
	'expired', 'settings of the database do not keep it from its work');
is( $owned->run(
		"SELECT login || ' ' || role || ' ' || actor FROM approval.events WHERE kind = 'expired'"
	)->value,
	'postgres postgres worker',
	'nor make it somebody else');
is($owned->run('SELECT (approval.worker_state()).errors')->value,
	0, 'without an error');

# What is due in one database does not wait for another one.
$root->run('CREATE DATABASE other');
my $other = install_gate($node, 'other');
wait_for($_, 'SELECT state FROM approval.worker_state()', 'sleeping', 'idle')
  for $other, $owned;
$other->run(
	"SELECT approval.propose('x', '$TOOL', '{}', expires_in => '4 s')");
wait_for($other, 'SELECT state FROM approval.worker_state()',
	'sleeping', 'it ends before its deadline');
my $late;
for (1 .. 400)
{
	# commits here all the time, so that this worker stays
	$owned->run(
		"SELECT approval.propose('busy-' || gen_random_uuid(), '$TOOL', '{}')"
	);
	$late = $other->run('SELECT status FROM approval.requests')->value;
	last if $late eq 'expired';
	select(undef, undef, undef, 0.05);
}
is($late, 'expired',
	'a deadline in a quiet database, while another one is busy');

# Nobody starts workers for nothing.
wait_for($other, 'SELECT state FROM approval.worker_state()',
	'sleeping', 'asleep');
my $started =
  $other->run('SELECT started_at FROM approval.worker_state()')->value;
my $guest = Wire->new($node, user => 'nobody_at_all', dbname => 'other');
$guest->run('DROP EXTENSION IF EXISTS nosuch');
$guest->query('DROP EXTENSION approval');
select(undef, undef, undef, 1);
is($other->run('SELECT started_at FROM approval.worker_state()')->value,
	$started, 'dropping what is not there wakes nobody');
$_->close for $guest, $other, $owned;

# Auditors of one tenant learn nothing of others.
$root->run(
	"SELECT approval.register_login('audrey', 'person', 'user:audrey', '{t2}')"
);
my $audrey = Wire->new($node, user => 'audrey');
is( $audrey->run(
		"SELECT count(*) FROM approval.worker_state() w WHERE coalesce(error, next_due::text, expired::text, announced::text, errors::text) IS NOT NULL"
	)->value,
	0,
	'worker_state tells an auditor of one tenant nothing of the others');
is($audrey->run('SELECT state FROM approval.worker_state()')->value ne '',
	1, 'but whether it runs');
$root->run(
	"SELECT approval.register_login('audrey', 'person', 'user:audrey', '{*}')"
);
$audrey->close;

# The feed: to begin now; and what is loaded in whatever order is a new
# beginning.
$audrey = Wire->new($node, user => 'audrey');

sub feed
{
	my ($cursor) = @_;

	return $audrey->run('SELECT * FROM approval.feed('
		  . (defined $cursor ? literal($cursor) : 'NULL')
		  . ', max_rows => 10000)')->record;
}
my $row = feed('now');
is($row->{events} . $row->{resync} . $row->{more},
	'[]ff', 'a cursor of now has seen everything');
my $new = propose_one($agent);
is_deeply(
	[
		map { $_->{id} } @{ decode_json(feed($row->{cursor_text})->{events}) }
	],
	[ $new->{id} ],
	'and what comes is new');
my $before = feed('now')->{cursor_text};
$root->run(
	'CREATE TABLE public.kept AS SELECT * FROM approval.requests LIMIT 0');
$root->run('INSERT INTO approval.requests SELECT * FROM public.kept');
is(feed($before)->{resync}, 't', 'loading requests is a new beginning');
$before = feed('now')->{cursor_text};
$root->run('DROP EXTENSION approval CASCADE');
$root->run('CREATE EXTENSION approval');
$root->run(
	"SELECT approval.register_login('audrey', 'person', 'user:audrey', '{*}')"
);
is(feed($before)->{resync}, 't', 'so is another CREATE EXTENSION');

# More notes in one transaction than fit into an answer.
$root->run("SELECT approval.register_login('agent', 'service', 'agent:bot')");
my @many = map { propose_one($agent) } 1 .. 5;
my $cursor = feed('now')->{cursor_text};
$agent->run('BEGIN');
for my $one (@many)
{
	$agent->run(
		"SELECT count(approval.comment('$one->{id}', repeat('x', 60000))) FROM generate_series(1, 70)"
	);
}
$agent->run('COMMIT');
my $events = decode_json(feed($cursor)->{events});
is(scalar @$events, 350, 'a transaction comes whole');
is(scalar(grep { defined $_->{note} || $_->{note_omitted} } @$events),
	350, 'and where there is no room for a note, it says so');
cmp_ok(scalar(grep { $_->{note_omitted} } @$events),
	'>', 0, 'there was not room for all');

$node->stop;
done_testing();
