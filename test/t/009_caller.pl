# Who is calling: the login, whatever role is in force, and what
# approval.logins says of it now.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('caller', conf => "fsync = off\n");
$node->start;
my $root = install_gate($node);
my ($agent, $alice, $runner) =
  map { Wire->new($node, user => $_) } qw(agent alice runner);

sub events_of
{
	my $request = shift;

	return [
		map { "@$_" } @{
			$root->run(
					"SELECT kind, actor, login, role FROM approval.events"
				  . " WHERE request_id = '$request->{id}' ORDER BY n")->{rows}
		}
	];
}

# SET ROLE does not make another login.
{
	$root->run(
		'CREATE ROLE janus LOGIN; GRANT approval_requester, approval_approver, alice TO janus'
	);
	my $s = Wire->new($node, user => 'janus');
	my $request = propose_one($s);

	for my $role ('janus', 'alice', 'approval_approver')
	{
		$s->run("SET ROLE $role");
		is( $s->query(decide_sql($request, 'approve'))->verdict,
			'PT403 self_approval',
			"SET ROLE $role: self_approval");
	}
	$s->run('RESET ROLE');
	$s->run($_)
	  for
	  'CREATE FUNCTION pg_temp.f() RETURNS text LANGUAGE sql SECURITY DEFINER AS '
	  . literal(
		"SELECT status FROM approval.approve('$request->{id}', '$request->{review_hash}')"
	  );
	is( $s->query('SELECT pg_temp.f()')->verdict,
		'PT403 self_approval',
		'SECURITY DEFINER of its own: self_approval');
	$root->run('CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO PUBLIC');
	$root->run(
		"CREATE FUNCTION app.by_alice(id text, seen text) RETURNS text LANGUAGE sql SECURITY DEFINER"
		  . ' AS $$ SELECT status FROM approval.approve(id, seen) $$; ALTER FUNCTION app.by_alice OWNER TO alice'
	);
	is( $s->query(
			"SELECT app.by_alice('$request->{id}', '$request->{review_hash}')"
		)->verdict,
		'PT403 self_approval',
		"SECURITY DEFINER of alice's: self_approval");
	is_deeply(
		events_of($request),
		['proposed login:janus janus janus'],
		'and nothing was written');

	# Another's request, as another role: the login and the role are both recorded.
	$request = propose_one($agent);
	$s->run('SET ROLE alice');
	is($s->query(decide_sql($request, 'approve'))->verdict,
		'ok', "SET ROLE alice on another's request");
	is_deeply(
		events_of($request),
		[
			'proposed agent:bot agent agent',
			'approved login:janus janus alice'
		],
		'the actor is that of the login');
	is($s->query('SET SESSION AUTHORIZATION alice')->sqlstate,
		'42501', 'a plain login cannot take another session authorization');
}

# The privileges are those of the role in force.
{
	my $s = Wire->new($node, user => 'janus');

	$root->run('GRANT nobody_at_all TO janus');
	$s->run("SELECT * FROM approval.pending('')");
	$s->run('SET ROLE nobody_at_all');
	is($s->query("SELECT * FROM approval.pending('')")->sqlstate,
		'42501', 'a role without grants');
	is($s->query('SELECT * FROM approval.history')->sqlstate,
		'42501', 'nor a view');
	$s->run('RESET ROLE');
	is($s->query("SELECT * FROM approval.pending('')")->verdict,
		'ok', 'RESET ROLE');
}

# A group granted and revoked while a session is open.
{
	my $request = propose_one(Wire->new($node, user => 'janus'));
	my $read = sub {
		$agent->query("SELECT * FROM approval.request_of('$request->{id}')")
		  ->verdict;
	};
	my $rows = sub {
		$agent->query(
			"SELECT count(*) FROM approval.history WHERE id = '$request->{id}'"
		)->value;
	};

	is( $read->() . ', ' . $rows->(),
		'PT404 not_found, 0',
		"another login's request");
	$root->run('GRANT approval_auditor TO agent');
	is($read->() . ', ' . $rows->(), 'ok, 1', 'an auditor sees it at once');
	$root->run('REVOKE approval_auditor FROM agent');
	is($read->() . ', ' . $rows->(), 'PT404 not_found, 0', 'and no longer');
}

