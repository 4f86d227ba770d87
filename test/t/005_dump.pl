# Dump and restore: rows in every state come back byte for byte, nobody is
# rung, and the gate goes on where it stopped.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my @TABLES = qw(requests decisions events refusal_log logins keys
  tools rules seen_definitions freezes members budget_entries grants policy_events
  runs steps handles run_limits);

my $node = new_node('source', conf => "fsync = off\n");
$node->start;
my $root = install_gate($node, 'postgres');
$root->run('CREATE ROLE other_owner LOGIN SUPERUSER');
$root->run(
	"SELECT approval.register_login('$_->[0]', '$_->[1]', '$_->[2]', '{\"\",acme}')"
  )
  for [ 'agent', 'service', 'agent:bot' ],
  [ 'alice', 'person', 'user:alice' ],
  [ 'runner', 'service', 'service:runner' ];
$root->run(
	"SELECT approval.register_login('postgres', 'person', tenants => '{*}')");
my ($agent, $alice, $runner) =
  map { Wire->new($node, user => $_) } qw(agent alice runner);

# One request in each state.
my (%request, %token);

sub consumed_one
{
	my $name = shift;

	$request{$name} = approved_one($agent, $alice);
	$token{$name} =
	  $runner->run('SELECT * FROM ' . consume_sql($request{$name}))
	  ->record->{token};
}

sub complete_sql
{
	my ($name, $outcome, $result) = @_;

	return
	  "SELECT * FROM approval.complete('$request{$name}{id}', 'run-1', '$token{$name}', '$outcome'"
	  . ($result ? ', ' . literal($result) : '') . ')';
}

$request{pending} = propose_one(
	$agent,
	arguments => '{"amount":120,"order":"A-7"}',
	more =>
	  q{conversation_id => 'talk', agent_reason => E'tab\t, new\nline, \\\\, ''quote'', €',
		preview => '{ "b": 1,  "a": 1.00000000000000000001 }', metadata => '[1, 2]', reply_to => 'https://example/resume'}
);
$request{approved} = approved_one($agent, $alice);
$request{edited} = propose_one($agent);
$alice->run(
	decide_sql(
		$request{edited}, 'approve',
		q{arguments => '{"amount": 1.2e1, "order": "A-7"}'}));
$request{rejected} = propose_one($agent);
$alice->run(
	decide_sql($request{rejected}, 'reject', q{result => 'no', note => 'é'}));
$request{cancelled} = propose_one($agent);
$agent->run(
	"SELECT * FROM approval.cancel('$request{cancelled}{id}', 'changed my mind')"
);
$request{revoked} = approved_one($agent, $alice);
$alice->run("SELECT * FROM approval.revoke('$request{revoked}{id}')");
consumed_one($_) for qw(in_flight succeeded failed unknown settled);
$runner->run(
	complete_sql(
		'succeeded', 'succeeded', '{"receipt": 12345678901234567890}'));
$runner->run(complete_sql('failed', 'failed', '"no\u0000money"'));
$runner->run(complete_sql($_, 'unknown')) for qw(unknown settled);
$alice->run(
	"SELECT * FROM approval.reconcile('$request{settled}{id}', 'succeeded', 'seen in the bank')"
);
$request{acme} = propose_one($agent, more => "tenant => 'acme'");
is( $runner->run(
		'SELECT ok FROM '
		  . consume_sql($request{rejected}, function => 'try_consume')
	)->value,
	'f',
	'there is a refusal');
{
	# Past its deadline, put away by nobody.
	$root->run("ALTER ROLE agent SET approval.decide_within = '1s'");
	$root->run("ALTER ROLE agent SET approval.min_decide_within = '1s'");
	my $s = Wire->new($node, user => 'agent');
	$request{expired} = propose_one($s);
	$root->run("ALTER ROLE agent RESET ALL");
	$s->close;
	wait_past($root, $request{expired}{expires_at});
}

