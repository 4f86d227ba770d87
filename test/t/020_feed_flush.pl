# What a reader of the feed has seen is still there after a crash, also where
# commits do not wait for the disk: or its cursor would lie beyond events that
# others write in their place.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use Test::More;
use Wire;

# Nobody else flushes: the WAL writer sleeps, and there is no worker.
my $node = new_node('flush',
	conf =>
	  "fsync = off\nsynchronous_commit = off\napproval.force_sync = off\nwal_writer_delay = '10s'\nwal_writer_flush_after = '1GB'\nautovacuum = off\n"
);
$node->start;
my $root = install_gate($node);
my ($cursor, %seen);

sub connect_all
{
	return map { Wire->new($node, user => $_) } qw(agent audrey);
}

sub follow
{
	my ($reader) = @_;
	my $row =
	  $reader->run("SELECT * FROM approval.feed("
		  . (defined $cursor ? literal($cursor) : 'NULL')
		  . ")")->record;

	$cursor = $row->{cursor_text};
	$seen{"$_->{id} $_->{n}"}++ for @{ decode_json($row->{events}) };
	return $row;
}

my ($agent, $audrey) = connect_all();
my ($lost, $written) = (0, 0);
for my $round (1 .. 5)
{
	$root = Wire->new($node);
	$root->run('CHECKPOINT');
	propose_one($agent) for 1 .. 3;
	follow($audrey);
	propose_one($agent);
	$node->stop('immediate');
	$node->start;
	($agent, $audrey) = connect_all();
	$root = Wire->new($node);
	my %there =
	  map { $_->[0] => 1 }
	  @{ $root->run("SELECT request_id || ' ' || n FROM approval.events")
		  ->{rows} };
	is_deeply([ grep { !$there{$_} } sort keys %seen ],
		[], "crash $round: what was seen is there");
	$lost += $written + 4 - keys %there;

	# Whoever writes now may use the transaction ids of what was lost.
	propose_one($agent) for 1 .. 2;
	is(follow($audrey)->{resync}, 'f', 'the cursor goes on');
	$written = keys(%there) + 2;
	is_deeply(
		[ sort keys %seen ],
		[
			sort map { $_->[0] } @{
				$root->run(
					"SELECT request_id || ' ' || n FROM approval.events")
				  ->{rows}
			}
		],
		'and has seen everything');
	is(scalar(grep { $_ > 1 } values %seen), 0, 'once');
	$root->close;
}

# Otherwise this would prove nothing: what nobody had seen was not flushed.
note("$lost of 5 were lost");
cmp_ok($lost, '>', 0, 'crashes have lost what nobody had seen');
$node->stop;
done_testing();
