# Runs when their orchestrator dies, when many call at once, and when the server
# goes down in between.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $CALLERS = 16;
my $BUDGET = 8;
my $STEPS = 10_000;

my $node = new_node('runs', preload => 1, conf => "max_connections = 100\n");
$node->start;
my $root = install_gate($node);
my ($agent, $alice, $runner) =
  map { Wire->new($node, user => $_) } qw(agent alice runner);

# A run that is started and claimed: its id and token.
sub claimed_run
{
	my ($run, %opts) = @_;
	my $budget = $opts{budget} ? ", max_iterations => $opts{budget}" : '';

	$agent->run(
		"SELECT * FROM approval.start_run('conv $run', '$run'$budget)");
	return ($run, claim($agent, $run, $opts{lease})->{token});
}

sub claim
{
	my ($s, $run, $lease) = @_;

	$lease = defined $lease ? ", lease => '$lease'" : '';
	return $s->run("SELECT * FROM approval.claim_run('$run'$lease)")->record;
}

sub call_in
{
	my ($s, $run, $token) = @_;

	return propose_one($s,
		more =>
		  "conversation_id => 'conv $run', run_id => '$run', run_token => '$token'"
	);
}

# What each of many sessions was told, and how often.
sub all_at_once
{
	my ($sessions, $sql) = @_;
	my %told;

	$_->start(ref $sql ? $sql->() : $sql) for @$sessions;
	$told{ $_->finish->verdict }++ for @$sessions;
	return \%told;
}

sub sessions
{
	my ($user, $count) = @_;

	return map { Wire->new($node, user => $user) } 1 .. $count;
}

# Eight iterations are eight.
{
	my ($run, $token) = claimed_run('budget', budget => $BUDGET);
	my @callers = sessions('agent', $CALLERS);
	my %status;

	for (1 .. 3)
	{
		$_->start(
			"SELECT status FROM approval.next_iteration('$run', '$token')")
		  for @callers;
		for (@callers)
		{
			my $answer = $_->finish;

			$status{ $answer->error ? $answer->verdict : $answer->value }++;
		}
	}
	is_deeply(
		\%status,
		{
			running => $BUDGET,
			iteration_limit_reached => 1,
			'PT422 iteration_limit' => 3 * $CALLERS - $BUDGET - 1
		},
		"$BUDGET iterations, one call that ends the run, and nothing after it"
	);
	is( $root->run(
			"SELECT status || ' ' || iterations FROM approval.runs WHERE run_id = '$run'"
		)->value,
		"iteration_limit_reached $BUDGET",
		'which is what is stored');
	$_->close for @callers;
}

