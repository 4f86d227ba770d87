# Budgets and grants when a server dies in the middle of a crowd, and approvals
# lapse under the hands of who uses them.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $SESSIONS = 32;

my $node = new_node('policy_crash',
	conf =>
	  "max_connections = 120\nmax_prepared_transactions = 10\napproval.turn_wait = 60000\n"
);
$node->start;
my $root = install_gate($node);
$root->run("SELECT approval.register_login('chief', 'person', 'user:chief')");
my $chief = Wire->new($node, user => 'chief');
my $calls = 0;

sub sessions
{
	my ($user, $count) = @_;

	return map { Wire->new($node, user => $user) } 1 .. $count;
}

sub register
{
	my ($tool, $options) = @_;

	$chief->run("SELECT approval.register_tool('$tool', 'action', "
		  . literal($options)
		  . ')');
}

sub propose_sql
{
	my ($tool, $arguments) = @_;

	return
		"SELECT id, mode, gate_reason FROM approval.propose('c"
	  . $calls++
	  . "', '$tool', '$arguments')";
}

sub value { return $root->run($_[0])->value }

# What counts against a budget of a tool, by its requests and by its entries.
sub taken
{
	my ($tool, $budget) = @_;
	my $by_requests = value(
		"SELECT coalesce(sum((arguments ->> 'amount')::int), 0) FROM approval.requests"
		  . " WHERE tool = '$tool' AND mode = 'auto' AND gate_reason <> 'grant'"
		  . " AND (status = 'consumed' OR (status = 'approved' AND use_by > clock_timestamp()))"
	);
	my $by_entries = value(
		"SELECT coalesce(sum(amount), 0)::int FROM approval.budget_entries"
		  . " WHERE tool = '$tool' AND budget = '$budget' AND released_at IS NULL"
		  . " AND (consumed_at IS NOT NULL OR use_by > clock_timestamp())");

	return ($by_requests, $by_entries);
}

register('pay',
	'{"default_mode":"auto","budgets":[{"name":"day","amount":"$.amount","key":"$.customer","limit":700,"ceiling":2500,"within":"1 day"},'
	  . '{"name":"calls","limit":1700,"within":"1 day"}]}');
register('gift', '{"default_mode":"review"}');

