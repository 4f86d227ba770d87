# CREATE, DROP and ALTER EXTENSION: what is refused, what is found, and what
# sessions that used it before make of it.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('extension', conf => "fsync = off\n");
$node->start;
my $root = Wire->new($node);
my @GROUPS =
  map { "approval_$_" } qw(owner requester approver executor auditor admin);

sub create { return $_[0]->query('CREATE EXTENSION approval') }

sub database
{
	my ($name, $options) = @_;

	$root->run("CREATE DATABASE $name TEMPLATE template0 "
		  . ($options // "ENCODING 'UTF8'"));
	return Wire->new($node, dbname => $name);
}

# The library without the extension.
{
	my $s = Wire->new($node);

	is($s->query("LOAD 'approval'")->verdict,
		'ok', 'the library loads without the extension');
	is($s->query('SHOW approval.commit_first')->value,
		'on', 'its settings are there');
	is($s->query('SELECT 1')->verdict, 'ok', 'and statements run');
	is($s->query('CREATE TABLE t (a int); DROP TABLE t')->verdict,
		'ok', 'also DDL');
	is($s->query('SET approval.no_such_thing = 1')->sqlstate,
		'42602', 'its prefix is reserved');
	is(create($s)->verdict, 'ok', 'CREATE EXTENSION in such a session');
	is( $s->query("SELECT * FROM approval.propose('c', 't', '{}')")->verdict,
		'ok', 'verbs in such a session');
	$s->run('DROP EXTENSION approval');
	$s->run("DROP ROLE $_") for @GROUPS;
}

# Encodings.
for my $encoding ('SQL_ASCII', 'LATIN1')
{
	my $s = database(lc "db_$encoding", "ENCODING '$encoding' LOCALE 'C'");
	my $r = create($s);

	is($r->sqlstate, '0A000', "$encoding: refused");
	like($r->error->{M}, qr/encoding UTF8/,
		"$encoding: the message says why");
	is( $s->run(
			"SELECT count(*) FROM pg_namespace WHERE nspname = 'approval'")
		  ->value,
		0,
		"$encoding: nothing is left");
}
is( $root->run(
		"SELECT count(*) FROM pg_roles WHERE rolname LIKE 'approval%'")
	  ->value,
	0,
	'no roles are left either');

# What somebody else made before.
for my $sql (
	'CREATE SCHEMA approval',
	'CREATE SCHEMA approval; CREATE TABLE approval.requests (id int)',
	q{CREATE SCHEMA approval; CREATE FUNCTION approval.consume() RETURNS int LANGUAGE sql AS 'SELECT 1'},
	'CREATE SCHEMA approval; CREATE TYPE approval.ulid AS (a int)')
{
	$root->run($sql);
	is(create($root)->sqlstate, '42P06', "refused: $sql");
	is($root->query('CREATE EXTENSION IF NOT EXISTS approval')->sqlstate,
		'42P06', "also with IF NOT EXISTS: $sql");
	is($root->query('CREATE EXTENSION approval CASCADE')->sqlstate,
		'42P06', "and CASCADE: $sql");
	is( $root->run(
			"SELECT count(*) FROM pg_extension WHERE extname = 'approval'")
		  ->value,
		0,
		"not installed: $sql");
	$root->run('DROP SCHEMA approval CASCADE');
}
isnt($root->query('CREATE EXTENSION approval SCHEMA public')->verdict,
	'ok', 'no other schema');
$root->run('CREATE ROLE plain LOGIN');
$root->run('GRANT CREATE ON DATABASE postgres TO plain');
is(create(Wire->new($node, user => 'plain'))->sqlstate,
	'42501', 'not by a plain role');

# Roles that somebody else made before.
for my $group (@GROUPS)
{
	for my $power (
		qw(LOGIN SUPERUSER CREATEROLE BYPASSRLS CREATEDB REPLICATION))
	{
		$root->run("CREATE ROLE $group $power");
		my $r = create($root);
		is($r->sqlstate, '42710', "$group with $power: refused");
		is( $r->error->{M},
			qq{role "$group" exists and is not a plain group},
			"$group with $power: the message");
		$root->run("DROP ROLE $group");
	}
	$root->run("CREATE ROLE $group; GRANT pg_write_server_files TO $group");
	my $r = create($root);
	is($r->sqlstate, '42710', "$group with a membership: refused");
	like(
		$r->error->{M},
		qr/is a member of other roles/,
		"$group with a membership: the message");
	$root->run("DROP ROLE $group");
}
is( $root->run(
		"SELECT count(*) FROM pg_roles WHERE rolname LIKE 'approval%'")
	  ->value,
	0,
	'nothing is left of those attempts');
$root->run(
	'CREATE ROLE approval_owner; GRANT approval_owner TO plain; CREATE ROLE approval_approver'
);
{
	my $r = create($root);

	is($r->verdict, 'ok', 'plain groups are accepted');
	is_deeply(
		[ map { $_->{M} } @{ $r->{notices} } ],
		['role "approval_owner" exists already; its members: plain'],
		'a NOTICE lists the members');
	$root->run('REVOKE approval_owner FROM plain');
}

# A second database has its own rows and secrets.
gate_logins($root);
{
	my $s = database('second');

	is(create($s)->verdict, 'ok', 'CREATE EXTENSION in a second database');
	my $one = Wire->new($node, user => 'agent');
	my $two = Wire->new($node, user => 'agent', dbname => 'second');
	my $request = propose_one($one, more => "conversation_id => 'talk'");
	is( $two->query("SELECT * FROM approval.request_of('$request->{id}')")
		  ->verdict,
		'PT404 not_found',
		'its requests are its own');
	propose_one($two, more => "conversation_id => 'talk'");
	for my $scope ("'tenant'", "'conversation', 'talk'")
	{
		my @names =
		  map { $_->run("SELECT approval.channel($scope)")->value } $one,
		  $two;
		like($names[0], qr/^approval_[ct]_[0-9a-f]{32}$/,
			"channel of $scope");
		isnt($names[0], $names[1],
			"another channel for $scope in each database");
	}
	is($s->run('SELECT count(*) FROM approval.logins')->value,
		0, 'its logins are its own');
	is($s->query('DROP EXTENSION approval')->verdict, 'ok', 'dropped there');
	is( $one->query("SELECT * FROM approval.request_of('$request->{id}')")
		  ->verdict,
		'ok', 'and still here');
	is($s->query('DROP OWNED BY approval_owner')->verdict,
		'ok', 'nothing of the owner is left there');
}

# ALTER EXTENSION and what depends on it.
is($root->query('ALTER EXTENSION approval UPDATE')->verdict,
	'ok', 'ALTER EXTENSION UPDATE');
isnt($root->query('ALTER EXTENSION approval SET SCHEMA public')->verdict,
	'ok', 'ALTER EXTENSION SET SCHEMA is refused');
isnt($root->query('DROP SCHEMA approval CASCADE')->verdict,
	'ok', 'the schema goes with the extension only');
isnt($root->query('DROP TABLE approval.events')->verdict,
	'ok', 'so do the tables');
isnt($root->query('DROP ROLE approval_owner')->verdict,
	'ok', 'the owner cannot be dropped');

# The whole of a life, in sessions that have done it before: nothing kept
# (plans, types, the login, secrets) may be of the old one.
sub life
{
	my ($name, $agent, $alice, $runner) = @_;
	my $request = propose_one($agent,
		more => "conversation_id => 'talk', tenant => 'acme'");

	is( $alice->query(decide_sql($request, 'approve', "tenant => 'acme'"))
		  ->verdict,
		'ok',
		"$name: decide");
	my $r = $runner->query(
		"SELECT * FROM approval.consume('$request->{id}', '$TOOL', '$ARGUMENTS',"
		  . " 'run-1', tenant => 'acme')");
	is($r->verdict, 'ok', "$name: consume") or return;
	is( $runner->query(
				"SELECT * FROM approval.complete('$request->{id}', 'run-1', '"
			  . $r->record->{token}
			  . "', 'succeeded', tenant => 'acme')")->verdict,
		'ok',
		"$name: complete");
	$r = $alice->query(
		"SELECT ok, reason, request FROM approval.try_decide('$request->{id}', 'reject',"
		  . " '$request->{review_hash}', tenant => 'acme')");
	is( $r->verdict . ' ' . ($r->{rows}[0][1] // ''),
		'ok already_decided',
		"$name: try_decide");
	is( scalar @{
			$agent->query(
				"SELECT * FROM approval.outcomes('talk', tenant => 'acme')")
			  ->{rows}
		},
		1,
		"$name: outcomes");
	is($alice->query('SELECT count(*) FROM approval.audit')->value,
		4, "$name: audit");
	is( $alice->query(
			"SELECT ok FROM approval.verify_request('$request->{id}', 'acme')"
		)->value,
		't',
		"$name: verify_request");
	return;
}

sub tenants
{
	$_[0]->run(
		"SELECT approval.register_login('agent', 'service', 'agent:bot', '{acme}'),"
		  . " approval.register_login('alice', 'person', 'user:alice', '{acme}'),"
		  . " approval.register_login('runner', 'service', 'service:runner', '{acme}')"
	);
}

{
	my $s = Wire->new($node);
	my @users = map { Wire->new($node, user => $_) } qw(agent alice runner);
	my @prepared = map { Wire->new($node, user => $_) } qw(agent alice);

	$s->run('DROP EXTENSION approval');
	create($s);
	gate_logins($s);
	tenants($s);
	life('first', @users);
	$prepared[0]->run(
		"PREPARE p AS SELECT status FROM approval.propose('prepared', 't', '{}', tenant => 'acme')"
	);
	is($prepared[0]->query('EXECUTE p')->value,
		'pending', 'a prepared statement');
	$prepared[1]->run("PREPARE p AS SELECT count(*) FROM approval.inbox");
	is($prepared[1]->query('EXECUTE p')->value,
		1, 'a prepared statement on a view');

	$s->run('DROP EXTENSION approval');
	is( $users[0]->query("SELECT * FROM approval.propose('c', 't', '{}')")
		  ->sqlstate,
		'3F000', 'dropped: verbs are gone');
	isnt($prepared[0]->query('EXECUTE p')->verdict,
		'ok', 'dropped: a prepared statement fails');
	is($users[0]->query('SELECT 1')->verdict,
		'ok', 'dropped: the session lives on');

	create($s);
	gate_logins($s);
	tenants($s);
	life('dropped and created', @users);
	is($prepared[0]->query('EXECUTE p')->value,
		'pending', 'the prepared statement works again');
	is($prepared[1]->query('EXECUTE p')->value, 1, 'so does that on a view');

	# All in one session, and in one transaction.
	for my $round (1, 2)
	{
		my $one = $round == 1 ? $s : Wire->new($node);

		$one->run('SET approval.commit_first = off');
		$one->run('BEGIN') if $round == 2;
		$one->run('DROP EXTENSION approval');
		create($one);
		gate_logins($one);
		tenants($one);
		my $as = sub {
			my ($user, $sql) = @_;

			$one->run("SET SESSION AUTHORIZATION $user");
			my $r = $one->query($sql);
			$one->run('RESET SESSION AUTHORIZATION');
			return $r;
		};
		my $request = $as->(
			'agent',
			"SELECT * FROM approval.propose('c', '$TOOL', '$ARGUMENTS')"
		)->record;
		is($as->('alice', decide_sql($request, 'approve'))->verdict,
			'ok', "one session, round $round: decide");
		is( $as->('runner', 'SELECT * FROM ' . consume_sql($request))
			  ->verdict,
			'ok',
			"one session, round $round: consume");
		is( $as->(
				'alice',
				"SELECT ok FROM approval.verify_request('$request->{id}')"
			)->value,
			't',
			"one session, round $round: verify_request");
		$one->run('ROLLBACK') if $round == 2;
	}
	is($s->run('SELECT count(*) FROM approval.requests')->value,
		1, 'a DROP that is rolled back');
	is( $users[0]->query("SELECT * FROM approval.propose('after', 't', '{}')")
		  ->verdict,
		'ok', 'and another session goes on');
}

# CREATE EXTENSION that is rolled back, in a session that tried a verb in it.
{
	my $s = database('third');

	$s->run('BEGIN');
	create($s);
	is( $s->query("SELECT * FROM approval.propose('c', 't', '{}')")->verdict,
		'ok', 'a verb in the transaction that creates it');
	$s->run('ROLLBACK');
	is($s->query('SELECT 1')->verdict,
		'ok', 'rolled back: the session lives on');
	is(create($s)->verdict, 'ok', 'created after that');
	is( $s->query("SELECT * FROM approval.propose('c', 't', '{}')")->verdict,
		'ok', 'a verb after that');
}

done_testing();
