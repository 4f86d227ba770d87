package Gate;

# What most TAP tests start with: the extension, the usual logins, and requests
# in a given state.

use strict;
use warnings;

use Exporter 'import';
use Test::More;
use Wire;

our @EXPORT = qw(install_gate gate_logins propose_one approved_one literal
  consume_sql decide_sql verify_all state_of wait_blocked wait_for wait_past
  $TOOL $ARGUMENTS);

our $TOOL = 'refund';
our $ARGUMENTS = '{"amount":120,"order":"A-7"}';

my $calls = 0;

sub literal
{
	my $text = shift;

	$text =~ s/'/''/g;
	return "'$text'";
}

# agent proposes; alice and bob decide; web decides for whom it names; runner
# executes; chief administers; audrey audits; nobody may do nothing.
sub gate_logins
{
	my $s = shift;

	$s->run(<<'SQL');
DO $do$
DECLARE
	r text[];
BEGIN
	FOREACH r SLICE 1 IN ARRAY ARRAY[
		['agent', 'approval_requester'], ['alice', 'approval_approver'],
		['bob', 'approval_approver'], ['web', 'approval_approver'],
		['runner', 'approval_executor'], ['chief', 'approval_admin'],
		['audrey', 'approval_auditor'], ['nobody_at_all', NULL]]
	LOOP
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r[1]) THEN
			EXECUTE format('CREATE ROLE %I LOGIN', r[1]);
		END IF;
		IF r[2] IS NOT NULL THEN
			EXECUTE format('GRANT %I TO %I', r[2], r[1]);
		END IF;
	END LOOP;
END
$do$
SQL
	$s->run(<<'SQL');
SELECT approval.register_login('agent', 'service', 'agent:bot'),
	approval.register_login('alice', 'person', 'user:alice'),
	approval.register_login('bob', 'person', 'user:bob'),
	approval.register_login('web', 'delegate'),
	approval.register_login('runner', 'service', 'service:runner')
SQL
}

sub install_gate
{
	my ($node, $dbname) = @_;
	my $s = Wire->new($node, dbname => $dbname);

	$s->run('CREATE EXTENSION approval');
	gate_logins($s);
	return $s;
}

# One pending request of the session; its columns by name.
sub propose_one
{
	my ($s, %opts) = @_;
	my $call = $opts{call} // 'call-' . ++$calls . "-$$";
	my $more = $opts{more} ? ", $opts{more}" : '';

	return $s->run('SELECT * FROM approval.propose('
		  . literal($call)
		  . ", '$TOOL', "
		  . literal($opts{arguments} // $ARGUMENTS)
		  . "$more)")->record;
}

sub decide_sql
{
	my ($request, $verdict, $more) = @_;

	return
	  "SELECT * FROM approval.decide('$request->{id}', '$verdict', '$request->{review_hash}'"
	  . ($more ? ", $more" : '') . ')';
}

sub consume_sql
{
	my ($request, %opts) = @_;
	my $function = $opts{function} // 'consume';
	my $execution = $opts{execution} // 'run-1';

	return
		"approval.$function('$request->{id}', '$TOOL', "
	  . literal($opts{arguments} // $ARGUMENTS)
	  . ", '$execution')";
}

sub approved_one
{
	my ($agent, $approver, %opts) = @_;
	my $request = propose_one($agent, %opts);

	$approver->run(decide_sql($request, 'approve'));
	return $request;
}

# Ids of the requests whose chain does not verify.
sub verify_all
{
	my $s = shift;

	return map { $_->[0] } @{
		$s->run(
			'SELECT r.id, v.problem FROM approval.requests r, approval.verify_request(r.id, r.tenant) v'
			  . ' WHERE v.ok IS NOT TRUE')->{rows}
	};
}

# "status outcome events decisions" of a request, as stored.
sub state_of
{
	my ($s, $request) = @_;

	return join ' ',
	  map { $_ // '-' } @{
		$s->run(
				"SELECT r.status, r.outcome,"
			  . " (SELECT count(*) FROM approval.events e WHERE e.tenant = r.tenant AND e.request_id = r.id),"
			  . " (SELECT count(*) FROM approval.decisions d WHERE d.tenant = r.tenant AND d.request_id = r.id)"
			  . " FROM approval.requests r WHERE r.id = '$request->{id}'"
		)->{rows}[0]
	  };
}

# Until a query says so; nothing is said about how long that takes.
sub wait_for
{
	my ($s, $sql, $wanted, $what) = @_;
	my $got;

	for (1 .. 15_000)
	{
		$got = $s->run($sql)->value // 'NULL';
		last if $got eq $wanted;
		select(undef, undef, undef, 0.02);
	}
	is($got, $wanted, $what);
	return;
}

# Waits until the sessions wait for a lock.
sub wait_blocked
{
	my ($s, @sessions) = @_;
	my $pids = join ',', map { $_->{pid} // die 'pid not known' } @sessions;

	while (1)
	{
		my $n = $s->run("SELECT count(*) FROM unnest(ARRAY[$pids]) p"
			  . ' WHERE cardinality(pg_blocking_pids(p)) > 0')->value;
		return if $n == @sessions;
		$_->waits
		  or die "a session does not wait: " . $_->finish->verdict . "\n"
		  for @sessions;
		select(undef, undef, undef, 0.02);
	}
}

# Waits until the clock has passed a time.
sub wait_past
{
	my ($s, $time) = @_;

	$s->run("SELECT pg_sleep_until("
		  . literal($time)
		  . "::timestamptz + interval '10 ms')")
	  while $s->run(
		"SELECT clock_timestamp() <= " . literal($time) . "::timestamptz")
	  ->value eq 't';
}

1;