# Registered again in another session: at once, in a session that knew it.
{
	my $r = propose_one($agent);
	my $read = sub {
		$agent->query("SELECT * FROM approval.request_of('$r->{id}')")
		  ->verdict;
	};
	my $set =
	  sub { $root->run("SELECT approval.register_login('agent', $_[0])") };

	is($read->(), 'ok', 'before');
	$set->("'service', 'agent:bot', '{acme}'");
	is($read->(), 'PT404 not_found', 'tenant taken away');
	is( $agent->query("SELECT * FROM approval.request_of('$r->{id}', '')")
		  ->sqlstate,
		'42501', 'tenant taken away: named');
	is(propose_one($agent)->{tenant}, 'acme', 'the new tenant counts');
	$set->("'service', 'agent:two', '{\"\"}'");
	is(propose_one($agent)->{requested_by},
		'agent:two', 'the new actor counts');
	$set->("'delegate'");
	is( propose_one($agent, more => "requested_by => 'user:9'")
		  ->{requested_by},
		'user:9',
		'the new kind counts');
	$set->("'service', 'agent:bot'");
	is( $agent->query(
			"SELECT * FROM approval.propose('d', 't', '{}', requested_by => 'user:9')"
		)->verdict,
		'PT403 actor_not_allowed',
		'and is taken away');

	# Not before it is committed, not at all when it is rolled back.
	$root->run('BEGIN');
	$set->("'service', 'agent:bot', '{acme}'");
	is($read->(), 'ok', 'not committed');
	$root->run('ROLLBACK');
	is($read->(), 'ok', 'rolled back');

	# By hand, by whoever may.
	$root->run("DELETE FROM approval.logins WHERE login = 'agent'");
	is(propose_one($agent)->{requested_by}, 'login:agent', 'DELETE counts');
	$root->run('TRUNCATE approval.logins');
	is(propose_one($alice, more => "metadata => '1'")->{requested_by},
		'login:alice', 'TRUNCATE counts')
	  if $root->run('GRANT approval_requester TO alice');
	$root->run('REVOKE approval_requester FROM alice');
	gate_logins($root);
	is(propose_one($agent)->{requested_by}, 'agent:bot', 'and back');

	# In the session that registers, and rolls back.
	my $as = sub {
		my $n = shift;
		return $root->query(
			"SELECT * FROM approval.propose('own $n', 't', '{}', requested_by => 'user:9')"
		)->verdict;
	};
	is($as->(1), 'PT403 actor_not_allowed', 'own registration: before');
	$root->run($_)
	  for 'BEGIN', "SELECT approval.register_login('postgres', 'delegate')";
	is($as->(2), 'ok', 'own registration: in the transaction');
	$root->run('ROLLBACK');
	is($as->(3), 'PT403 actor_not_allowed', 'own registration: rolled back');
	$root->run($_)
	  for 'BEGIN', 'SAVEPOINT s',
	  "SELECT approval.register_login('postgres', 'delegate')";
	is($as->(4), 'ok', 'own registration: in a savepoint');
	$root->run('ROLLBACK TO s');
	is( $as->(5),
		'PT403 actor_not_allowed',
		'own registration: savepoint rolled back');
	$root->run('ROLLBACK');

	# A transaction that is open goes on with what is committed now, as its
	# statements do.
	$agent->run('BEGIN');
	is($read->(), 'ok', 'in a transaction: before');
	$set->("'service', 'agent:bot', '{acme}'");
	is($read->(), 'PT404 not_found', 'in a transaction: tenant taken away');
	$agent->run('ROLLBACK');
	$agent->run('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$read->();
	$agent->run('ROLLBACK');
	is( $read->(),
		'PT404 not_found',
		'after a transaction with an old snapshot');
	$set->("'service', 'agent:bot'");
	is($read->(), 'ok', 'and back again');
}

# An old snapshot reads an old row: it must not be remembered.
{
	my $r = propose_one($agent);
	my $s = Wire->new($node, user => 'agent');

	$s->run('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$root->run(
		"SELECT approval.register_login('agent', 'service', 'agent:bot', '{acme}')"
	);
	$s->query("SELECT * FROM approval.request_of('$r->{id}')");
	$s->run('ROLLBACK');
	is( $s->query("SELECT * FROM approval.request_of('$r->{id}')")->verdict,
		'PT404 not_found',
		'an old snapshot is not remembered');
	$root->run(
		"SELECT approval.register_login('agent', 'service', 'agent:bot')");
}

# A failure on the way to the row leaves no other caller behind: the login
# would speak as somebody who is not registered.
{
	my $request = propose_one($agent);

	$root->run(
		"SELECT approval.register_login('alice', 'person', 'user:alice', '{acme}')"
	);
	my $s = Wire->new($node, user => 'alice');
	my $sql = decide_sql($request, 'approve');

	$root->run('BEGIN; LOCK approval.logins IN ACCESS EXCLUSIVE MODE');
	$s->run("SET lock_timeout = '10ms'");
	is($s->query($sql)->sqlstate, '55P03', 'the registration cannot be read');
	$root->run('COMMIT');
	is( $s->query($sql)->verdict,
		'PT404 not_found',
		'and is read the next time');
	is( state_of($root, $request),
		'pending - 1 0',
		'nobody has decided as somebody else');
	$root->run(
		"SELECT approval.register_login('alice', 'person', 'user:alice')");
}

# Renamed.
{
	$root->run(
		'CREATE ROLE first_name LOGIN; GRANT approval_requester TO first_name'
	);
	$root->run(
		"SELECT approval.register_login('first_name', 'service', 'agent:named')"
	);
	my $s = Wire->new($node, user => 'first_name');
	my $request = propose_one($s);

	$root->run('ALTER ROLE first_name RENAME TO second_name');
	my $r = $s->query("SELECT * FROM approval.propose('renamed', 't', '{}')");
	is($r->verdict, 'ok', 'renamed: the session lives on');
	is($r->record->{requested_by},
		'login:second_name', 'under its new name it is not registered');
	is( $s->query("SELECT * FROM approval.request_of('$request->{id}')")
		  ->verdict,
		'PT404 not_found',
		'nor are the requests of the old name its own');
	$root->run('ALTER ROLE second_name RENAME TO first_name');
	is( $s->query("SELECT * FROM approval.request_of('$request->{id}')")
		  ->verdict,
		'ok', 'renamed back');

	# Somebody else comes by the old name.
	$s->close;
	$root->run('ALTER ROLE first_name RENAME TO third_name');
	is( $root->query(
			"SELECT approval.register_login('first_name', 'service')")
		  ->sqlstate,
		'42704',
		'a name without a role is not registered');
}

# Dropped while its session is open.
{
	$root->run(
		'CREATE ROLE short_lived LOGIN; GRANT approval_requester TO short_lived'
	);
	my $s = Wire->new($node, user => 'short_lived');
	my $request = propose_one($s);

	$root->run('DROP ROLE short_lived');
	my $r = $s->query("SELECT * FROM approval.propose('dropped', 't', '{}')");
	isnt($r->verdict, 'ok', 'dropped: nothing goes');
	unlike($r->sqlstate, qr/^XX/, 'dropped: and no internal error');
	ok(!$r->{lost}, 'dropped: nor a crash');
	is($alice->query(decide_sql($request, 'approve'))->verdict,
		'ok', 'its requests can be decided');
}

# A superuser who takes a session authorization is that login from then on.
{
	my $s = Wire->new($node);

	for my $user ('agent', 'alice', 'agent')
	{
		$s->run("SET SESSION AUTHORIZATION $user");
		is( $s->query("SELECT * FROM approval.propose('s-$user', 't', '{}')")
			  ->verdict,
			$user eq 'agent' ? 'ok' : '42501',
			"SET SESSION AUTHORIZATION $user");
	}
	is(propose_one($s)->{requester_login},
		'agent', 'the login is the one that it took');
}

$root->run(
	"SELECT approval.register_login('postgres', 'person', tenants => '{*}')");
is_deeply([ verify_all($root) ], [], 'every chain verifies');

done_testing();
