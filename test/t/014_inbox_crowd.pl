# Two reviewers in 16 sessions each work one inbox from both ends, with double
# clicks and against each other: every request is decided once, and whoever
# came too late is told who decided, and when.
#
# APPROVAL_SEED=N makes every session choose again as it did with that seed.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $REQUESTS = 200;
my $AGENTS = 8;
my $SESSIONS = 16;
my $PAGE = 50;
my @TOOLS = qw(refund mail deploy);
my @CONVERSATIONS = map { "thread-$_" } 1 .. 5;
my %END = (alice => 'oldest', bob => 'newest');
my %OTHER = (alice => 'bob', bob => 'alice');
my @RESULTS = ('Not this one.', 'Ask the customer first.');
my $SEED = $ENV{APPROVAL_SEED} // time % 100000 * 1000 + $$ % 1000;

note("APPROVAL_SEED=$SEED");

my $node = new_node('inbox_crowd', conf => "max_connections = 100\n");
$node->start;
my $root = install_gate($node);

# All at once: the agents do not wait for one answer before the next call.
sub propose_all
{
	my @agents = map { Wire->new($node, user => 'agent') } 1 .. $AGENTS;
	my @ids;

	for my $i (0 .. $REQUESTS - 1)
	{
		my $tool = $TOOLS[ $i % @TOOLS ];
		my $conversation = $CONVERSATIONS[ $i % @CONVERSATIONS ];

		$agents[ $i % @agents ]->start(
			"SELECT id FROM approval.propose('call-$i', '$tool', '{\"n\":$i}', '$conversation')"
		);
	}
	push @ids, $agents[ $_ % @agents ]->finish->value for 0 .. $REQUESTS - 1;
	$_->close for @agents;
	return sort map { $_ // 'none' } @ids;
}

# A session chooses by dice of its own: what it throws does not depend on how
# fast the others are.
sub dice
{
	my ($session, $sides) = @_;

	$session->{dice} = ($session->{dice} * 1103515245 + 12345) % 2**31;
	return int($session->{dice} / 2**31 * $sides);
}

sub open_reviewers
{
	my $n = 0;

	return map {
		{
			wire => Wire->new($node, user => $_),
			who => $_,
			dice => ($SEED * 1000 + $n++ * 7919) % 2**31,
			sent => [],
			after => ''
		}
	} map { ($_) x $SESSIONS } sort keys %END;
}

my @proposed = propose_all();
my @sessions = open_reviewers();

# What was told: verdicts that were accepted, and refusals.
my (@accepted, @refused, %unexpected);
my $tags = 0;
my $kept = 0;

sub send_statement
{
	my ($session, $statement) = @_;

	push @{ $session->{sent} }, $statement;
	$session->{wire}->start($statement->{sql});
}

sub is_idle { return !@{ $_[0]{sent} } }

sub page_statement
{
	my ($session) = @_;

	return {
		take => \&take_page,
		after => $session->{after},
		sql =>
		  "SELECT id, review_hash, tool, sort_key FROM approval.inbox_page('{}', '$session->{after}', $PAGE)"
	};
}

sub take_page
{
	my ($session, $statement, $answer) = @_;
	my @rows =
	  map {
		{ id => $_->[0], seen => $_->[1], tool => $_->[2], key => $_->[3] }
	  } @{ $answer->{rows} };

	return unexpected($statement, $answer) if $answer->error;
	$session->{done} = !@rows && $statement->{after} eq '';
	return if $session->{done};
	if ($END{ $session->{who} } eq 'oldest')
	{
		$session->{next} = choose($session, @rows);
		return;
	}

	# The newest are on the last page; where that is empty, on the one before.
	if (@rows == $PAGE)
	{
		$session->{after} = $rows[-1]{key};
		$session->{page} = \@rows;
		return;
	}
	@rows = @{ $session->{page} } unless @rows;
	$session->{after} = '';
	$session->{next} = choose($session, reverse @rows);
}

# What to do about one of the first of these rows, or a few of one tool.
sub choose
{
	my ($session, @rows) = @_;
	my $at = dice($session, @rows < 6 ? scalar @rows : 6);
	my $first = $rows[$at];
	my @same = grep { $_->{tool} eq $first->{tool} } @rows[ $at .. $#rows ];
	my $function =
	  (qw(decide decide try_decide decide_many try_decide_many))
	  [ dice($session, 5) ];
	my $count = $function =~ /many/ ? 2 + dice($session, 3) : 1;
	my @chosen = splice(@same, 0, $count);
	my @verdicts;

	# in any order: the gate sorts them
	push @verdicts,
	  verdict($session, splice(@chosen, dice($session, scalar @chosen), 1))
	  while @chosen;
	my $decision = decision($session->{who}, $function, @verdicts);
	return dice($session, 5) ? $decision : claim($first->{id}, $decision);
}

sub verdict
{
	my ($session, $row) = @_;
	my %verdict = (
		id => $row->{id},
		seen => $row->{seen},
		verdict => dice($session, 2) ? 'approve' : 'reject');

	$verdict{result} = $RESULTS[ dice($session, 2) ]
	  if $verdict{verdict} eq 'reject';
	return \%verdict;
}

sub opposite
{
	my ($verdict) = @_;
	my %opposite = %$verdict;

	delete $opposite{result};
	$opposite{verdict} =
	  $verdict->{verdict} eq 'approve' ? 'reject' : 'approve';
	$opposite{result} = $RESULTS[0] if $opposite{verdict} eq 'reject';
	return \%opposite;
}

# The note tells afterwards which statement it was that decided.
sub decision
{
	my ($who, $function, @verdicts) = @_;
	my $tag = 'statement ' . ++$tags;
	my ($first) = @verdicts;
	my $arguments = $function =~ /many/
	  ? literal(
		JSON::PP->new->canonical->encode(
			[
				map {
					{ %$_, note => $tag }
				} @verdicts
			]))
	  : join(', ', map { literal($_) } @$first{qw(id verdict seen)})
	  . ($first->{result} ? ', result => ' . literal($first->{result}) : '')
	  . ", note => '$tag'";

	return {
		take => \&take_decision,
		who => $who,
		function => $function,
		tag => $tag,
		verdicts => { map { $_->{id} => $_ } @verdicts },
		sql => "SELECT * FROM approval.$function($arguments)"
	};
}

sub claim
{
	my ($id, $decision) = @_;

	return {
		take => \&take_claim,
		id => $id,
		function => 'claim',
		decision => $decision,
		sql => "SELECT * FROM approval.claim('$id')"
	};
}

# Whatever came of the claim, it keeps nobody from deciding.  A few think better
# of it.
sub take_claim
{
	my ($session, $statement, $answer) = @_;

	take_claimed($session, $statement, $answer);
	$session->{next} =
	  dice($session, 4)
	  ? $statement->{decision}
	  : {
		take => \&take_claimed,
		id => $statement->{id},
		function => 'release',
		sql => "SELECT * FROM approval.release('$statement->{id}')"
	  };
}

# A claim may be somebody else's, and a release too late for one's own.
sub take_claimed
{
	my ($session, $statement, $answer) = @_;
	my $holder = $answer->detail->{claimed_by} // '';

	return if $answer->verdict eq 'ok';
	return
	  if $answer->verdict eq 'PT423 claimed'
	  && $holder eq "user:$OTHER{$session->{who}}";
	refused($statement, $statement->{id}, $answer->verdict, $answer->detail);
}

sub take_decision
{
	my ($session, $statement, $answer) = @_;
	my $take =
		$answer->error                    ? \&take_error
	  : $statement->{function} =~ /many/  ? \&take_many
	  : $statement->{function} =~ /^try_/ ? \&take_attempt
	  :                                     \&take_row;

	$take->($statement, $answer);
}

sub take_error
{
	my ($statement, $answer) = @_;

	return unexpected($statement, $answer)
	  if $statement->{function} =~ /^try_/ || $answer->sqlstate !~ /^PT/;
	my $id = $answer->detail->{id} // '';

	$unexpected{"$statement->{function}: refused for another request"}++
	  unless $statement->{verdicts}{$id};
	refused($statement, $id, $answer->verdict, $answer->detail);
}

sub take_row
{
	my ($statement, $answer) = @_;

	accepted($statement, $answer->record->{id}, '');
}

sub take_attempt
{
	my ($statement, $answer) = @_;
	my ($id) = keys %{ $statement->{verdicts} };
	my $attempt = $answer->record;

	return accepted($statement, $id, '') if $attempt->{ok} eq 't';
	kept($statement, $id, $attempt);
}

sub take_many
{
	my ($statement, $answer) = @_;
	my @rows = map {
		my %row;
		@row{ @{ $answer->{columns} } } = @$_;
		\%row
	} @{ $answer->{rows} };

	$unexpected{"$statement->{function}: not a row for each"}++
	  if "@{[ map { $_->{id} } @rows ]}" ne
	  "@{[ sort keys %{ $statement->{verdicts} } ]}";
	for (@rows)
	{
		$_->{answer} eq 'refused'
		  ? kept($statement, $_->{id}, $_)
		  : accepted($statement, $_->{id}, $_->{answer});
	}
}

# A refusal that was returned, and is kept in the log.
sub kept
{
	my ($statement, $id, $row) = @_;

	$kept++;
	refused(
		$statement, $id,
		"PT$row->{http_status} $row->{reason}",
		JSON::PP->new->utf8->decode($row->{detail}));
}

sub refused
{
	my ($statement, $id, $why, $detail) = @_;

	return $unexpected{"$statement->{function}: $why"}++
	  if $why ne 'PT409 already_decided';
	push @refused,
	  {
		statement => $statement,
		id => $id,
		by => $detail->{decided_by} // '',
		at => $detail->{decided_at} // ''
	  };
}

sub accepted
{
	my ($statement, $id, $answer) = @_;

	push @accepted, { statement => $statement, id => $id, answer => $answer };
}

sub unexpected
{
	my ($statement, $answer) = @_;

	$unexpected{ ($statement->{function} // 'inbox_page') . ': '
		  . $answer->verdict . ' '
		  . $answer->error->{M} }++;
}

# Sends the same over another session of a reviewer, if possible one that
# would begin with it at once.
sub send_beside
{
	my ($session, $who, $statement) = @_;
	my @others = grep { $_ != $session && $_->{who} eq $who } @sessions;
	my @idle = grep { is_idle($_) } @others;

	@others = @idle if @idle;
	send_statement($others[ dice($session, scalar @others) ], $statement);
}

# A decision now and then comes twice, or together with its opposite by the
# other reviewer.
sub act
{
	my ($session) = @_;
	my $statement = delete $session->{next} // page_statement($session);

	send_statement($session, $statement);
	return unless $statement->{verdicts};
	send_beside($session, $session->{who}, $statement)
	  unless dice($session, 3);
	return if dice($session, 3);
	my $other = $OTHER{ $session->{who} };
	my @opposites = map { opposite($statement->{verdicts}{$_}) }
	  sort keys %{ $statement->{verdicts} };
	send_beside($session, $other,
		decision($other, $statement->{function}, @opposites));
}

# Everything that a session has been told so far.
sub take_answers
{
	my ($session) = @_;

	until (is_idle($session) || $session->{wire}->waits)
	{
		my $answer = $session->{wire}->finish;
		my $statement = shift @{ $session->{sent} };

		die "connection lost: $statement->{sql}\n" if $answer->{lost};
		$statement->{take}->($session, $statement, $answer);
	}
}

# Until nobody finds anything in the inbox, and everything is answered.  After an
# answer that should not be nobody goes on: the inbox might never get empty.
sub work
{
	while (1)
	{
		for my $session (@sessions)
		{
			act($session)
			  if is_idle($session) && !$session->{done} && !%unexpected;
		}
		my @busy = grep { !is_idle($_) } @sessions or last;
		my %session = map { $_->{wire} => $_ } @busy;
		take_answers($session{$_})
		  for Wire::answered(map { $_->{wire} } @busy);
	}
}

sub stored
{
	my ($sql) = @_;

	return map { $_->[0] } @{ $root->run($sql)->{rows} };
}

# id => who decided what, as it would be asked for, and with which statement.
sub stored_decisions
{
	my %decisions;

	for my $row (
		@{
			$root->run(
				"SELECT r.id, substr(r.decided_by, 6) AS by, d.verdict, d.result, d.note FROM approval.requests r JOIN approval.decisions d ON d.request_id = r.id"
			)->{rows}
		})
	{
		my ($id, @decision) = @$row;
		@{ $decisions{$id} }{qw(who verdict result tag)} = @decision;
	}
	return \%decisions;
}

work();
note(scalar(@accepted) . ' accepted, ' . scalar(@refused) . ' refused');

is_deeply(\%unexpected, {}, "nothing but already_decided (seed $SEED)");
is_deeply([ stored('SELECT id FROM approval.requests ORDER BY id') ],
	\@proposed, "all $REQUESTS are there");
is( $root->run(
		"SELECT count(*) FROM approval.requests WHERE status IN ('approved', 'rejected') AND decided_by IN ('user:alice', 'user:bob')"
	)->value,
	$REQUESTS,
	'each is decided, by one of the two');
is($_->{wire}->run('SELECT count(*) FROM approval.inbox')->value,
	0, "$_->{who} has nothing to do")
  for @sessions[ 0, -1 ];
is_deeply(
	[
		stored(
			q(SELECT r.id FROM approval.requests r
			WHERE (SELECT count(*) FROM approval.decisions d WHERE d.request_id = r.id) <> 1
			   OR (SELECT count(*) FROM approval.events e WHERE e.request_id = r.id
				   AND e.status_before = 'pending' AND e.status_after <> 'pending') <> 1)
		)
	],
	[],
	'once each: one verdict and one event that ends the wait');
is_deeply(
	[
		stored(
			q(SELECT r.id FROM approval.requests r
			LEFT JOIN approval.decisions d ON d.request_id = r.id AND d.actor = r.decided_by AND d.at = r.decided_at
				AND r.status = CASE d.verdict WHEN 'approve' THEN 'approved' ELSE 'rejected' END
			LEFT JOIN approval.events e ON e.request_id = r.id AND e.n = d.n AND e.actor = d.actor AND e.at = d.at
				AND e.kind = r.status AND e.status_before = 'pending' AND e.status_after = r.status
			WHERE e.n IS NULL)
		)
	],
	[],
	'verdict, event and request say the same');

# Everybody was told the truth.
my $decisions = stored_decisions();

sub is_stored
{
	my ($told) = @_;
	my $stored = $decisions->{ $told->{id} } // return 0;
	my $asked = $told->{statement}{verdicts}{ $told->{id} } // return 0;

	return
		 $stored->{who} eq $told->{statement}{who}
	  && $stored->{verdict} eq $asked->{verdict}
	  && ($stored->{result} // '') eq ($asked->{result} // '');
}

sub is_own
{
	my ($told) = @_;

	return ($decisions->{ $told->{id} }{tag} // '') eq
	  $told->{statement}{tag};
}

is_deeply([ map { $_->{id} } grep { !is_stored($_) } @accepted ],
	[], 'what was accepted is what is stored');
my %deciding = map { $_->{id} => 1 } grep { is_own($_) } @accepted;
is_deeply([ sort keys %deciding ],
	\@proposed, 'every request was decided by a statement that said so');
my %applied;
$applied{ $_->{id} }++ for grep { $_->{answer} eq 'applied' } @accepted;
is_deeply(
	\%applied,
	{
		map  { $_->{id} => 1 }
		grep { is_own($_) && $_->{answer} ne '' } @accepted
	},
	'of a selection, applied once, and else unchanged');
is_deeply(
	[
		grep {
			my $all = $_;
			grep { $_->{tag} eq $all->{statement}{tag} } values %$decisions
		} grep { $_->{statement}{function} eq 'decide_many' } @refused
	],
	[],
	'a selection that was refused decided nothing');
my $told = literal(
	JSON::PP->new->encode(
		[
			map { { id => $_->{id}, by => $_->{by}, at => $_->{at} } }
			  @refused
		]));
is_deeply(
	[
		stored(
			"SELECT t.id FROM json_to_recordset($told) AS t (id text, by text, at timestamptz) LEFT JOIN approval.requests r ON r.id = t.id::approval.ulid"
			  . ' AND r.decided_by = t.by AND r.decided_at = t.at WHERE r.id IS NULL'
		)
	],
	[],
	'who came too late was told who decided, and when');
is( $root->run(
		"SELECT count(*) FROM approval.refusal_log WHERE reason = 'already_decided'"
	)->value,
	$kept,
	'refusals that were returned are kept');
is_deeply([ verify_all($root) ], [], 'every chain verifies');

# It was a race.
for my $who (sort keys %END)
{
	cmp_ok(scalar(grep { $_->{who} eq $who } values %$decisions),
		'>', 0, "$who decided some");
	cmp_ok(
		scalar(
			grep { $_->{statement}{verdicts} && $_->{by} eq "user:$who" }
			  @refused),
		'>', 0,
		"$who was faster than others");
}
cmp_ok(scalar @accepted, '>', $REQUESTS, 'some repeated themselves');

done_testing();
