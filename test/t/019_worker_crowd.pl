# The worker on a server where things are scarce or in the way: more databases
# than places for workers, a database that refuses connections, a standby that
# is missing, an upgrade meanwhile, a promotion, and a mountain of overdue
# requests at the start.

use strict;
use warnings;

use ApprovalTest;
use File::Copy qw(copy);
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use Wire;

# An installation of our own, with one version more.
my $stage = $ENV{APPROVAL_STAGE} || 'build/stage';
my $own = PostgreSQL::Test::Utils::tempdir();
system('cp', '-r', "$stage/.", $own) == 0 or die "cannot copy $stage";
my ($script) = glob("$own/usr/share/postgresql/*/extension/approval--*.sql");
my ($installed) = $script =~ /approval--([0-9.]+)\.sql$/;
my $next = "$installed.1";
append_to_file($script =~ s/\.sql$/--$next.sql/r, <<'SQL');
ALTER TABLE approval.requests ADD COLUMN is_new pg_catalog.int4;
ALTER TABLE approval.requests DROP COLUMN is_new;
COMMENT ON TABLE approval.set_aside IS 'upgraded';
SQL
chmod(0755, $own);
$ENV{APPROVAL_STAGE} = $own;

# Not preloaded at first, so that nothing is put away.
my $node = new_node(
	'crowd',
	allows_streaming => 1,
	conf =>
	  "fsync = off\napproval.min_decide_within = '1s'\nmax_worker_processes = 5\nmax_parallel_workers = 0\nautovacuum = off\napproval.quota_login = 0\n"
);
$node->start;
my $root = install_gate($node);
my $SUPPLIES = 200_000;

sub connect_to
{
	my ($dbname, $user) = @_;

	return Wire->new($node, dbname => $dbname, user => $user // 'postgres');
}

# A mountain of requests, none of which anybody has put away.
$root->run(
	"SELECT count(approval.propose('pile-' || i, '$TOOL', '{}', expires_in => '1 s')) FROM generate_series(1, $SUPPLIES) i"
);
select(undef, undef, undef, 1.5);
is( $root->run("SELECT problem FROM approval.health WHERE kind = 'backlog'")
	  ->value,
	undef, 'a moment late is no problem');

# The template of many databases, with a request that is due.
$root->run('CREATE DATABASE house');
my $house = install_gate($node, 'house');
$house->run(
	"SELECT approval.propose('call', '$TOOL', '{}', expires_in => '1 s')");
$house->close;
$root->run("CREATE DATABASE house_$_ TEMPLATE house") for 1 .. 50;
$root->run('CREATE DATABASE closed TEMPLATE house');
$root->run('ALTER DATABASE closed ALLOW_CONNECTIONS false');
$root->close;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'approval'\n");
$node->restart;

# Memory of a process that is its own, in kB.
sub memory
{
	my ($pid) = @_;
	my ($kb) = slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+)/m;

	return $kb;
}

# A decision, and how long it took.
my (@taken, $decided);

sub decide_one
{
	my $one = propose_one($_[0], more => "expires_in => '1 h'");
	my $began = time;

	$decided++ if $_[1]->run(decide_sql($one, 'approve'))->verdict eq 'ok';
	push @taken, time - $began;
	return;
}

# The median, in milliseconds, of those taken so far.
sub median_taken
{
	my @sorted = sort { $a <=> $b } splice @taken;

	return 1000 * $sorted[ @sorted / 2 ];
}