# Parents and children at once: they spend one budget.
{
	my ($run, $token) = claimed_run('family', budget => 20);
	my @names = map { "child-$_" } 1 .. 4;
	my @tokens = map {
		$agent->run(
			"SELECT * FROM approval.start_run('conv $run', '$_', '$run', '$token')"
		);
		claim($agent, $_)->{token}
	} @names;
	my @callers = sessions('agent', $CALLERS);
	my $granted = 0;

	for my $round (1 .. 4)
	{
		for my $i (0 .. $#callers)
		{
			my ($name, $its) =
			  $i % 5 == 4
			  ? ($run, $token)
			  : ($names[ $i % 5 ], $tokens[ $i % 5 ]);

			$callers[$i]->start(
				"SELECT status FROM approval.next_iteration('$name', '$its')"
			);
		}
		for (@callers)
		{
			my $answer = $_->finish;

			$granted++
			  if !$answer->error && $answer->value eq 'running';
		}
	}
	is($granted, 20, 'parents and children together get what the parent has');
	is( $root->run(
			"SELECT sum(iterations) FROM approval.runs WHERE parent_run_id = '$run'"
		)->value + $root->run(
			"SELECT count(*) FROM approval.steps WHERE run_id = '$run' AND kind = 'iteration'"
		)->value,
		20,
		'and that is what the journal says');
	$_->close for @callers;
}

# Many start one conversation, many claim one run: one of them does.
{
	my @callers = sessions('agent', $CALLERS);
	my $told =
	  all_at_once(\@callers, "SELECT approval.start_run('one conversation')");

	is_deeply($told, { ok => 1, 'PT409 run_conflict' => $CALLERS - 1 },
		'one live run');
	$told =
	  all_at_once(\@callers,
		"SELECT approval.start_run('another', 'the same')");
	is_deeply($told, { ok => $CALLERS },
		'the same run again is the same run');
	$told = all_at_once(\@callers, "SELECT approval.claim_run('the same')");
	is_deeply(
		$told,
		{ ok => 1, 'PT409 run_claimed' => $CALLERS - 1 },
		'one orchestrator');
	$_->close for @callers;
}

# Starts that wait for each other reckon with what the one before has spent.
{
	$root->run(
		"SELECT approval.register_login('chief', 'person', 'user:chief')");
	Wire->new($node, user => 'chief')
	  ->run("SELECT approval.set_run_limits('{\"iterations_per_day\":4}')");
	my ($one, $two) = sessions('agent', 2);

	$root->run('ALTER ROLE agent SET approval.commit_first = off');
	my $slow = Wire->new($node, user => 'agent');
	$slow->run('BEGIN');
	$slow->run("SELECT approval.start_run('day', 'day-1')");
	my $its = claim($slow, 'day-1')->{token};
	$slow->run("SELECT approval.next_iteration('day-1', '$its')") for 1 .. 3;
	$slow->run("SELECT approval.complete_run('day-1', '$its', 'done')");
	$one->start("SELECT * FROM approval.start_run('day', 'day-2')");
	select(undef, undef, undef, 0.2);
	$slow->run('COMMIT');
	is($one->finish->record->{max_iterations},
		1, 'what is left of the day is reckoned when it is one\'s turn');
	$root->run('ALTER ROLE agent RESET approval.commit_first');
	Wire->new($node, user => 'chief')
	  ->run("SELECT approval.set_run_limits('{}')");

	# What was counted is not rolled back.
	my ($run, $token) = claimed_run('firm', budget => 2);
	$two->run('BEGIN');
	is( $two->query(
			"SELECT status FROM approval.next_iteration('$run', '$token')")
		  ->verdict,
		'PT422 commit_first',
		'no iteration in a transaction block');
	$two->run('ROLLBACK');
	is( $two->query(
			"SELECT status FROM approval.next_iteration('$run', '$token'), generate_series(1, 3)"
		)->verdict,
		'PT422 commit_first',
		'nor in a statement that does more');
	is( $root->run(
			"SELECT iterations FROM approval.runs WHERE run_id = '$run'")
		  ->value,
		0,
		'so none was spent');
	$_->close for $one, $two, $slow;
}

# A transaction with an old snapshot ends nothing that it does not see.
{
	my ($run, $token) = claimed_run('old');
	my $old = Wire->new($node, user => 'agent');

	$old->run('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$old->run('SELECT count(*) FROM pg_class');
	$agent->run(
		"SELECT approval.start_run('conv $run', 'new', '$run', '$token')");
	my $child = claim($agent, 'new')->{token};
	is( $old->query("SELECT approval.fail_run('$run', '$token', 'x')")
		  ->sqlstate,
		'40001', 'a run below that it cannot see');
	$old->run('ROLLBACK');
	$old->run('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$old->run('SELECT count(*) FROM pg_class');
	$alice->run("SELECT approval.cancel_run('$run')");
	is( $old->query(
			"SELECT approval.record_step('new', '$child', 's', 'note')")
		  ->verdict,
		'PT409 run_ended',
		'nor does it record for a run that has ended meanwhile');
	$old->run('ROLLBACK');
	$old->close;
}

# A loop that hangs in an open transaction makes nobody wait for ever, and what
# was given up does not happen afterwards.
{
	my ($run, $token) = claimed_run('hung', lease => '1 us');

	$root->run("ALTER ROLE agent SET approval.turn_wait = '100 ms'");
	$root->run("ALTER ROLE alice SET approval.turn_wait = '100 ms'");
	my $hung = Wire->new($node, user => 'agent');
	my ($other, $stops) =
	  (Wire->new($node, user => 'agent'), Wire->new($node, user => 'alice'));
	$token = claim($other, $run)->{token};
	$hung->run('BEGIN');
	call_in($hung, $run, $token);
	is( $other->query("SELECT approval.claim_run('$run', token => '$token')")
		  ->verdict,
		'PT409 run_claimed',
		'a claim is refused after a while');
	my $refused = $stops->query("SELECT approval.cancel_run('$run')");
	is( $refused->verdict,
		'PT409 run_claimed',
		'a run with an open transaction');
	is( $refused->detail->{problem},
		'a transaction that works on the run is open',
		'DETAIL says so');
	$hung->run('COMMIT');
	is($agent->run("SELECT status FROM approval.run_of('$run')")->value,
		'awaiting_approval', 'nothing comes late');
	is( $stops->run("SELECT status FROM approval.cancel_run('$run')")->value,
		'cancelled', 'then it can be stopped');
	$root->run("ALTER ROLE $_ RESET approval.turn_wait") for qw(agent alice);
	$_->close for $hung, $other, $stops;
}

# The same callback, in parallel; then another.
{
	my ($run, $token) = claimed_run('callback');
	my $secret = $agent->run(
		"SELECT secret FROM approval.attach_handle('$run', '$token', 'n8n', 'exec-1')"
	)->value;
	my @callers = sessions('runner', 5);
	my $sql =
	  "SELECT approval.callback('n8n', 'exec-1', '$secret', %s, '{\"n\":1}', 'delivery-1')";

	is_deeply(
		all_at_once(\@callers, sprintf($sql, "'succeeded'")),
		{ ok => 5 },
		'five times the same report: no error');
	is( $root->run(
			"SELECT count(*) FROM approval.steps WHERE run_id = '$run' AND kind = 'callback'"
		)->value,
		1,
		'applied once');
	is_deeply(
		all_at_once(\@callers, sprintf($sql, "'failed'")),
		{ 'PT409 outcome_conflict' => 5 },
		'another outcome is a conflict');

	my $secret2 = $agent->run(
		"SELECT secret FROM approval.attach_handle('$run', '$token', 'n8n', 'exec-2')"
	)->value;
	my $n = 0;
	my $told = all_at_once(
		\@callers,
		sub {
			sprintf
			  "SELECT approval.callback('n8n', 'exec-2', '$secret2', '%s')",
			  $n++ % 2 ? 'failed' : 'succeeded';
		});

	is($told->{ok} + $told->{'PT409 outcome_conflict'},
		5, 'two reports at once: one outcome, and conflicts');
	is( $root->run(
			"SELECT count(*) FROM approval.steps WHERE name = 'exec-2' AND kind = 'callback'"
		)->value,
		1,
		'one is applied');
	$_->close for @callers;
}

# Its orchestrator is killed with calls in every state; another goes on.
sub kill_orchestrator
{
	my ($run, $token) = @_;
	my $pid = fork // die "fork: $!";

	if ($pid == 0)
	{
		my $s = Wire->new($node, user => 'agent');

		# in the middle of a proposal that is never committed
		$s->run("SET application_name = 'doomed'");
		$s->run('BEGIN');
		call_in($s, $run, $token);
		sleep 1 while 1;
	}
	wait_for(
		$root,
		"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'doomed' AND state = 'idle in transaction'",
		1,
		'the orchestrator is at work');
	kill 'KILL', $pid;
	waitpid $pid, 0;
	wait_for(
		$root,
		"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'doomed'",
		0,
		'and dead');
}

{
	my ($run, $token) = claimed_run('killed', lease => '3 s');
	my %call = map { $_ => call_in($agent, $run, $token) }
	  qw(waiting approved executing executed rejected);
	my %permit;

	$alice->run(decide_sql($call{$_}, 'approve'))
	  for qw(approved executing executed);
	$alice->run(decide_sql($call{rejected}, 'reject', "result => 'no'"));
	$permit{$_} =
	  $runner->run('SELECT * FROM ' . consume_sql($call{$_}))->record
	  for qw(executing executed);
	$runner->run(
		"SELECT approval.complete('$call{executed}{id}', 'run-1', '$permit{executed}{token}', 'succeeded', '{\"ok\":1}')"
	);
	kill_orchestrator($run, $token);

	my $second = Wire->new($node, user => 'agent');
	my $early = $second->query("SELECT approval.claim_run('$run')");
	is( $early->verdict,
		'PT409 run_claimed',
		'before the lease is over it is not to be had');
	wait_past($root, $early->detail->{lease_until});
	my $claim = claim($second, $run);
	is($claim->{fence}, 2, 'then another one claims it');
	is( $agent->query("SELECT approval.next_iteration('$run', '$token')")
		  ->verdict,
		'PT409 run_claimed',
		'and the first is fenced off');
	my %seen =
	  map { $_->[0] => $_->[1] } @{
		$second->run(
			"SELECT id, concat_ws(' ', status, outcome, verdict, result::text) FROM approval.outcomes('conv $run', '$run')"
		)->{rows}
	  };
	is_deeply(
		\%seen,
		{
			$call{waiting}{id} => 'pending',
			$call{approved}{id} => 'approved approve',
			$call{executing}{id} => 'consumed in_flight approve',
			$call{executed}{id} => 'consumed succeeded approve {"ok":1}',
			$call{rejected}{id} => 'rejected reject'
		},
		'it sees what was decided, executed or is open, and nothing else');
	is( propose_one(
			$second,
			call => $call{approved}{tool_call_id},
			more =>
			  "conversation_id => 'conv $run', run_id => '$run', run_token => '$claim->{token}'"
		)->{id},
		$call{approved}{id},
		'a call that it asks for again is the same call');
	$alice->run(decide_sql($call{waiting}, 'approve'));
	is( $second->run(
			"SELECT status FROM approval.next_iteration('$run', '$claim->{token}')"
		)->value,
		'running',
		'it goes on');
	is_deeply([ verify_all($root) ], [], 'all chains are whole');
}

# The channel of a run: a decision and a deadline ring, by the worker.
{
	my ($run, $token) = claimed_run('bell');
	my $listener = Wire->new($node, user => 'agent');
	my $channel =
	  $listener->run("SELECT approval.channel('run', '$run')")->value;

	like($channel, qr/^approval_r_[0-9a-f]{32}$/, 'a channel of the run');
	$listener->run("LISTEN $channel");
	my %rang;
	my $listen = sub {
		$rang{$_}++
		  for map { JSON::PP->new->decode($_->[1])->{event} }
		  grep { $_->[0] eq $channel } $listener->notifications;
	};
	my $heard = sub {
		my ($event) = @_;

		for (1 .. 15_000)
		{
			$listen->();
			last if $rang{$event};
			select(undef, undef, undef, 0.02);
		}
		ok($rang{$event}, "$event rings");
	};
	my $status = sub {
		$agent->run("SELECT status FROM approval.run_of('$run')")->value;
	};
	my $call = call_in($agent, $run, $token);
	is($status->(), 'awaiting_approval', 'it waits');
	$heard->('proposed');
	$alice->run(decide_sql($call, 'approve'));
	is($status->(), 'running', 'it is decided');
	$heard->('approved');
	$root->run("ALTER ROLE agent SET approval.min_decide_within = '1 s'");
	my $hasty = Wire->new($node, user => 'agent');
	propose_one($hasty,
		more =>
		  "conversation_id => 'conv $run', run_id => '$run', run_token => '$token', expires_in => '1 s'"
	);
	is($status->(), 'awaiting_approval', 'it waits again');
	$heard->('expired');
	is($status->(), 'running', 'and goes on after the deadline');
	$agent->run("SELECT approval.release_run('$run', '$token')");
	$listen->();
	is($rang{released}, undef, 'a release while a call is open is silent');
	$alice->run("SELECT approval.revoke('$call->{id}')");
	$token = claim($agent, $run)->{token};
	$agent->run("SELECT approval.release_run('$run', '$token')");
	$heard->('released');
	$token = claim($agent, $run)->{token};
	my $secret = $agent->run(
		"SELECT secret FROM approval.attach_handle('$run', '$token', 'n8n', 'bell')"
	)->value;
	$runner->run(
		"SELECT approval.callback('n8n', 'bell', '$secret', 'failed')");
	$heard->('callback');
	$alice->run("SELECT approval.cancel_run('$run')");
	$heard->('cancelled');
}

# Ten thousand steps of several sessions, and a crash among them.
{
	my ($run, $token) = claimed_run('long');
	my $writers = 8;
	my @acknowledged = (0) x $writers;
	my @asked = (0) x $writers;
	my $total = sub { my $t = 0; $t += $_ for @acknowledged; $t };

	# Until so many are there; then, if so wanted, the server goes down while
	# the other writers wait for an answer.
	my $record = sub {
		my ($until, $crash) = @_;
		my @sessions = sessions('agent', $writers);
		my %busy;
		my $send = sub {
			my ($i) = @_;

			$asked[$i] = $acknowledged[$i] + 1;
			$busy{$i} = 1;
			$sessions[$i]->start(
				"SELECT approval.record_step('$run', '$token', 'writer $i', 'note', '{\"n\":$asked[$i]}', input_tokens => 1)"
			);
		};

		$send->($_) for 0 .. $#sessions;
		while (%busy)
		{
			for my $i (sort keys %busy)
			{
				my $answer = $sessions[$i]->finish;

				delete $busy{$i};
				next if $answer->{lost} || $answer->error;
				$acknowledged[$i] = $asked[$i];
				if ($crash && $total->() >= $until)
				{
					$node->stop('immediate');
					$crash = $until = 0;
				}
				$send->($i) if $total->() + keys %busy < $until;
			}
		}
	};

	$record->($STEPS / 2, 1);
	$node->start;
	$root = Wire->new($node);

	# what had been sent when the server went down may be there
	my %stored =
	  map { $_->[0] => $_->[1] } @{
		$root->run(
			"SELECT substr(system, 8), max((detail ->> 'n')::int) FROM approval.steps WHERE run_id = '$run' AND system LIKE 'writer%' GROUP BY 1"
		)->{rows}
	  };
	ok( !(  grep {
				$stored{$_} != $acknowledged[$_] && $stored{$_} != $asked[$_]
			} 0 .. $writers - 1),
		'after the crash: every step that was acknowledged, and at most one more of each writer'
	);
	$acknowledged[$_] = $stored{$_} for 0 .. $writers - 1;
	$record->($STEPS);
	$agent = Wire->new($node, user => 'agent');
	my $trace = $agent->run(
		"SELECT seq, system, detail ->> 'n', at FROM approval.trace('$run') WHERE system LIKE 'writer%'"
	)->{rows};
	my %n = map { ("writer $_" => 0) } 0 .. $writers - 1;
	my ($last, $disorder, $gaps) = (0, 0, 0);

	for (@$trace)
	{
		$disorder++ if $_->[0] <= $last;
		$last = $_->[0];
		$gaps++ if $_->[2] != ++$n{ $_->[1] };
	}
	is(scalar @$trace, $STEPS, "$STEPS steps");
	is($disorder, 0, 'in the order of their numbers');
	is($gaps, 0, 'each writer\'s own in the order in which it wrote them');
	is( $agent->run("SELECT input_tokens FROM approval.run_of('$run')")
		  ->value,
		$STEPS, 'and counted once each');
}

done_testing();
