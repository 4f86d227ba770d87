# A client that follows docs/events.md: LISTEN, then the feed with its stored
# cursor at each notification and after each reconnect.  Its connection is cut
# in the middle of bursts, and so is the worker; the server is restarted.
# Nothing is missing, and nothing comes twice.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $seed = $ENV{APPROVAL_SEED} // int(rand(1 << 30));
srand($seed);
note("APPROVAL_SEED=$seed");

my $node = new_node('listener', preload => 1, conf => "fsync = off\n");
$node->start;
my $root = install_gate($node);
my ($listener, $cursor, %seen, $cuts);

sub reconnect
{
	$listener->close if $listener;
	$listener = Wire->new($node, user => 'audrey');
	$listener->run('LISTEN approval');
	return;
}

# Applies the events and stores the cursor, both or neither.
sub catch_up
{
	while (1)
	{
		my $result =
		  $listener->query('SELECT * FROM approval.feed('
			  . literal($cursor)
			  . ', max_rows => 20)');
		return 0 if $result->{lost} || @{ $result->{errors} };
		my $row = $result->record;

		die 'resync' if $row->{resync} eq 't';
		$seen{"$_->{id} $_->{n} $_->{event}"}++
		  for @{ decode_json($row->{events}) };
		$cursor = $row->{cursor_text};
		return 1 if $row->{more} eq 'f';
	}
}

reconnect();
$cursor =
  $listener->run("SELECT cursor_text FROM approval.feed('now')")->value;

# One look at what the socket has brought: true if it rang.
sub rang
{
	my $result = eval { $listener->query('SELECT 1') };

	return 'lost' if !$result || $result->{lost} || @{ $result->{errors} };
	my @came = @{ $listener->{notifications} };
	$listener->{notifications} = [];
	return scalar @came;
}

sub burst
{
	my ($what) = @_;
	my @writers = map { Wire->new($node, user => 'agent') } 1 .. 4;
	my $alice = Wire->new($node, user => 'alice');
	my $rings = 0;

	for my $round (1 .. 60)
	{
		$_->start("SELECT * FROM approval.propose("
			  . literal("$what-$round-" . fileno($_->{socket}))
			  . ", '$TOOL', '{}')")
		  for @writers;
		for my $s (@writers)
		{
			my $request = $s->finish->record;

			$alice->run(decide_sql($request, 'approve')) if rand() < 0.5;
		}
		if (rand() < 0.1)
		{
			my $pid = $listener->pid;

			$root->run("SELECT pg_terminate_backend($pid)");
			$cuts++;
		}
		$root->run(
			'SELECT pg_terminate_backend(worker_pid) FROM approval.worker_state() WHERE worker_pid IS NOT NULL'
		) if rand() < 0.05;
		my $heard = rang();

		if    ($heard eq 'lost') { reconnect(); catch_up(); }
		elsif ($heard)           { $rings++;    catch_up(); }
	}
	$_->close for @writers, $alice;
	return $rings;
}

# Whatever is still to come comes by notifications alone.
sub settle
{
	my ($what) = @_;
	my $there;

	for (1 .. 1500)
	{
		my $heard = rang();

		if    ($heard eq 'lost') { reconnect(); catch_up(); }
		elsif ($heard)           { catch_up(); }
		$there = $root->run('SELECT count(*) FROM approval.events')->value;
		last if keys %seen == $there;
		select(undef, undef, undef, 0.02);
	}
	is_deeply(
		[ sort keys %seen ],
		[
			sort map { $_->[0] } @{
				$root->run(
					"SELECT concat_ws(' ', request_id, n, kind) FROM approval.events"
				)->{rows}
			}
		],
		"$what: nothing is missing");
	is(scalar(grep { $_ > 1 } values %seen), 0, "$what: nothing came twice");
	return;
}

my $rings = burst('first');
settle('cut in the middle of a burst');
cmp_ok($rings, '>', 0, 'it was rung for');
burst('second');
$node->restart;
$root = Wire->new($node);
settle('a restart of the server');
burst('third');
$node->stop('immediate');
$node->start;
$root = Wire->new($node);
reconnect();
catch_up();
settle('a crash of the server');
cmp_ok($cuts, '>', 3, 'and it was cut');

$node->stop;
done_testing();