# The mountain first: whoever works on it does not grow, and decisions go on.
$root = connect_to('postgres');
my ($agent, $alice) = map { connect_to('postgres', $_) } qw(agent alice);
my ($most, $first, $left) = (0);
for (1 .. 15_000)
{
	my ($pid, $expired) = split /,/,
	  $root->run(
		"SELECT concat_ws(',', coalesce(worker_pid, 0), expired) FROM approval.worker_state()"
	)->value;
	my $memory = eval { memory($pid) };

	$left = $root->run(
		"SELECT count(*) FROM approval.requests WHERE status = 'pending'")
	  ->value;
	last if $left == 0;
	if ($memory && $expired > 2000)
	{
		$first //= $memory;
		$most = $memory if $memory > $most;
	}
	decide_one($agent, $alice);
}
is($left, 0, 'the mountain is put away');
cmp_ok($decided, '>', 10, 'and decisions are taken meanwhile');
ok(defined $first && $most < $first + 4096, 'by a process that does not grow')
  or diag(($first // '?') . " kB, then up to $most kB");
my $busy = median_taken();
decide_one($agent, $alice) for 1 .. 200;
note(
	sprintf 'a decision took %.2f ms meanwhile, %.2f ms afterwards (median)',
	$busy, median_taken());
note("$decided decisions; " . ($first // '?') . " kB, at most $most kB");
is( $root->run("SELECT count(*) FROM approval.events WHERE kind = 'expired'")
	  ->value,
	$SUPPLIES, 'each with its event');

# Fewer places than databases: they take turns.
for my $n (1 .. 50)
{
	my $s = connect_to("house_$n");
	wait_for($s, 'SELECT status FROM approval.requests',
		'expired', "database $n of 50");
	$s->close;
}
like(
	slurp_file($node->logfile),
	qr/no background worker slot is free/,
	'there were too few places');

# Also where a worker has come and gone.
my $s = connect_to('house_50');
$s->run(
	"SELECT approval.propose('late', '$TOOL', '{}', expires_in => '1 s')");
wait_for($s,
	"SELECT status FROM approval.requests WHERE tool_call_id = 'late'",
	'expired', 'a database whose worker has left');
$s->close;

# A database that refuses connections is left alone until it does not.
my @refused =
  slurp_file($node->logfile) =~
  /database "closed" is not currently accepting/g;
is(scalar @refused, 0, 'nobody knocks at a closed database');
$root->run('ALTER DATABASE closed ALLOW_CONNECTIONS true');
my $closed = connect_to('closed');
is($closed->run('SELECT status FROM approval.requests')->value,
	'pending', 'where nothing has happened');
$closed->run('SELECT approval.wake_worker()');
wait_for($closed, 'SELECT status FROM approval.requests',
	'expired', 'until it is opened');

# Closed while something is due, and opened again.
$closed->run(
	"SELECT approval.propose('shut', '$TOOL', '{}', expires_in => '2 s')");
$closed->close;
$root->run('ALTER DATABASE closed ALLOW_CONNECTIONS false');
$root->run(
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'closed'"
);
select(undef, undef, undef, 3);
@refused =
  slurp_file($node->logfile) =~
  /database "closed" is not currently accepting/g;
cmp_ok(scalar @refused, '<=', 1, 'nobody fills the log');
$root->run('ALTER DATABASE closed ALLOW_CONNECTIONS true');
$closed = connect_to('closed');
is( $closed->run(
		"SELECT effective_status FROM (SELECT (approval.request_of(id)).status AS effective_status FROM approval.requests WHERE tool_call_id = 'shut') r"
	)->value,
	'expired',
	'the deadline has held');
$closed->run('SELECT approval.wake_worker()');
wait_for($closed,
	"SELECT status FROM approval.requests WHERE tool_call_id = 'shut'",
	'expired', 'and is written down after all');
$closed->close;

# ALTER EXTENSION UPDATE while the worker sweeps.
$root->run(
	"SELECT count(approval.propose('more-' || i, '$TOOL', '{}', expires_in => '1 s')) FROM generate_series(1, 20000) i"
);
my $before = $root->run('SELECT expired FROM approval.worker_state()')->value;
wait_for($root,
	"SELECT (expired > $before)::text FROM approval.worker_state()",
	'true', 'sweeping');
is($root->query("ALTER EXTENSION approval UPDATE TO '$next'")->verdict,
	'ok', 'ALTER EXTENSION UPDATE meanwhile');
is( $root->run("SELECT obj_description('approval.set_aside'::regclass)")
	  ->value,
	'upgraded', 'has happened');
wait_for($root,
	"SELECT count(*) FROM approval.requests WHERE status = 'pending'",
	0, 'and the sweep goes on');

# Fast shutdown with a standby that everybody would have to wait for, while
# something is due.
$root->run(
	"SELECT count(approval.propose('last-' || i, '$TOOL', '{}', expires_in => '1 s')) FROM generate_series(1, 3000) i"
);
$root->run("ALTER SYSTEM SET synchronous_standby_names = 'missing'");
$root->run('SELECT pg_reload_conf()');
wait_for($root,
	"SELECT count(*) FROM approval.requests WHERE status = 'pending'",
	0, 'the worker does not wait for a standby that is missing');
ok($node->stop('fast', fail_ok => 1), 'nor does a fast shutdown');
$node->append_conf('postgresql.auto.conf', "synchronous_standby_names = ''");
$node->start;
$root = connect_to('postgres');
$agent = connect_to('postgres', 'agent');

# A standby has no worker; after its promotion it has one.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $one = propose_one($agent, more => "expires_in => '1 s'");
$node->wait_for_catchup($standby, 'replay');
my $reader = Wire->new($standby);
is( $reader->run(
		"SELECT concat_ws(' ', preloaded, state, launcher_pid) FROM approval.worker_state()"
	)->value,
	't sleeping',
	'a standby has neither launcher nor worker');
is( $reader->run(
		"SELECT count(*) FROM approval.health WHERE kind = 'worker'")->value,
	0,
	'which is as it should be');
$reader->close;
$node->stop('immediate');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
$root = Wire->new($standby);
wait_for($root,
	"SELECT status FROM approval.requests WHERE id = '$one->{id}'",
	'expired', 'after its promotion it puts away what is due');
$agent = Wire->new($standby, user => 'agent');
$one = propose_one($agent, more => "expires_in => '1 s'");
wait_for($root,
	"SELECT status FROM approval.requests WHERE id = '$one->{id}'",
	'expired', 'and what becomes due');
$standby->stop;
done_testing();
