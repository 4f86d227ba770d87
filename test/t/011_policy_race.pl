# Budgets, grants and quorums under 32 sessions at once, a crash in the middle,
# and a registry that many sessions keep in memory.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $SESSIONS = 32;
my $LIMIT = 200;
my $CEILING = 700;

my $node = new_node('policy_race',
	conf => "max_connections = 120\nmax_prepared_transactions = 10\n");
$node->start;
my $root = install_gate($node);
my $chief = Wire->new($node, user => 'chief');
$root->run('ALTER SYSTEM SET approval.turn_wait = 30000');
$root->run('SELECT pg_reload_conf()');

sub register
{
	my ($tool, $options) = @_;

	$chief->run("SELECT approval.register_tool('$tool', 'action', "
		  . literal($options)
		  . ')');
}

sub sessions
{
	my ($user, $count) = @_;

	return map { Wire->new($node, user => $user) } 1 .. $count;
}

my $calls = 0;

sub propose_sql
{
	my ($tool, $arguments) = @_;

	return
		"SELECT id, mode, gate_reason FROM approval.propose('c"
	  . $calls++
	  . "', '$tool', '$arguments')";
}

register('pay',
	qq({"default_mode":"auto","budgets":[{"name":"day","amount":"\$.amount","key":"\$.customer","limit":$LIMIT,"ceiling":$CEILING,"within":"1 day"}]})
);

# What counts, worked out from the requests alone.
my $COUNTED = q(FROM approval.requests r
	WHERE r.tool = 'pay' AND r.mode = 'auto'
	  AND (r.status = 'consumed' OR (r.status = 'approved' AND r.use_by > clock_timestamp()))
	  AND NOT (r.outcome IS NOT DISTINCT FROM 'failed' AND r.reconciled_by IS NOT NULL));

sub spent
{
	my %spent = map { $_->[0] => $_->[1] } @{
		$root->run(
			"SELECT r.arguments ->> 'customer', sum((r.arguments ->> 'amount')::numeric) $COUNTED GROUP BY 1"
		)->{rows}
	};
	my $all = 0;

	$all += $_ for values %spent;
	return ($all, \%spent);
}

sub check_budget
{
	my ($when) = @_;
	my ($all, $by_key) = spent();

	cmp_ok($all, '<=', $CEILING,
		"$when: the ceiling holds, $all of $CEILING");
	is_deeply([ grep { $by_key->{$_} > $LIMIT } keys %$by_key ],
		[], "$when: no customer has more than $LIMIT");
	is( $root->run(
			"SELECT coalesce(sum(amount), 0) FROM approval.budget_entries WHERE released_at IS NULL AND (use_by IS NULL OR consumed_at IS NOT NULL OR use_by > clock_timestamp())"
		)->value,
		$all,
		"$when: the entries say what the requests say");
	return ($all, $by_key);
}

# Everybody takes one unit after the other, until nothing is left.
{
	my @agents = sessions('agent', $SESSIONS);
	my %modes;

	for my $round (1 .. 25)
	{
		$agents[$_]->start(
			propose_sql('pay', '{"amount":1,"customer":"c' . ($_ % 2) . '"}'))
		  for 0 .. $#agents;
		$modes{ $_->finish->record->{mode} }++ for @agents;
	}
	my ($all, $by_key) = check_budget('32 sessions');
	is($by_key->{$_}, $LIMIT, "used up to the last unit by $_") for qw(c0 c1);
	is($modes{auto}, 2 * $LIMIT, 'and not one more');
	$_->close for @agents;
}