# Every session has many statements before it when the server dies; how many
# were answered.
sub crash
{
	my @agents = sessions('agent', $SESSIONS);
	my @runners = sessions('runner', 8);
	my @ready = map { $_->[0] } @{
		$root->run(
			"SELECT id FROM approval.requests WHERE tool = 'pay' AND status = 'approved' AND random() < 0.3"
		)->{rows}
	};
	my $queue = sub { $_[0]->message('Q', "$_[1]\0") };
	my $answered = 0;

	for my $n (1 .. 20)
	{
		for my $i (0 .. $#agents)
		{
			my $sql =
			  $i % 8 == 7
			  ? propose_sql('gift', '{}')
			  : propose_sql(
				'pay',
				sprintf(
					'{"amount":%d,"customer":"c%d"}',
					1 + int(rand 3),
					int(rand 5)));

			$queue->(
				$agents[$i],
				$n % 5 == 0 ? "BEGIN; $sql; ROLLBACK"
				: $n % 5 == 1
				? "SELECT (approval.cancel(p.id)).status FROM ($sql) p WHERE p.mode = 'auto'"
				: $n % 5 == 2
				? "BEGIN; SAVEPOINT s; $sql; ROLLBACK TO s; COMMIT"
				: $sql);
		}

	}

	# two for each request
	for my $n (0 .. $#ready)
	{
		$queue->($runners[ ($n + $_) % 8 ], "SELECT use_it('$ready[$n]')")
		  for 0, 1;
	}
	$_->flush for @agents, @runners;
	select(undef, undef, undef, 0.2 + rand 0.3);
	$node->stop('immediate');
	for my $session (@agents, @runners)
	{
		while (my $result = eval { $session->finish })
		{
			last if $result->{lost} || !$result->{status};
			$answered++;
		}
	}
	$node->start;
	$root = Wire->new($node);
	$chief = Wire->new($node, user => 'chief');
	return $answered;
}

# Uses a request as it was proposed.
$root->run(<<'SQL');
ALTER ROLE runner SET approval.commit_first = off;
CREATE FUNCTION use_it(wanted text) RETURNS text LANGUAGE sql
RETURN (SELECT coalesce(t.reason, 'ok')
	FROM approval.history h, approval.try_consume(h.id, h.tool, h.arguments, 'r') t WHERE h.id = wanted);
SQL
my $grant = $chief->run(
	q(SELECT after ->> 'id' FROM approval.allow('gift', 'agent', now() + interval '1 hour', 9))
)->value;

for my $crash (1 .. 6)
{
	my $answered = crash();
	my ($requests, $entries) = taken('pay', 'day');

	is($entries, $requests,
		"crash $crash ($answered answered): what is reserved is what requests took"
	);
	cmp_ok($requests, '<=', 2500, "crash $crash: $requests of 2500");
	is( value(
			"SELECT count(*) FROM (SELECT FROM approval.budget_entries WHERE tool = 'pay' AND budget = 'day' AND released_at IS NULL GROUP BY key HAVING sum(amount) > 700) x"
		),
		0,
		"crash $crash: each customer's part");
	is( value(
			"SELECT count(*) FROM approval.budget_entries b WHERE NOT EXISTS (SELECT FROM approval.requests r WHERE (r.tenant, r.id) = (b.tenant, b.request_id))"
		),
		0,
		"crash $crash: no entry without a request");
	is( value(
			"SELECT count(*) FROM approval.requests r WHERE r.tool = 'pay' AND r.mode = 'auto' AND r.reserved IS DISTINCT FROM (SELECT count(*)::int FROM approval.budget_entries b WHERE (r.tenant, r.id) = (b.tenant, b.request_id))"
		),
		0,
		"crash $crash: no request without its entries");
	cmp_ok(
		value(
			"SELECT count(*) FROM approval.requests WHERE grant_id = '$grant'"
		),
		'<=', 9,
		"crash $crash: the grant");
	is( Wire->new($node, user => 'agent')->run(
			propose_sql('pay', qq({"amount":1,"customer":"after$crash"}))
		)->record->{mode},
		'auto',
		"crash $crash: proposals work");
}

# Afterwards all of it can be used up, to the last unit.
{
	my $agent = Wire->new($node, user => 'agent');

	$agent->run(
		"SELECT approval.cancel(id) FROM approval.history WHERE tool = 'pay' AND status = 'approved'"
	);
	my ($used) = taken('pay', 'day');
	my @agents = sessions('agent', $SESSIONS);
	my $won = 0;

	note "$used used by consumption";
	while (1)
	{
		my $wins = 0;

		$agents[$_]
		  ->start(propose_sql('pay', qq({"amount":1,"customer":"last$_"})))
		  for 0 .. $#agents;
		$wins += $_->finish->record->{mode} eq 'auto' for @agents;
		$won  += $wins;
		last if $wins < @agents;
	}
	my ($all, $entries) = taken('pay', 'day');
	my $calls_left =
	  value(
		"SELECT count(*) FROM approval.budget_entries WHERE tool = 'pay' AND budget = 'calls' AND released_at IS NULL"
	  );

	ok($all == 2500 || $calls_left == 1700,
		"used up: $all of 2500, $calls_left of 1700 calls");
	is($entries, $all, 'entries and requests agree');
	$_->start(propose_sql('gift', '{}')) for @agents;
	$_->finish for @agents;
	is( value(
			"SELECT count(*) FROM approval.requests WHERE grant_id = '$grant'"
		),
		9,
		'and the grant: nine uses in all');
	$_->close for $agent, @agents;
}

# A prepared transaction holds its turn and its part across a crash.
{
	my ($holder, $other) = sessions('agent', 2);

	register('slow',
		'{"default_mode":"auto","budgets":[{"name":"b","limit":1,"within":"1 day"}]}'
	);
	$root->run("ALTER ROLE agent SET approval.notify = 'off'");
	$root->run("ALTER ROLE agent SET approval.turn_wait = '200ms'");
	for my $end ('COMMIT', 'ROLLBACK')
	{
		$holder = Wire->new($node, user => 'agent');
		$holder->run('BEGIN');
		is($holder->run(propose_sql('slow', '{}'))->record->{mode},
			'auto', "$end PREPARED: proposed");
		$holder->run("PREPARE TRANSACTION 'slow'");
		$node->stop('immediate');
		$node->start;
		$root = Wire->new($node);
		$chief = Wire->new($node, user => 'chief');
		$other = Wire->new($node, user => 'agent');
		is($other->run(propose_sql('slow', '{}'))->record->{gate_reason},
			'budget_busy', "$end PREPARED: held across a crash");
		$root->run("$end PREPARED 'slow'");
		is( $other->run(propose_sql('slow', '{}'))->record->{gate_reason},
			$end eq 'COMMIT' ? 'budget_exceeded' : 'default',
			"$end PREPARED: and then not");
		$other->run(
			"SELECT approval.cancel(id) FROM approval.history WHERE tool = 'slow' AND status = 'approved'"
		);
	}
	$root->run('ALTER ROLE agent RESET ALL');
}

# Approvals that lapse while others would use them: what lapsed is free again,
# and what is used was not.
{
	my $limit = 40;

	register('brief',
		qq({"default_mode":"auto","use_within":"1 second","budgets":[{"name":"b","amount":"\$.amount","limit":$limit,"within":"1 day"}]})
	);
	my @agents = sessions('agent', 12);
	my @runners = sessions('runner', 6);
	my $until = time + 8;
	my ($over, $auto, %said) = (0, 0);

	while (time < $until)
	{
		# at the end of their time, and behind it
		my @ready = @{
			$root->run(
				"SELECT id FROM approval.requests WHERE tool = 'brief' AND status = 'approved' AND use_by BETWEEN clock_timestamp() - interval '50 ms' AND clock_timestamp() + interval '50 ms' AND random() < 0.2 LIMIT 6"
			)->{rows}
		};

		$_->start(propose_sql('brief', '{"amount":1}')) for @agents;
		$runners[$_]->start("SELECT use_it('$ready[$_][0]')")
		  for 0 .. $#ready;
		$auto += $_->finish->record->{mode} eq 'auto' for @agents;
		$said{ $_->finish->value }++ for @runners[ 0 .. $#ready ];
		$over++ if (taken('brief', 'b'))[0] > $limit;
		$root->run('SELECT approval.expire_due()') if rand() < 0.05;
	}
	is($over, 0, 'never more than the limit, whatever lapses');
	cmp_ok($auto, '>', $limit, "what lapsed was given again: $auto");
	note join ', ', map { "$said{$_} $_" } sort keys %said;
	select(undef, undef, undef, 1.1);
	my ($requests, $entries) = taken('brief', 'b');
	is($requests, $said{ok} // 0, 'what was used stays taken');
	is($entries, $requests, 'and nothing else');
	$_->close for @agents, @runners;
}

# Quotas: each session may pass them by a sixteenth.
{
	my $quota = 320;

	register('wait', '{"default_mode":"review"}');
	$root->run("ALTER ROLE agent SET approval.quota_login = 0");
	$root->run("ALTER ROLE agent SET approval.quota_tenant = 0");
	$root->run("ALTER ROLE agent SET approval.quota_conversation = $quota");
	my @agents = sessions('agent', 8);
	my %said;

	for my $round (1 .. 70)
	{
		$_->start("SELECT mode FROM approval.propose('c"
			  . $calls++
			  . "', 'wait', '{}', conversation_id => 'talk')")
		  for @agents;
		$said{ $_->finish->verdict }++ for @agents;
	}
	is(join(' ', sort keys %said), 'PT429 quota ok', 'a quota ends it');
	cmp_ok($said{ok}, '>=', $quota, "$said{ok} wait");
	cmp_ok(
		$said{ok}, '<=',
		$quota + 8 * $quota / 16,
		'a sixteenth for each session');
	$_->close for @agents;
	$root->run('ALTER ROLE agent RESET ALL');
}

is_deeply([ verify_all($root) ], [], 'every chain is whole');
done_testing();
