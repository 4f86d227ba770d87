# The doorbell: one notification for each transition on each channel, none for
# anything else, and nothing in it worth stealing.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('doorbell', conf => "fsync = off\n");
$node->start;
my $root = install_gate($node);
my ($agent, $alice, $runner) =
  map { Wire->new($node, user => $_) } qw(agent alice runner);

# Someone without any privilege may listen to what has no name of its own.
my $passer = Wire->new($node, user => 'nobody_at_all');
my $listener = Wire->new($node, user => 'alice');
my %channel = (
	all => $alice->run("SELECT approval.channel('all')")->value,
	tenant => $alice->run("SELECT approval.channel('tenant')")->value,
	talk =>
	  $alice->run("SELECT approval.channel('conversation', 'talk')")->value,
	other =>
	  $alice->run("SELECT approval.channel('conversation', 'other talk')")
	  ->value);

like($channel{$_}, qr/^[a-z_][a-z0-9_]{0,62}$/, "$_: a name that n8n takes")
  for keys %channel;
is(scalar keys %{ { reverse %channel } }, 4, 'four channels');
$listener->run("LISTEN $_") for values %channel;
$passer->run("LISTEN $channel{all}");

# What has been heard since, by channel: "event status", in order.
my $SECRET = 'do-not-tell';

sub heard
{
	my ($s, $id) = @_;
	my %heard;

	for my $n ($s->notifications)
	{
		my ($channel, $payload) = @$n;
		my $json = decode_json($payload);

		cmp_ok(length $payload, '<', 300, "payload of $channel is short");
		unlike(
			$payload,
			qr/$SECRET|amount|refund|user:|agent/,
			'and tells nothing');
		is($json->{id}, $id, 'and names the request')
		  if $id && exists $json->{id};
		push @{ $heard{$channel} },
		  %$json ? join(' ', map { $json->{$_} } qw(event status)) : '{}';
	}
	return \%heard;
}

my $args = qq({"amount":1,"note":"$SECRET"});

sub rings
{
	my ($name, $id, $event, @channels) = @_;

	is_deeply(
		heard($listener, $id),
		{ map { $channel{$_} => [$event] } @channels },
		"$name: one each on " . join ', ', @channels);
}

sub silent
{
	my ($name) = @_;

	is_deeply(heard($listener), {}, "$name: silence");
}

my @here = qw(all tenant talk);
my $r = propose_one(
	$agent,
	arguments => $args,
	more => "conversation_id => 'talk', agent_reason => '$SECRET'",
	call => 'first');
rings('propose', $r->{id}, 'proposed pending', @here);
is_deeply(
	heard($passer, $r->{id}),
	{ $channel{all} => ['proposed pending'] },
	'a passer-by hears the common one');
propose_one(
	$agent,
	arguments => $args,
	more => "conversation_id => 'talk'",
	call => 'first');
silent('the same proposal');
$agent->query("SELECT * FROM approval.propose('first', 't', '{}', 'talk')");
silent('another one under its key');
$alice->query("SELECT * FROM approval.decide('$r->{id}', 'approve', '"
	  . ('0' x 64)
	  . "')");
silent('a stale view');
$agent->query(decide_sql($r, 'approve'));
silent('no privilege');
$runner->query('SELECT * FROM ' . consume_sql($r));
silent('consume too early');
$runner->run('SELECT * FROM ' . consume_sql($r, function => 'try_consume'));
silent('try_consume too early');
$alice->run($_) for 'BEGIN', decide_sql($r, 'approve'), 'ROLLBACK';
silent('a decision rolled back');
$alice->run($_)
  for 'BEGIN', 'SAVEPOINT s', decide_sql($r, 'reject'), 'ROLLBACK TO s',
  'COMMIT';
silent('a decision in a savepoint rolled back');
is(state_of($root, $r), 'pending - 1 0', 'and no event of it');
$alice->run($_)
  for 'BEGIN', 'SAVEPOINT s', decide_sql($r, 'reject'), 'ROLLBACK TO s',
  decide_sql($r, 'approve'),
  'COMMIT';
rings('a decision after a savepoint', $r->{id}, 'approved approved', @here);
is(state_of($root, $r), 'approved - 2 1', 'and one event of it');
$alice->run(decide_sql($r, 'approve'));
silent('the same decision again');
$alice->query(decide_sql($r, 'reject'));
silent('too late');
$runner->query('SELECT * FROM ' . consume_sql($r));
silent('another action');
$runner->query('BEGIN; SELECT * FROM ' . consume_sql($r, arguments => $args));
$runner->run('ROLLBACK');
silent('consume in a block');
my $token =
  $runner->run('SELECT * FROM ' . consume_sql($r, arguments => $args))
  ->record->{token};
rings('consume', $r->{id}, 'consumed consumed', @here);
$runner->query('SELECT * FROM ' . consume_sql($r, arguments => $args));
silent('a replay');
$runner->run(
	"SELECT * FROM approval.heartbeat('$r->{id}', 'run-1', '$token')");
