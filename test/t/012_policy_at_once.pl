# A change of policy holds at once: for sessions that keep the registry in
# memory, in whatever state they are, and for verbs that have been waiting.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('at_once',
	conf => "max_connections = 120\nmax_prepared_transactions = 10\n");
$node->start;
my $root = install_gate($node);
$root->run('ALTER ROLE runner SET approval.commit_first = off');
$root->run('ALTER ROLE agent SET approval.turn_wait = 60000');
$root->run(
	"SELECT approval.register_login('chief', 'person', 'user:chief', '{*}')");
my $chief = Wire->new($node, user => 'chief');
my $agent = Wire->new($node, user => 'agent');
my $calls = 0;

sub sessions
{
	my ($user, $count) = @_;

	return map { Wire->new($node, user => $user) } 1 .. $count;
}

sub propose_sql
{
	my ($tool, $arguments) = @_;

	$arguments //= '{}';
	return
	  "SELECT id, mode, gate_reason, policy_version FROM approval.propose('c"
	  . $calls++
	  . "', '$tool', '$arguments')";
}

sub try_sql
{
	my ($request, $tool) = @_;

	return
	  "SELECT coalesce(reason, 'ok') FROM approval.try_consume('$request->{id}', '$tool', '{}', 'r')";
}

# What came of a proposal: its mode, or why it was refused.
sub came_of
{
	my ($result) = @_;

	return $result->sqlstate
	  ? $result->detail->{reason} // $result->sqlstate
	  : $result->record->{mode};
}

sub change
{
	my ($call) = @_;

	$chief->run("SELECT approval.$call");
}

# Waits until a session waits for its turn at a budget.
sub wait_turn
{
	my ($session) = @_;

	select(undef, undef, undef, 0.01)
	  until $root->run(
		"SELECT coalesce(wait_event_type, '') = 'Extension' FROM pg_stat_activity WHERE pid = $session->{pid}"
	)->value eq 't';
}

# What is rolled back was never policy, in the session that made it neither.
# root administers and proposes.
{
	my $other = Wire->new($node, user => 'agent');
	my $register =
	  q(SELECT approval.register_tool('new', 'action', '{"default_mode":"auto"}'));
	my $unknown = sub {
		my ($session, $when) = @_;

		is($session->run(propose_sql('new'))->record->{gate_reason},
			'unknown_tool', $when);
	};

	$unknown->($_, 'a tool that nobody knows') for $root, $other;
	$root->run('BEGIN');
	$root->run($register);
	is($root->run(propose_sql('new'))->record->{mode},
		'auto', 'registered: known in its own transaction');
	$unknown->($other, 'not to others');
	$root->run('ROLLBACK');
	$unknown->($root, 'not after a rollback');

	$root->run('BEGIN');
	$root->run('SAVEPOINT s');
	$root->run($register);
	is($root->run(propose_sql('new'))->record->{mode},
		'auto', 'registered in a savepoint');
	$root->run('ROLLBACK TO s');
	$unknown->($root, 'not after that was rolled back');
	$root->run($register);
	$root->run('SAVEPOINT s2');
	$root->run(q(SELECT approval.set_rules('new', '[{"mode":"deny"}]')));
	is($root->run(propose_sql('new'))->record->{mode},
		'deny', 'rules in a savepoint');
	$root->run('ROLLBACK TO s2');
	is($root->run(propose_sql('new'))->record->{mode},
		'auto', 'the tool without them');
	$root->run('ROLLBACK');
	$unknown->($root, 'nothing of it');

	$root->run('BEGIN');
	$root->run($register);
	$root->run(propose_sql('new'));
	$root->query('SELECT 1 / 0');
	$root->run('ROLLBACK');
	$unknown->($root, 'not after an error');

	$root->run(
		"DO \$\$ BEGIN PERFORM ($register); RAISE 'no'; EXCEPTION WHEN OTHERS THEN NULL; END \$\$"
	);
	$unknown->($root, 'nor after an error that was caught');

	# two-phase
	$root->run('BEGIN');
	$root->run($register);
	$root->run("PREPARE TRANSACTION 'policy'");
	$unknown->($_, 'prepared is not committed') for $root, $other;
	$root->run("ROLLBACK PREPARED 'policy'");
	$unknown->($_, 'nor is it after ROLLBACK PREPARED') for $root, $other;
	$root->run('BEGIN');
	$root->run($register);
	$root->run("PREPARE TRANSACTION 'policy'");
	$root->run("COMMIT PREPARED 'policy'");
	is($_->run(propose_sql('new'))->record->{mode},
		'auto', 'COMMIT PREPARED is heard of')
	  for $root, $other;
	$root->run('BEGIN');
	$root->run("SELECT approval.freeze_tool('new')");
	$root->run("PREPARE TRANSACTION 'policy'");
	is(came_of($other->query(propose_sql('new'))),
		'auto', 'a freeze that is prepared');
	$root->run("COMMIT PREPARED 'policy'");
	is(came_of($other->query(propose_sql('new'))),
		'tool_frozen', 'and committed');
	$other->close;
}