# Amounts of all sizes, transactions that are rolled back, cancelled and used.
sub burst
{
	my ($rounds, $until) = @_;
	my @agents = sessions('agent', $SESSIONS);
	my @runners = sessions('runner', 4);

	for my $round (1 .. $rounds)
	{
		for my $i (0 .. $#agents)
		{
			my $sql = propose_sql(
				'pay',
				sprintf(
					'{"amount":%d,"customer":"c%d"}',
					1 + int(rand 9),
					2 + int(rand 5)));
			my $ending = $i % 5;

			$agents[$i]->start(
				  $ending == 0 ? "BEGIN; $sql; ROLLBACK"
				: $ending == 1
				? "SELECT (approval.cancel(p.id)).status FROM ($sql) p WHERE p.mode = 'auto'"
				: $sql);
		}
		my @ready = @{
			$root->run(
				"SELECT id, arguments FROM approval.requests WHERE tool = 'pay' AND status = 'approved' AND random() < 0.5 LIMIT 4"
			)->{rows}
		};
		$runners[$_]->start(
			"SELECT id FROM approval.consume('$ready[$_][0]', 'pay', '$ready[$_][1]', 'r')"
		) for 0 .. $#ready;
		return if $until && $until->($round);
		$_->finish for @agents, @runners[ 0 .. $#ready ];
	}
	$_->close for @agents, @runners;
}

burst(10);
check_budget('with rollbacks and cancellations');

# A crash in the middle of it: nothing is reserved that no request accounts for.
burst(
	6,
	sub {
		return $_[0] == 4 && do { $node->stop('immediate'); 1 }
	});
$node->start;
$root = Wire->new($node);
$chief = Wire->new($node, user => 'chief');
my ($before) = check_budget('after a crash');
my $agent = Wire->new($node, user => 'agent');
$agent->run(
	"SELECT approval.cancel(id) FROM approval.history WHERE tool = 'pay' AND status = 'approved'"
);
my ($after) = check_budget('everything cancelled');
is( $after,
	$root->run(
		"SELECT coalesce(sum((arguments ->> 'amount')::numeric), 0) FROM approval.requests WHERE tool = 'pay' AND status = 'consumed'"
	)->value,
	'only what was used is gone');
is( $agent->run(propose_sql('pay', qq({"amount":$LIMIT,"customer":"new"})))
	  ->record->{mode},
	'auto',
	'and the whole budget is there again');
is( $agent->run(propose_sql('pay', '{"amount":1,"customer":"new"}'))
	  ->record->{gate_reason},
	'budget_exceeded', 'once');

# Somebody sits on it: others do not wait for ever, and reviewers do not wait.
{
	my ($holder, $other) = sessions('agent', 2);
	my $alice = Wire->new($node, user => 'alice');
	my $waiting =
	  $agent->run(propose_sql('pay', '{"amount":7,"customer":"new"}'))
	  ->record;

	$root->run("ALTER ROLE agent SET approval.turn_wait = '100ms'");
	$other->close;
	$other = Wire->new($node, user => 'agent');
	$holder->run('BEGIN');
	$holder->run(propose_sql('pay', '{"amount":1,"customer":"h"}'));
	is( $other->run(propose_sql('pay', '{"amount":1,"customer":"o"}'))
		  ->record->{gate_reason},
		'budget_busy',
		'a budget that stays locked means review');
	like(
		$alice->run(
			"SELECT status FROM approval.reject('$waiting->{id}', (SELECT review_hash FROM approval.inbox WHERE id = '$waiting->{id}'))"
		)->value,
		qr/rejected/,
		'a reviewer does not wait for it');
	$holder->run('ROLLBACK');
	is( $other->run(propose_sql('pay', '{"amount":1,"customer":"o"}'))
		  ->record->{mode},
		'auto',
		'free again after a rollback');

	# the same with a transaction that is prepared
	$root->run("ALTER ROLE agent SET approval.notify = 'off'");
	$holder->close;
	$holder = Wire->new($node, user => 'agent');
	$holder->run('BEGIN');
	$holder->run(propose_sql('pay', '{"amount":1,"customer":"p"}'));
	$holder->run("PREPARE TRANSACTION 'budget'");
	is( $other->run(propose_sql('pay', '{"amount":1,"customer":"q"}'))
		  ->record->{gate_reason},
		'budget_busy',
		'held by a prepared transaction');
	$root->run("COMMIT PREPARED 'budget'");
	is( $other->run(propose_sql('pay', '{"amount":1,"customer":"q"}'))
		  ->record->{mode},
		'auto',
		'until that is committed');
	check_budget('prepared');
	$root->run('ALTER ROLE agent RESET ALL');
	$_->close for $holder, $other, $alice;
}

# Isolation levels: the budget is looked at as it is, not as the snapshot is.
for my $isolation ('repeatable read', 'serializable')
{
	my ($old, $new) = sessions('agent', 2);

	$old->run("BEGIN ISOLATION LEVEL $isolation");
	$old->run('SELECT count(*) FROM approval.history');
	$new->run(
		propose_sql('pay', qq({"amount":$LIMIT,"customer":"$isolation"})));
	is( $old->run(
			propose_sql('pay', qq({"amount":1,"customer":"$isolation"}))
		)->record->{gate_reason},
		'budget_exceeded',
		"$isolation: what was spent since the snapshot counts");
	$old->run('ROLLBACK');
	$agent->run(
		"SELECT approval.cancel(id) FROM approval.history WHERE tool = 'pay' AND status = 'approved'"
	);
	$_->close for $old, $new;
}

# A grant with five uses.
register('gift', '{"default_mode":"review"}');
$root->run("SELECT approval.register_login('chief', 'person', 'user:chief')");
$chief->close;
$chief = Wire->new($node, user => 'chief');
my $grant = $chief->run(
	q(SELECT after ->> 'id' FROM approval.allow('gift', 'agent', now() + interval '1 hour', 5))
)->value;
{
	my @agents = sessions('agent', $SESSIONS);

	for (1 .. 3)
	{
		$_->start(propose_sql('gift', '{}')) for @agents;
		$_->finish for @agents;
	}
	is( $root->run(
			"SELECT count(*) FROM approval.requests WHERE grant_id = '$grant'"
		)->value,
		5,
		'five uses under 32 sessions');
	$_->close for @agents;
}

# Quorum: 16 voters at once on requests that need two.
register('vote', '{"approvals_needed":2,"reviewer_group":"board"}');
$root->run(
	"SELECT approval.add_member('board', 'user:' || i) FROM generate_series(1, 16) i"
);
for my $isolation ('read committed', 'repeatable read', 'serializable')
{
	my @voters = map {
		Wire->new(
			$node,
			user => 'web',
			params => { default_transaction_isolation => $isolation })
	} 1 .. 16;
	my $bad = 0;

	for my $round (1 .. 5)
	{
		my $id = $agent->run(propose_sql('vote', '{}'))->record->{id};
		my $seen = $root->run(
			"SELECT review_hash FROM approval.requests WHERE id = '$id'")
		  ->value;
		my @todo = 0 .. $#voters;

		while (@todo)
		{
			$voters[$_]->start(
				"SELECT status FROM approval.approve('$id', '$seen', 'user:"
				  . ($_ + 1) . "')")
			  for @todo;
			my %answer = map { $_ => $voters[$_]->finish } @todo;
			@todo = grep { $answer{$_}->sqlstate eq '40001' } @todo;
		}
		my $votes = $root->run(
			"SELECT count(DISTINCT actor) || ' ' || count(*) FROM approval.decisions WHERE request_id = '$id'"
		)->value;
		my $status = $root->run(
			"SELECT status || ' ' || cause || ' ' || approvals FROM approval.requests WHERE id = '$id'"
		)->value;
		$bad++ if $votes ne '2 2' || $status ne 'approved quorum 2';
	}
	is($bad, 0, "$isolation: each is decided by two different people");
	$_->close for @voters;
}

# A change of policy is seen at once by sessions that keep it in memory.
{
	my @agents = sessions('agent', 8);
	my @runners = sessions('runner', 8);
	my @approved;

	register('cached', '{"default_mode":"auto"}');
	push @approved, $_->run(propose_sql('cached', '{}'))->record for @agents;
	$runners[$_]->query(
		"SELECT * FROM approval.consume('$approved[$_]{id}', 'cached', '{\"x\":1}', 'r')"
	) for 0 .. 7;
	$chief->run("SELECT approval.freeze_tool('cached')");
	is_deeply(
		{
			map { $_->query(propose_sql('cached', '{}'))->verdict => 1 }
			  @agents
		},
		{ 'PT403 tool_frozen' => 1 },
		'frozen: no session proposes');
	is_deeply(
		{
			map {
				$runners[$_]->query(
					"SELECT * FROM approval.consume('$approved[$_]{id}', 'cached', '{}', 'r')"
				)->verdict => 1
			} 0 .. 7
		},
		{ 'PT403 tool_frozen' => 1 },
		'nor consumes');
	$chief->run("SELECT approval.unfreeze_tool('cached')");

	# in a transaction that began before
	$runners[0]->run('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$runners[0]->run('SELECT count(*) FROM approval.history');
	$agents[0]->run('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$agents[0]->run('SELECT count(*) FROM approval.history');
	$chief->run(q(SELECT approval.set_rules('cached', '[{"mode":"deny"}]')));
	is($agents[0]->run(propose_sql('cached', '{}'))->record->{mode},
		'deny', 'a snapshot is no way around policy at propose');
	$root->run("ALTER ROLE runner SET approval.commit_first = off");
	my $late = Wire->new($node, user => 'runner');
	$late->run('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$late->run('SELECT count(*) FROM approval.history');
	$chief->run(
		q(SELECT approval.set_rules('cached', '[{"mode":"review"}]')));
	is( $late->query(
			"SELECT * FROM approval.consume('$approved[1]{id}', 'cached', '{}', 'r')"
		)->verdict,
		'PT412 policy_changed',
		'nor at consume');
	$late->close;

	# what is rolled back was never policy
	$root->run('BEGIN');
	$root->run(
		q(SELECT approval.update_tool('cached', '{"rules":[{"mode":"auto"}]}'))
	);
	$root->run('SAVEPOINT s');
	$root->run(q(SELECT approval.set_rules('cached', '[{"mode":"deny"}]')));
	is( $root->run("SELECT mode FROM approval.explain('cached', '{}')")
		  ->value,
		'deny', 'a change is seen in its own transaction');
	$root->run('ROLLBACK TO s');
	is( $root->run("SELECT mode FROM approval.explain('cached', '{}')")
		  ->value,
		'auto', 'not after its savepoint was rolled back');
	is($agents[1]->run(propose_sql('cached', '{}'))->record->{mode},
		'review', 'nor by anybody else');
	$root->run('ROLLBACK');
	is( $root->run("SELECT mode FROM approval.explain('cached', '{}')")
		  ->value,
		'review', 'nor after all of it was');
	$_->close for @agents, @runners;
}

is_deeply([ verify_all($root) ], [], 'every chain is whole');
is($root->run('SELECT ok FROM approval.verify_policy()')->value,
	't', 'that of policy too');

# The extension made anew under a session that keeps the old registry.
$root->run('DROP EXTENSION approval');
$root->run('CREATE EXTENSION approval');
$root->run("SELECT approval.register_login('agent', 'service', 'agent:bot')");
is( $agent->run(propose_sql('pay', '{"amount":1,"customer":"x"}'))
	  ->record->{gate_reason},
	'unknown_tool',
	'made anew: the old tools are gone');
$root->run(
	q(SELECT approval.register_tool('pay', 'action', '{"default_mode":"deny"}'))
);
is( $agent->run(propose_sql('pay', '{"amount":2,"customer":"x"}'))
	  ->record->{mode},
	'deny',
	'and the new ones hold');

done_testing();