# Policy: a tool with rules and a budget of which six are spent, a definition
# that nobody has reviewed, a freeze, a group and a grant.
$root->run('CREATE ROLE gw LOGIN');
$root->run('GRANT approval_requester TO gw');
$root->run("SELECT approval.register_login('gw', 'gateway', 'gateway:mcp')");
$root->run($_)
  for
  q(SELECT approval.register_tool('pay', 'action', '{"expects":{"amount":"nonnegative"},"cool_down":"1 hour","lease":"7 minutes",
	"budgets":[{"name":"d","amount":"$.amount","limit":10,"within":"1 day"}],
	"rules":[{"condition":"$.amount <= 100","mode":"auto"},{"mode":"review","reviewer_group":"board"}]}', tenant => '')),
  q(SELECT approval.register_tool('ask', 'action', tenant => '')),
  q(SELECT approval.register_tool('every', 'knowledge', '{"default_mode":"inline"}', tenant => '*')),
  q(SELECT approval.freeze_tool('frozen', tenant => '')),
  q(SELECT approval.add_member('board', 'user:alice', tenant => '')),
  q(SELECT approval.allow('ask', 'agent', now() + interval '1 day', 2, tenant => ''));
is( $agent->run(
		"SELECT mode FROM approval.propose('p1', 'pay', '{\"amount\":6}', tenant => '')"
	)->value,
	'auto',
	'six are spent');
is( $agent->run(
		"SELECT gate_reason FROM approval.propose('a1', 'ask', '{}', tenant => '')"
	)->value,
	'grant',
	'a grant is used once');

# A run in the middle of its way, with a handle that has not been answered.
$root->run(
	"SELECT approval.set_run_limits('{\"max_iterations\":3}', tenant => '')");
$agent->run("SELECT approval.start_run('a run', 'run', tenant => '')");
my $run_token =
  $agent->run("SELECT token FROM approval.claim_run('run', tenant => '')")
  ->value;
$agent->run($_)
  for "SELECT approval.next_iteration('run', '$run_token', tenant => '')",
  "SELECT approval.record_step('run', '$run_token', 'openai', 'model_call', '{\"n\":1e2}', cost => 0.5, tenant => '')";
my $secret = $agent->run(
	"SELECT secret FROM approval.attach_handle('run', '$run_token', 'n8n', 'exec', tenant => '')"
)->value;
my $gw = Wire->new($node, user => 'gw');
$gw->run(
	"SELECT approval.propose('g1', 'ask', '{}', definition => '{\"name\":\"ask\"}')"
);
$gw->close;

is_deeply(
	[
		map { "@$_" } @{
			$root->run(
				"SELECT DISTINCT concat_ws(' ', status, outcome) COLLATE \"C\" FROM approval.requests ORDER BY 1"
			)->{rows}
		}
	],
	[
		'approved', 'cancelled',
		'consumed failed', 'consumed in_flight',
		'consumed succeeded', 'consumed unknown',
		'pending', 'rejected',
		'revoked'
	],
	'there is a row in every state');
my @channels =
  map { $root->run("SELECT approval.channel($_)")->value } "'all'",
  "'tenant'", "'conversation', 'talk'";

# All tables as text, with the sequences.
sub contents
{
	my $s = shift;
	my %contents =
	  map {
		$_ => join '',
		  sort split /^/,
		  $s->run("COPY approval.$_ TO STDOUT")->{copied}
	  } @TABLES;

	$contents{sequences} = join ' ',
	  map { join ',', @{$_} } @{
		$s->run(
			'SELECT last_value, is_called FROM approval.events_seq UNION ALL'
			  . ' SELECT last_value, is_called FROM approval.refusal_log_id_seq UNION ALL'
			  . ' SELECT last_value, is_called FROM approval.policy_version_seq'
		)->{rows}
	  };
	return \%contents;
}

my $before = contents($root);
ok(length $before->{$_}, "$_ has rows") for @TABLES;

# Restores into a new database by CODE, and looks.
my $n = 0;

sub check_restore
{
	my ($name, $target, $code, %opts) = @_;
	my $db = 'copy' . ++$n;

	$target->safe_psql('postgres',
		"CREATE DATABASE $db TEMPLATE template0 ENCODING 'UTF8'");
	$target->safe_psql($db, 'CREATE EXTENSION approval')
	  if $opts{extension_first};

	my $listener = Wire->new($target, dbname => $db);
	$listener->run("LISTEN $_") for @channels;

	# A session that knew the database before the restore.
	my $early = Wire->new($target, dbname => $db, user => 'alice');
	$early->query(
		"SELECT * FROM approval.request_of('$request{pending}{id}')");

	$code->($db);
	my $s = Wire->new($target, dbname => $db);
	is_deeply(contents($s), $before, "$name: every table is what it was");
	is_deeply([ $listener->notifications ], [], "$name: nobody is rung");
	is_deeply([ verify_all($s) ], [], "$name: every chain verifies");

	# It goes on.
	my ($agent, $alice, $runner) =
	  map { Wire->new($target, dbname => $db, user => $_) }
	  qw(agent alice runner);
	is($early->query(decide_sql($request{pending}, 'approve'))->verdict,
		'ok', "$name: the pending one is decided, in a session from before");
	is( $alice->query(decide_sql($request{expired}, 'approve'))->verdict,
		'PT410 expired',
		"$name: the late one is not");
	is( $runner->query('SELECT * FROM ' . consume_sql($request{approved}))
		  ->verdict,
		'ok',
		"$name: the approved one is consumed");
	is( $runner->query(
			'SELECT * FROM '
			  . consume_sql(
				$request{edited}, arguments => '{"amount":12,"order":"A-7"}')
		)->verdict,
		'ok',
		"$name: the edited one, as edited");
	is( $runner->query('SELECT * FROM ' . consume_sql($request{in_flight}))
		  ->verdict,
		'PT409 already_consumed',
		"$name: the consumed one is not");
	is($runner->query(complete_sql('in_flight', 'succeeded'))->verdict,
		'ok', "$name: its token is good");
	is( $runner->query(complete_sql('failed', 'failed', '"no\u0000money"'))
		  ->verdict,
		'ok',
		"$name: a result is what it was");
	is( join(
			' ',
			@{
				$agent->query(
					"SELECT status, iterations, cost FROM approval.next_iteration('run', '$run_token')"
				)->{rows}[0] // []
			}),
		'running 2 0.5',
		"$name: the run goes on under its token");
	is( $runner->query(
			"SELECT approval.callback('n8n', 'exec', '$secret', 'succeeded')")
		  ->verdict,
		'ok',
		"$name: a handle is answered with its secret");
	is( $agent->query(
			"SELECT count(*) = count(DISTINCT seq) AND min(seq) = min(seq) FILTER (WHERE kind = 'run_started') FROM approval.trace('run')"
		)->value,
		't',
		"$name: what comes is numbered after what was");
	is( $alice->query(
			"SELECT * FROM approval.reconcile('$request{unknown}{id}', 'failed')"
		)->verdict,
		'ok',
		"$name: the unknown one is settled");
	is( $agent->query(
			"SELECT * FROM approval.propose('$request{pending}{tool_call_id}', '$TOOL',"
			  . " '$ARGUMENTS', conversation_id => 'talk')")->record->{id},
		$request{pending}{id},
		"$name: a call id still stands for its request");
	is( $s->run(
				'SELECT count(*) = count(DISTINCT seq) AND'
			  . ' max(seq) = (SELECT last_value FROM approval.events_seq) FROM approval.events'
		)->value,
		't',
		"$name: event numbers go on");
	is_deeply(
		[
			map {
				my $answer = $agent->query(
					"SELECT mode || ' ' || gate_reason FROM approval.propose('n' || $_->[0], '$_->[1]', '$_->[2]', tenant => '')"
				);
				$answer->sqlstate ? $answer->verdict : $answer->value
			}[ 1, 'pay', '{"amount":5}' ],
			[ 2, 'pay', '{"amount":4}' ],
			[ 3, 'pay', '{"amount":101}' ],
			[ 4, 'frozen', '{}' ],
			[ 5, 'ask', '{}' ],
			[ 6, 'ask', '{}' ],
			[ 7, 'every', '{}' ]
		],
		[
			'review budget_exceeded',
			'auto rule',
			'review rule',
			'PT403 tool_frozen',
			'auto grant',
			'review no_rule',
			'inline default'
		],
		"$name: policy is what it was");
	is( $s->run(
			"SELECT policy_version > (SELECT max(policy_version) FROM approval.requests)"
			  . " FROM approval.update_tool('pay', '{\"description\":\"x\"}', tenant => '')"
		)->value,
		't',
		"$name: and its versions go on");
	is( $s->run(
			"SELECT bool_and(v.ok) FROM unnest(ARRAY['', '*']) t, unnest(ARRAY['policy', 'freeze']) c, approval.verify_policy(c, t) v"
		)->value,
		't',
		"$name: its chains too");
	is_deeply([ verify_all($s) ],
		[], "$name: every chain verifies afterwards");
	is( $s->query(
			"UPDATE approval.requests SET status = 'approved' WHERE id = '$request{rejected}{id}'"
		)->sqlstate,
		'42501',
		"$name: the guard is up");
	is( $s->run(
			"SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class c"
			  . " WHERE relnamespace = 'approval'::regnamespace AND relkind IN ('r', 'S', 'v')"
		)->value,
		'approval_owner',
		"$name: the tables have their owner");
	my $rung = grep { $_->[0] eq $channels[2] } $listener->notifications;
	is($rung, 1, "$name: the channel of a conversation keeps its name");
	$_->close for $listener, $early, $s, $agent, $alice, $runner;
}

my $dir = $node->basedir;

sub run_ok
{
	my ($name, @command) = @_;
	my ($out, $err);
	my $ok = IPC::Run::run(\@command, '>', \$out, '2>', \$err);

	ok($ok, $name) or diag("$out$err");
	unlike($err, qr/error|warning/i, "$name: says nothing bad");
}

my @from = ('--host', $node->host, '--port', $node->port);
run_ok('pg_dump', 'pg_dump', @from, '-U', 'postgres', '-f', "$dir/plain.sql",
	'postgres');
run_ok(
	'pg_dump -Fc', 'pg_dump', @from, '-U',
	'postgres', '-Fc', '-f', "$dir/custom",
	'postgres');
run_ok(
	'pg_dump -Fd', 'pg_dump', @from, '-U',
	'postgres', '-Fd', '-j2', '-f',
	"$dir/parts", 'postgres');
run_ok(
	'pg_dump --data-only', 'pg_dump',
	@from, '-U',
	'postgres', '--data-only',
	'--disable-triggers', '-f',
	"$dir/data.sql", 'postgres');
run_ok('pg_dump --inserts',
	'pg_dump', @from, '-U', 'postgres', '--inserts', '-f',
	"$dir/inserts.sql", 'postgres');
run_ok('pg_dumpall --roles-only',
	'pg_dumpall', @from, '-U', 'postgres', '--roles-only', '-f',
	"$dir/roles.sql");

sub psql_file
{
	my ($target, $db, $file, $user) = @_;
	my ($out, $err);
	my $ok = IPC::Run::run(
		[
			'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
			'-h', $target->host, '-p', $target->port,
			'-U', $user // 'postgres', '-d', $db,
			'-f', $file
		],
		'>',
		\$out,
		'2>',
		\$err);

	ok($ok, "psql -f " . ($file =~ s|.*/||r)) or diag($err);
}

sub restore
{
	my ($target, $db, $what, @options) = @_;

	run_ok(
		"pg_restore $what @options", 'pg_restore',
		'--exit-on-error', '-h',
		$target->host, '-p',
		$target->port, '-d',
		$db, @options,
		"$dir/$what");
}

check_restore('plain', $node,
	sub { psql_file($node, $_[0], "$dir/plain.sql") });
check_restore('inserts', $node,
	sub { psql_file($node, $_[0], "$dir/inserts.sql") });
check_restore('custom', $node,
	sub { restore($node, $_[0], 'custom', '-U', 'postgres') });
check_restore(
	'custom in one transaction',
	$node,
	sub {
		restore($node, $_[0], 'custom', '-U', 'postgres',
			'--single-transaction');
	});
check_restore('parallel', $node,
	sub { restore($node, $_[0], 'parts', '-U', 'postgres', '-j2') });
check_restore(
	'by another owner',
	$node,
	sub { restore($node, $_[0], 'custom', '-U', 'other_owner', '--no-owner') }
);
check_restore(
	'data only', $node,
	sub { psql_file($node, $_[0], "$dir/data.sql") },
	extension_first => 1);

# Another cluster, which gets its roles first.
my $second = new_node('second', conf => "fsync = off\n");
$second->start;
{
	my ($out, $err);
	IPC::Run::run(
		[
			'psql', '-Xq', '-h', $second->host,
			'-p', $second->port, '-U', 'postgres',
			'-d', 'postgres', '-f', "$dir/roles.sql"
		],
		'>',
		\$out,
		'2>',
		\$err);
	my @bad = grep { !/role "postgres" already exists|current user cannot/ }
	  split /\n/, $err;
	is_deeply(\@bad, [], 'the roles come over');
}
check_restore('another cluster',
	$second, sub { psql_file($second, $_[0], "$dir/plain.sql") });

done_testing();