silent('a heartbeat');
$runner->query(
	"SELECT * FROM approval.complete('$r->{id}', 'run-1', 'wrong', 'failed')"
);
silent('a wrong token');
$runner->run(
	"SELECT * FROM approval.complete('$r->{id}', 'run-1', '$token', 'succeeded', '{\"x\":\"$SECRET\"}')"
) for 1, 2;
rings('complete, twice the same', $r->{id}, 'completed consumed', @here);
$alice->run($_)
  for "SELECT * FROM approval.pending('talk')",
  "SELECT * FROM approval.outcomes('talk')",
  "SELECT * FROM approval.request_of('$r->{id}')",
  "SELECT * FROM approval.verify_request('$r->{id}')",
  'SELECT * FROM approval.inbox';
silent('reading');

# Several in one transaction: one each, in order.
my ($a, $b) =
  map { propose_one($agent, more => "conversation_id => 'other talk'") } 1, 2;
heard($listener);
$alice->run($_)
  for 'BEGIN', decide_sql($a, 'approve'), decide_sql($b, 'reject'), 'COMMIT';
is_deeply(
	heard($listener),
	{
		map { $channel{$_} => [ 'approved approved', 'rejected rejected' ] }
		  qw(all tenant other)
	},
	'two in one transaction: one each, in order');
$agent->run("SELECT * FROM approval.cancel('$a->{id}')") for 1, 2;
rings('cancel, twice', $a->{id}, 'cancelled cancelled', qw(all tenant other));
($a, $b) = map {
	approved_one($agent, $alice, more => "conversation_id => 'other talk'")
} 1, 2;
heard($listener);
$alice->run("SELECT * FROM approval.revoke_by('user:alice')") for 1, 2;
is_deeply(
	heard($listener),
	{
		map { $channel{$_} => [ ('revoked revoked') x 2 ] }
		  qw(all tenant other)
	},
	'revoke_by: one each');

# No conversation: the common one and the tenant's.
$r = propose_one($agent);
rings('without a conversation', $r->{id}, 'proposed pending', qw(all tenant));

# Off is off.
$root->run('ALTER ROLE agent SET approval.notify = off');
{
	my $s = Wire->new($node, user => 'agent');
	propose_one($s);
	silent('switched off');
}
$root->run('ALTER ROLE agent RESET approval.notify');

# A second tenant: from then on the common channel says nothing.
{
	# Rolled back, it does not count.
	my $register =
	  "SELECT approval.register_login('agent', 'service', 'agent:bot', '{\"\",acme}')";

	$root->run($_) for 'BEGIN', $register, 'ROLLBACK';
	my $p = propose_one($agent);
	rings(
		'before the second tenant',
		$p->{id}, 'proposed pending',
		qw(all tenant));
	$root->run($register);
}
for my $scope ("'tenant'", "'conversation', 'talk'")
{
	is( $alice->query("SELECT approval.channel($scope, tenant => 'acme')")
		  ->sqlstate,
		'42501', "the channel of a foreign tenant is not told: $scope");
}
$agent->run(
	"SELECT * FROM approval.propose('first', 't', '{}', 'talk', tenant => 'acme')"
);
is_deeply(
	heard($listener),
	{ $channel{all} => ['{}'] },
	'another tenant: its channels are its own, the common one says nothing');
is_deeply([ map { $_->[1] } $passer->notifications ]->[-1],
	'{}', 'also to a passer-by');
$r = propose_one($agent, more => "conversation_id => 'talk'");
is_deeply(
	heard($listener, $r->{id}),
	{
		$channel{all} => ['{}'],
		$channel{tenant} => ['proposed pending'],
		$channel{talk} => ['proposed pending']
	},
	'the common one keeps silent about the first tenant too');
{
	my $s = Wire->new($node, user => 'agent');
	propose_one($s);
	is_deeply(heard($listener)->{ $channel{all} },
		['{}'], 'in a new session too');
}

# The same names in another database: other channels, and nothing crosses.
$root->run("CREATE DATABASE second TEMPLATE template0 ENCODING 'UTF8'");
{
	my $s = install_gate($node, 'second');
	my $one = Wire->new($node, user => 'agent', dbname => 'second');

	isnt($one->run("SELECT approval.channel('tenant')")->value,
		$channel{tenant}, 'second database: another channel');
	propose_one($one, more => "conversation_id => 'talk'");
	silent('second database');
}

# Sessions that race for the first use agree on one secret.
$root->run("CREATE DATABASE third TEMPLATE template0 ENCODING 'UTF8'");
{
	my $s = install_gate($node, 'third');
	my @sessions =
	  map { Wire->new($node, user => 'agent', dbname => 'third') } 1 .. 8;

	$_->pid for @sessions;
	$s->run('BEGIN; LOCK approval.keys IN ACCESS EXCLUSIVE MODE');
	$_->start("SELECT approval.channel('tenant')") for @sessions;
	wait_blocked($root, @sessions);
	$s->run('COMMIT');
	my %names = map { ($_->finish->value // '') => 1 } @sessions;
	is(scalar keys %names, 1, 'eight first sessions, one secret')
	  or diag(join ' ', keys %names);
	is($s->run('SELECT count(*) FROM approval.keys')->value,
		1, 'one row of it');
}

done_testing();