# Sessions in every state; each has asked for the tool before.
my %states = (
	plain => {},
	prepared => {
		begin =>
		  "PREPARE p (text) AS SELECT id, mode, gate_reason FROM approval.propose(\$1, 'tool', '{}')",
		propose => sub { "EXECUTE p('c" . $calls++ . "')" },
		end => 'DEALLOCATE p'
	},
	function => {
		begin =>
		  "CREATE FUNCTION pg_temp.f(call text) RETURNS SETOF approval.request LANGUAGE plpgsql AS \$\$ BEGIN RETURN QUERY SELECT * FROM approval.propose(call, 'tool', '{}'); END \$\$",
		propose => sub {
			"SELECT id, mode, gate_reason FROM pg_temp.f('c"
			  . $calls++ . "')";
		},
		end => 'DROP FUNCTION pg_temp.f'
	},
	savepoint => { begin => 'BEGIN; SAVEPOINT s', end => 'ROLLBACK' },
	cursor => {
		begin =>
		  'BEGIN; DECLARE c CURSOR FOR SELECT id FROM approval.history; FETCH c',
		end => 'ROLLBACK'
	});
$states{$_} = { begin => "BEGIN ISOLATION LEVEL $_", end => 'ROLLBACK' }
  for 'read committed', 'repeatable read', 'serializable';

# [ change, what a proposal becomes, what consume says, back again ]
my @changes = (
	[
		"freeze_tool('tool')",
		tool_frozen => 'tool_frozen',
		"unfreeze_tool('tool')"
	],
	[ 'freeze_tenant()', tool_frozen => 'tool_frozen', 'unfreeze_tenant()' ],
	[
		"freeze_tool('tool', tenant => '*')",
		tool_frozen => 'tool_frozen',
		"unfreeze_tool('tool', tenant => '*')"
	],
	[
		"freeze_tenant(tenant => '*')",
		tool_frozen => 'tool_frozen',
		"unfreeze_tenant(tenant => '*')"
	],
	[
		"retire_tool('tool')",
		tool_retired => 'tool_retired',
		q(register_tool('tool', 'action', '{"default_mode":"auto"}'))
	],
	[
		q(set_rules('tool', '[{"mode":"deny"}]')),
		deny => 'policy_changed',
		"set_rules('tool', '[]')"
	],
	[
		q(set_rules('tool', '[{"mode":"review"}]')),
		review => 'policy_changed',
		"set_rules('tool', '[]')"
	],
	[
		q(update_tool('tool', '{"default_mode":"review"}')),
		review => 'policy_changed',
		q(update_tool('tool', '{"default_mode":"auto"}'))
	],
	[
		q(update_tool('tool', '{"definition":{"name":"tool"}}')),
		review => 'tool_changed',
		q(update_tool('tool', '{"definition":null}'))
	],
	[
		q(update_tool('tool', '{"executors":["somebody"]}')),
		auto => 'not_executor',
		q(update_tool('tool', '{"executors":null}'))
	],
	[
		q(register_tool('tool', 'action', '{"default_mode":"deny"}', tenant => '*')),
		deny => 'policy_changed',
		q(update_tool('tool', '{"default_mode":"auto"}', tenant => '*'))
	]);

