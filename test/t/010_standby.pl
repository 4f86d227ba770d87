# A standby: whatever writes fails with 25006, reading works.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $primary = new_node(
	'primary',
	allows_streaming => 1,
	conf => "max_connections = 50\n");
$primary->start;
my $root = install_gate($primary);
$root->run('GRANT approval_auditor TO alice');
my ($agent, $alice, $runner) =
  map { Wire->new($primary, user => $_) } qw(agent alice runner);

my %request;
$request{pending} = propose_one($agent, more => "conversation_id => 'talk'");
$request{approved} = approved_one($agent, $alice);
$request{consumed} = approved_one($agent, $alice);
my $token =
  $runner->run('SELECT * FROM ' . consume_sql($request{consumed}))
  ->record->{token};
$primary->backup('b');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'b', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));

my %s = map { $_ => Wire->new($standby, user => $_) }
  qw(agent alice runner chief audrey);

sub check_writes
{
	my ($how, %s) = @_;
	my $p = $request{pending};
	my @cases = (
		[ agent => "SELECT * FROM approval.propose('new', 't', '{}')" ],
		[ agent => "SELECT * FROM approval.cancel('$p->{id}')" ],
		[ alice => decide_sql($p, 'approve') ],
		[ alice => decide_sql($p, 'reject') ],
		[
			alice =>
			  "SELECT * FROM approval.approve('$p->{id}', '$p->{review_hash}')"
		],
		[
			alice =>
			  "SELECT * FROM approval.edit('$p->{id}', '$p->{review_hash}', '{}')"
		],
		[
			alice =>
			  "SELECT * FROM approval.try_decide('$p->{id}', 'approve', '$p->{review_hash}')"
		],
		[
			alice => "SELECT * FROM approval.revoke('$request{approved}{id}')"
		],
		[ alice => "SELECT * FROM approval.revoke_by('user:alice')" ],
		[
			alice =>
			  "SELECT * FROM approval.reconcile('$request{consumed}{id}', 'failed')"
		],
		[ runner => 'SELECT * FROM ' . consume_sql($request{approved}) ],
		[
			runner => 'SELECT * FROM '
			  . consume_sql($request{approved}, function => 'try_consume')
		],
		[
			runner =>
			  "SELECT * FROM approval.heartbeat('$request{consumed}{id}', 'run-1', '$token')"
		],
		[
			runner =>
			  "SELECT * FROM approval.complete('$request{consumed}{id}', 'run-1', '$token', 'failed')"
		],
		[ chief => "SELECT approval.register_login('agent', 'delegate')" ]);

	for my $case (@cases)
	{
		my ($user, $sql) = @$case;
		my ($verb) = $sql =~ /approval\.(\w+)/;
		my $r = $s{$user}->query($sql);

		is($r->sqlstate, '25006', "$how: $verb") or diag($r->verdict);
		is(scalar @{ $r->{rows} }, 0, "$how: $verb answers nothing");
	}
}

check_writes('standby', %s);

# Reading.
for my $case (
	[
		agent =>
		  "SELECT status FROM approval.request_of('$request{pending}{id}')",
		'pending'
	],
	[
		agent => "SELECT id FROM approval.pending('talk')",
		$request{pending}{id}
	],
	[ agent => "SELECT status FROM approval.outcomes('talk')", 'pending' ],
	[ agent => 'SELECT count(*) FROM approval.history', 3 ],
	[ alice => 'SELECT count(*) FROM approval.inbox', 1 ],
	[ audrey => 'SELECT count(*) FROM approval.audit', 6 ],
	[ audrey => 'SELECT count(*) FROM approval.votes', 2 ],
	[ alice => 'SELECT count(*) FROM approval.refusals', 0 ],
	[
		audrey =>
		  "SELECT ok FROM approval.verify_request('$request{consumed}{id}')",
		't'
	],
	[
		alice => "SELECT approval.channel('tenant')",
		$alice->run("SELECT approval.channel('tenant')")->value
	],
	[ agent => "SELECT count(*) > 10 FROM approval.errors()", 't' ],
	[
		agent => "SELECT approval.canonical('{\"b\":1,\"a\":2}')",
		'{"a":2,"b":1}'
	])
{
	my ($user, $sql, $value) = @$case;
	is($s{$user}->query($sql)->value, $value, "standby: $sql");
}

# What the primary learns, the standby's sessions learn.
$root->run(
	"SELECT approval.register_login('agent', 'service', 'agent:bot', '{acme}')"
);
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
is( $s{agent}
	  ->query("SELECT * FROM approval.request_of('$request{pending}{id}')")
	  ->verdict,
	'PT404 not_found',
	'a registration reaches a session of the standby that knew the old one');
$root->run("SELECT approval.register_login('agent', 'service', 'agent:bot')");

# The primary, read only.
{
	my %ro = map {
		$_ => Wire->new(
			$primary,
			user => $_,
			params => { default_transaction_read_only => 'on' })
	} qw(agent alice runner chief);

	check_writes('read only', %ro);
	is( state_of($root, $request{approved}),
		'approved - 2 1',
		'read only: nothing written');
}

# Promoted, it goes on.
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
$primary->stop('immediate');
$standby->promote;
is($s{alice}->query(decide_sql($request{pending}, 'approve'))->verdict,
	'ok', 'promoted: decide, in a session from before');
is( $s{runner}->query('SELECT * FROM ' . consume_sql($request{approved}))
	  ->verdict,
	'ok',
	'promoted: consume');
is( $s{runner}->query('SELECT * FROM ' . consume_sql($request{consumed}))
	  ->verdict,
	'PT409 already_consumed',
	'promoted: what was consumed stays so');
is( $s{runner}->query(
		"SELECT * FROM approval.complete('$request{consumed}{id}', 'run-1', '$token', 'succeeded')"
	)->verdict,
	'ok',
	'promoted: complete');
is_deeply([ verify_all(Wire->new($standby)) ],
	[], 'promoted: every chain verifies');

done_testing();
