# The feed: every committed event exactly once for a stored cursor, those of a
# request in their order, whatever order transactions commit in; nothing that
# was rolled back.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP;
use List::Util qw(shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $seed = $ENV{APPROVAL_SEED} // int(rand(1 << 30));
srand($seed);
note("APPROVAL_SEED=$seed");

my $node = new_node(
	'feed',
	preload => 1,
	allows_streaming => 1,
	conf =>
	  "fsync = off\nmax_prepared_transactions = 20\nmax_connections = 60\nbgwriter_lru_maxpages = 0\n"
);
$node->start;
my $root = install_gate($node);

# One call of a reader, who keeps the cursor and what came.
sub follow
{
	my ($reader, $most) = @_;
	my $s = Wire->new($reader->{node} // $node,
		user => $reader->{user} // 'audrey');
	my $row =
	  $s->run('SELECT * FROM approval.feed('
		  . (defined $reader->{cursor} ? literal($reader->{cursor}) : 'NULL')
		  . ", max_rows => $most)")->record;

	$s->close;
	$reader->{resync}++ if $row->{resync} eq 't';

	# Some answers are lost on the way, and asked for again.
	return 1 if rand() < 0.1;
	$reader->{cursor} = $row->{cursor_text};
	push @{ $reader->{events} }, @{ decode_json($row->{events}) };
	return $row->{more} eq 't';
}

sub names
{
	return map { "$_->{id} $_->{n}" } @_;
}

sub check
{
	my ($reader, $what) = @_;
	my %next;
	my @misplaced =
	  grep { $_->{n} != ++$next{ $_->{id} } } @{ $reader->{events} };

	is_deeply(
		[ sort { $a cmp $b } names(@{ $reader->{events} }) ],
		[
			map { $_->[0] } @{
				$root->run(
					q(SELECT (request_id || ' ' || n)::text AS e FROM approval.events ORDER BY (request_id || ' ' || n) COLLATE "C")
				)->{rows}
			}
		],
		"$what: every event once, and no other");
	is_deeply([ names(@misplaced) ], [], "$what: in the order of each chain");
	return;
}

# Writers, each with a transaction that takes its time.
my @writers = map {
	{
		agent => Wire->new($node, user => 'agent'),
		alice => Wire->new($node, user => 'alice'),
		open => {},
		n => 0
	}
} 1 .. 5;
my @readers = map { { events => [] } } 1 .. 3;
my @known;
my @prepared;
my $gid = 0;

sub begin_or_end
{
	my ($s, $open) = @_;

	if (!$open->{$s})
	{
		$s->run('BEGIN');
		$s->run('SELECT pg_current_xact_id()') if rand() < 0.5;
		return $open->{$s} = 1;
	}
	my $dice = rand();
	if    ($dice < 0.2) { $s->run('ROLLBACK') }
	elsif ($dice < 0.4 && @prepared < 8)
	{
		my $name = 'p' . ++$gid;
		push @prepared, $name
		  if $s->query("PREPARE TRANSACTION '$name'")->verdict eq 'ok';
		$s->run('ROLLBACK');
	}
	else { $s->query('COMMIT') }
	return $open->{$s} = 0;
}

sub act
{
	my $w = shift;
	my $s = rand() < 0.6 ? $w->{agent} : $w->{alice};

	begin_or_end($s, $w->{open}) if rand() < 0.4;
	my $savepoint = $w->{open}{$s} && rand() < 0.3;
	$s->run('SAVEPOINT s') if $savepoint;
	if ($s == $w->{agent})
	{
		push @known, propose_one($s);
	}
	else
	{
		# who is locked by another writer must not stop the show
		my ($request) = shuffle(@known);
		$s->run('SET lock_timeout = 10');
		$s->query(
			"SELECT * FROM approval.try_decide('$request->{id}', 'approve', '$request->{review_hash}')"
		) if $request && $request->{id};
	}
	$s->query(rand() < 0.5 ? 'ROLLBACK TO s' : 'RELEASE s') if $savepoint;
	$s->run('ROLLBACK'), $w->{open}{$s} = 0
	  if $w->{open}{$s} && $s->query('SELECT 1')->verdict ne 'ok';
	return;
}

for my $round (1 .. ($ENV{APPROVAL_ROUNDS} // 400))
{
	act($_) for @writers;
	if (@prepared && rand() < 0.2)
	{
		my $name = splice @prepared, int(rand(@prepared)), 1;
		$root->run(
			(rand() < 0.7 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$name'");
	}
	for my $reader (@readers)
	{
		follow($reader, 1 + int(rand(rand() < 0.5 ? 3 : 200)))
		  if rand() < 0.3;
	}
}
for my $w (@writers)
{
	$_->run('COMMIT') for @$w{qw(agent alice)};
}
$root->run("COMMIT PREPARED '$_'") for @prepared;
for my $reader (@readers)
{
	1 while follow($reader, 50) || rand() < 0.3;
	check($reader, 'a reader all the time');
	is($reader->{resync}, undef, 'and never sent back to begin');
}
my $late = { events => [] };
1 while follow($late, 7) || rand() < 0.3;
check($late, 'one who comes late');
cmp_ok(scalar @{ $late->{events} },
	'>', 100, 'and there was something to read');

# The worker has announced as many; its own position is one more reader.
is_deeply([ verify_all($root) ], [], 'every chain is whole');

# A cursor of a statement with an old snapshot neither goes back nor ahead.
my $old = Wire->new($node, user => 'audrey');
my $running = Wire->new($node, user => 'agent');
$running->run('BEGIN');
$running->run('SELECT pg_current_xact_id()');
$old->run('BEGIN ISOLATION LEVEL REPEATABLE READ');
$old->run('SELECT 1');
propose_one($running);
$running->run('COMMIT');
propose_one($writers[0]{agent});
1 while follow($late, 7) || rand() < 0.3;
my $before =
  $old->run('SELECT * FROM approval.feed(' . literal($late->{cursor}) . ')')
  ->record;
is($before->{events}, '[]', 'with an old snapshot there is nothing new');
$old->run('COMMIT');
$late->{cursor} = $before->{cursor_text};
1 while follow($late, 7) || rand() < 0.3;
check($late, 'after a call with an old snapshot');
$_->close for $old, $running;

# After a crash cursors go on, with commits that nobody waited for, and numbers
# of transactions that left nothing.
$root->run('VACUUM');
kill 'STOP',
  $root->run(
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
  ->value;
my $lazy = Wire->new($node, user => 'agent');
$lazy->run('SET synchronous_commit = off');
for (1 .. 20)
{
	$lazy->run('BEGIN');
	$lazy->run('SELECT pg_current_xact_id()');
	$lazy->run('ROLLBACK');
}
propose_one($lazy);
$readers[0]{events_before} = @{ $readers[0]{events} };
1 while follow($readers[0], 50)
  || @{ $readers[0]{events} } == $readers[0]{events_before};
$node->stop('immediate');
$node->start;
$root = Wire->new($node);
my $agent = Wire->new($node, user => 'agent');
propose_one($agent) for 1 .. 5;
1 while follow($readers[0], 3) || rand() < 0.3;
check($readers[0], 'after a crash');
is($readers[0]{resync}, undef, 'without beginning anew');

# On a standby, where a transaction is slow.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $slow = Wire->new($node, user => 'agent');
$slow->run('BEGIN');
propose_one($slow);
propose_one($agent) for 1 .. 3;
$node->wait_for_catchup($standby, 'replay');
my $far = { events => [], node => $standby };
1 while follow($far, 3) || rand() < 0.3;
$slow->run('COMMIT');
propose_one($agent);
$root->run('CHECKPOINT');
$node->wait_for_catchup($standby, 'replay');

for (1 .. 500)
{
	1 while follow($far, 3) || rand() < 0.3;
	last
	  if @{ $far->{events} } ==
	  $root->run('SELECT count(*) FROM approval.events')->value;
	select(undef, undef, undef, 0.05);
}
check($far, 'on a standby');

# Promotion makes another line of history.
$node->stop('immediate');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
delete $far->{resync};
follow($far, 3) until $far->{resync};
pass('after a promotion: resync');
$root = Wire->new($standby);
$agent = Wire->new($standby, user => 'agent');
$far = { events => [], node => $standby };
propose_one($agent) for 1 .. 3;
1 while follow($far, 3) || rand() < 0.3;
check($far, 'a new reader there');

# A dump that is restored: the past first, then what is new; old cursors are
# sent back.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$standby->command_ok(
	[ 'pg_dump', '-Fc', '-f', $dump, $standby->connstr('postgres') ],
	'dumped');
$root->run('CREATE DATABASE restored');
my $cursor = $far->{cursor};
$standby->command_ok(
	[ 'pg_restore', '-d', $standby->connstr('restored'), $dump ], 'restored');
my $there = Wire->new($standby, dbname => 'restored');
is($there->run("SELECT resync FROM approval.feed('$cursor')")->value,
	't', 'a cursor of the original: resync');
my $read = { events => [] };
my $more = 't';

while ($more eq 't')
{
	my $row =
	  $there->run('SELECT * FROM approval.feed('
		  . (defined $read->{cursor} ? literal($read->{cursor}) : 'NULL')
		  . ', max_rows => 20)')->record;

	($read->{cursor}, $more) = @$row{qw(cursor_text more)};
	push @{ $read->{events} }, @{ decode_json($row->{events}) };
}
$root = $there;
$there = Wire->new($standby, dbname => 'restored', user => 'agent');
propose_one($there);
my $row =
  $root->run("SELECT * FROM approval.feed('$read->{cursor}')")->record;
push @{ $read->{events} }, @{ decode_json($row->{events}) };
check($read, 'in the restored database');
is( $root->run("SELECT resync FROM approval.feed('$row->{cursor_text}')")
	  ->value,
	'f', 'whose own cursors are good');
like($root->query("SELECT approval.feed('nonsense')")->sqlstate,
	qr/^22023$/, 'nonsense is no cursor');
$standby->stop;
done_testing();