change(q(register_tool('tool', 'action', '{"default_mode":"auto"}')));
{
	my @names = sort keys %states;
	my %agents = map { $_ => Wire->new($node, user => 'agent') } @names;
	my %runners = map { $_ => Wire->new($node, user => 'runner') } @names;
	my $propose = sub {
		($states{ $_[0] }{propose} // sub { propose_sql('tool') })->();
	};

	for my $change (@changes)
	{
		my ($do, $mode, $reason, $undo) = @$change;
		my (%request, %proposed, %consumed, %again);

		for my $name (@names)
		{
			$request{$name} = $agent->run(propose_sql('tool'))->record;
			$_->run($states{$name}{begin})
			  for grep { $states{$name}{begin} } $agents{$name};
			$runners{$name}->run($states{$name}{begin})
			  if ($states{$name}{begin} // '') =~ /^BEGIN/;
			$agents{$name}->run($propose->($name)) for 1 .. 7;

			# another request: refused, and the tool is known
			$runners{$name}->run(
				"SELECT reason FROM approval.try_consume('$request{$name}{id}', 'tool', '{\"x\":1}', 'r')"
			);
		}
		change($do);
		for my $name (@names)
		{
			$consumed{$name} =
			  $runners{$name}->run(try_sql($request{$name}, 'tool'))->value;
			$proposed{$name} =
			  came_of($agents{$name}->query($propose->($name)));
			$_->query($states{$name}{end})
			  for grep { $states{$name}{end} } $agents{$name};
			$runners{$name}->query('ROLLBACK');
		}
		is_deeply(
			\%proposed,
			{ map { $_ => $mode } @names },
			"$do: at once for proposals");
		is_deeply(
			\%consumed,
			{ map { $_ => $reason } @names },
			"$do: and for what was approved");
		change($undo);
		$again{$_} = came_of($agents{$_}->query(propose_sql('tool')))
		  for @names;
		is_deeply(
			\%again,
			{ map { $_ => 'auto' } @names },
			"$undo: as before");
	}
	$_->close for values %agents, values %runners;
}

# The gate is shut in the middle of a crowd: nobody who comes after is let in.
{
	my @before = (sessions('agent', 10), sessions('runner', 10));
	my @after = (sessions('agent', 10), sessions('runner', 10));
	my (%early, %late);

	for my $round (1 .. 25)
	{
		my @requests =
		  map { $agent->run(propose_sql('tool'))->record } 1 .. 20;
		my $go = sub {
			my ($session, $n) = @_;

			$session->start(
				$n < 10
				? propose_sql('tool')
				: "SELECT id FROM approval.consume('"
				  . shift(@requests)->{id}
				  . "', 'tool', '{}', 'r')");
		};

		$go->($before[$_], $_) for 0 .. $#before;
		change("freeze_tool('tool')");
		$go->($after[$_], $_)           for 0 .. $#after;
		$early{ $_->finish->verdict }++ for @before;
		$late{ $_->finish->verdict }++  for @after;
		change("unfreeze_tool('tool')");
	}
	is_deeply(
		\%late,
		{ 'PT403 tool_frozen' => 25 * @after },
		'who comes after a freeze is refused');
	is(join(' ', grep { !/^(ok|PT403 tool_frozen)$/ } keys %early),
		'', 'who came before is let in or refused');
	note "before the freeze: " . join ', ',
	  map { "$early{$_} $_" } sort keys %early;
	$_->close for @before, @after;
}

# Rules that change all the time: each proposal is under one version, that of
# its answer, and never under one that was gone when it began.
{
	my @agents = sessions('agent', 16);
	my $version = 0;
	my (%began, @stale, %modes);

	for my $round (1 .. 60)
	{
		my $mode = (qw(auto deny review))[ $round % 3 ];

		for my $i (0 .. $#agents)
		{
			$began{$i} = $version;
			$agents[$i]->start(propose_sql('tool'));
		}
		my $next = $chief->run(
			qq(SELECT policy_version FROM approval.set_rules('tool', '[{"mode":"$mode"}]'))
		)->value;
		for my $i (0 .. $#agents)
		{
			my $answer = $agents[$i]->finish->record;

			push @stale, "$answer->{policy_version} < $began{$i}"
			  if $answer->{policy_version} < $began{$i};
			$modes{ $answer->{mode} }++;
		}
		$version = $next;
	}
	is_deeply(\@stale, [], 'no proposal is under a policy that is gone');
	is( $root->run(
			"SELECT count(*) FROM approval.requests r JOIN approval.policy_events e USING (policy_version)"
			  . " WHERE r.tool = 'tool' AND e.verb = 'set_rules' AND e.after -> 'rules' -> 0 ->> 'mode' <> r.mode"
		)->value,
		0,
		'each has the mode of its version');
	note join ', ', map { "$modes{$_} $_" } sort keys %modes;
	change("set_rules('tool', '[]')");
	$_->close for @agents;
}

# Policy changes while a verb waits.
{
	my ($holder, $waiter) = sessions('agent', 2);
	my $runner = Wire->new($node, user => 'runner');
	my $warm = sub {
		$runner->run(
			"SELECT reason FROM approval.try_consume('$_[0]{id}', '$_[1]', '{\"x\":1}', 'r')"
		);
	};

	$_->pid for $runner, $waiter;
	for my $change ("freeze_tool('tool')", "retire_tool('tool')",
		q(set_rules('tool', '[{"mode":"deny"}]')))
	{
		my $request = $agent->run(propose_sql('tool'))->record;

		$warm->($request, 'tool');
		$holder->run('BEGIN');
		$holder->run("SELECT approval.cancel('$request->{id}')");
		$runner->start(try_sql($request, 'tool'));
		wait_blocked($root, $runner);
		change($change);
		$holder->run('ROLLBACK');
		like(
			$runner->finish->value,
			qr/^(tool_frozen|tool_retired|policy_changed)$/,
			"consume waited for the row, and meets $change");
		change("unfreeze_tool('tool')") if $change =~ /^freeze/;
		change(q(register_tool('tool', 'action', '{"default_mode":"auto"}')))
		  if $change =~ /^retire/;
	}
	change("set_rules('tool', '[]')");

	# the turn at a budget: what is approved by old rules is not used
	my $budget = q("budgets":[{"name":"b","limit":1000,"within":"1 day"}]);

	change(
		qq(register_tool('turns', 'action', '{"default_mode":"auto",$budget}'))
	);
	for my $change ([ "freeze_tool('turns')", 'tool_frozen' ],
		[ q(set_rules('turns', '[{"mode":"deny"}]')), 'policy_changed' ])
	{
		$waiter->run(propose_sql('turns'));
		$holder->run('BEGIN');
		$holder->run(propose_sql('turns'));
		$waiter->start(propose_sql('turns'));
		wait_turn($waiter);
		change($change->[0]);
		$holder->run('ROLLBACK');
		my $result = $waiter->finish;
		is(   $result->sqlstate                 ? $result->detail->{reason}
			: $result->record->{mode} eq 'deny' ? 'policy_changed'
			: $runner->run(try_sql($result->record, 'turns'))->value,
			$change->[1],
			"$change->[0] while a proposal waits for its turn: nothing is used"
		);
		change("unfreeze_tool('turns')") if $change->[0] =~ /^freeze/;
	}

	# a mode that is used at once
	change(
		qq(register_tool('lookup', 'knowledge', '{"default_mode":"inline",$budget}'))
	);
	$waiter->run(propose_sql('lookup'));
	$holder->run('BEGIN');
	$holder->run(propose_sql('lookup'));
	$waiter->start(propose_sql('lookup'));
	wait_turn($waiter);
	change("freeze_tool('lookup')");
	$holder->run('ROLLBACK');
	is(came_of($waiter->finish),
		'tool_frozen',
		'an inline call that waited for its turn meets a freeze');
	change("unfreeze_tool('lookup')");

	# and so one that waited for another with its tool call id
	change(
		q(register_tool('fetch', 'knowledge', '{"default_mode":"inline"}')));
	$waiter->run(propose_sql('fetch'));
	$holder->run('BEGIN');
	my $same = propose_sql('fetch');
	$holder->run($same);
	$waiter->start($same);
	wait_blocked($root, $waiter);
	change("freeze_tool('fetch')");
	$holder->run('ROLLBACK');
	is(came_of($waiter->finish),
		'tool_frozen', 'and one that waited for the same call');
	change("unfreeze_tool('fetch')");

	# grants: a rejection, a freeze and new rules while a use waits for its turn
	change(q(register_tool('gift', 'action', '{"default_mode":"review"}')));
	my $alice = Wire->new($node, user => 'alice');
	for my $end ('reject', "freeze_tool('gift')",
		q(update_tool('gift', '{"risk":"low"}')),
		'revoke_by', 'disallow')
	{
		my $pending =
		  $agent->run("SELECT id, review_hash FROM approval.propose('c"
			  . $calls++
			  . "', 'gift', '{}')")->record;
		my $grant = $chief->run(
			q(SELECT after ->> 'id' FROM approval.allow('gift', 'agent', now() + interval '1 hour', 5))
		)->value;

		$holder->run('BEGIN');
		is($holder->run(propose_sql('gift'))->record->{gate_reason},
			'grant', "$end: a grant is used");
		$waiter->start(propose_sql('gift'));
		wait_turn($waiter);
		if ($end eq 'reject')
		{
			$alice->run(decide_sql($pending, 'reject'));
		}
		elsif ($end eq 'revoke_by')
		{
			$alice->run("SELECT approval.revoke_by('user:chief')");
		}
		elsif ($end eq 'disallow')
		{
			change("disallow('$grant')");
		}
		else
		{
			change($end);
		}
		$holder->run('COMMIT');
		my $result = $waiter->finish;
		my $record = $result->record;
		ok( $result->sqlstate
			  || $record->{mode} eq 'review'
			  || $runner->run(try_sql($record, 'gift'))->value ne 'ok',
			"$end while another use waits for its turn: nothing comes of that"
		);
		change("unfreeze_tool('gift')") if $end =~ /^freeze/;
	}
	$_->close for $holder, $waiter, $runner, $alice;
}

# Who holds a turn and goes, and who waits and gives up.
{
	my ($holder, $waiter, $third) = sessions('agent', 3);

	$_->pid for $holder, $waiter;
	change("set_rules('turns', '[]')");
	$holder->run('BEGIN');
	$holder->run(propose_sql('turns'));
	$waiter->start(propose_sql('turns'));
	wait_turn($waiter);
	$root->run("SELECT pg_terminate_backend($holder->{pid})");
	is(came_of($waiter->finish), 'auto', 'the holder is gone: the next one');

	$holder = Wire->new($node, user => 'agent');
	$holder->run('BEGIN');
	$holder->run(propose_sql('turns'));
	$waiter->run("SET statement_timeout = '200ms'");
	is($waiter->query(propose_sql('turns'))->sqlstate,
		'57014', 'a wait can be cancelled');
	$waiter->run('RESET statement_timeout');
	$holder->run('COMMIT');
	is(came_of($third->query(propose_sql('turns'))),
		'auto', 'and has taken nothing');
	is(came_of($waiter->query(propose_sql('turns'))),
		'auto', 'the session goes on');

	# crosswise: no deadlock
	change(
		q(register_tool('turns2', 'action', '{"default_mode":"auto","budgets":[{"name":"b","limit":1000,"within":"1 day"}]}'))
	);
	$root->run('ALTER ROLE agent SET approval.turn_wait = 300');
	my ($one, $two) = sessions('agent', 2);
	$_->run('BEGIN') for $one, $two;
	$one->run(propose_sql('turns'));
	$two->run(propose_sql('turns2'));
	$one->start(propose_sql('turns2'));
	$two->start(propose_sql('turns'));
	is( join(' ', map { $_->finish->record->{gate_reason} } $one, $two),
		'budget_busy budget_busy',
		'two budgets crosswise: both go to a person');
	$_->run('COMMIT') for $one, $two;
	$_->close for $holder, $waiter, $third, $one, $two;
}

is_deeply([ verify_all($root) ], [], 'every chain is whole');
is( $chief->run(
		"SELECT count(*) FROM (VALUES ('policy'), ('freeze')) c(chain), (VALUES (''), ('*')) t(tenant), approval.verify_policy(chain, nullif(tenant, '')) v WHERE NOT v.ok"
	)->value,
	0,
	'those of policy too');

# The extension is made anew under sessions that keep all of it.
{
	my $alice = Wire->new($node, user => 'alice');
	my $runner = Wire->new($node, user => 'runner');
	my $round = sub {
		my ($when) = @_;
		my $request = propose_one($agent);
		my $permit;

		is($alice->run(decide_sql($request, 'approve'))->record->{status},
			'approved', "$when: approved");
		$permit =
		  $runner->run('SELECT * FROM ' . consume_sql($request))->record;
		is( $runner->run(
				"SELECT outcome FROM approval.complete('$request->{id}', 'run-1', '$permit->{token}', 'succeeded')"
			)->value,
			'succeeded',
			"$when: and used");
	};
	my $again = sub {
		gate_logins($root);
		$root->run(
			"SELECT approval.register_login('chief', 'person', 'user:chief', '{*}')"
		);
	};

	$round->('the old one');
	$root->run('BEGIN');
	$root->run('DROP EXTENSION approval');
	$root->run('ROLLBACK');
	change("freeze_tool('tool')");
	is(came_of($agent->query(propose_sql('tool'))),
		'tool_frozen', 'not dropped after all');
	for my $how ('in two transactions', 'in one')
	{
		$root->run('BEGIN') if $how eq 'in one';
		$root->run('DROP EXTENSION approval');
		$root->run('CREATE EXTENSION approval');
		$root->run('COMMIT') if $how eq 'in one';
		$again->();
		is($agent->run(propose_sql('tool'))->record->{gate_reason},
			'unknown_tool', "$how: no tool, and no freeze");
		change(q(register_tool('tool', 'action', '{"default_mode":"auto"}')));
		my $request = $agent->run(propose_sql('tool'))->record;
		is($request->{mode}, 'auto', "$how: a new one");
		is($runner->run(try_sql($request, 'tool'))->value,
			'ok', "$how: is used");
		change(q(update_tool('tool', '{"default_mode":"review"}')));
		change("allow('tool', 'agent', now() + interval '1 hour', 1)");
		is($agent->run(propose_sql('tool'))->record->{gate_reason},
			'grant', "$how: grants");
		$round->($how);
	}
}

done_testing();
