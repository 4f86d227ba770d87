# Settings that were planted before the library was loaded open nothing.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('settings', conf => "fsync = off\n");
$node->start;
my $root = install_gate($node);
my ($agent, $alice, $runner) =
  map { Wire->new($node, user => $_) } qw(agent alice runner);
$root->run(
	"SELECT approval.register_login('wide', 'person', tenants => '{acme,other}')"
  )
  if $root->run(
	'CREATE ROLE wide LOGIN; GRANT approval_requester, approval_approver TO wide'
  );
propose_one(Wire->new($node, user => 'wide'), more => "tenant => 'other'");

# Settings that guard something, with the value that a user would like.
my %guards = (
	'approval.separate_logins' => 'off',
	'approval.commit_first' => 'off',
	'approval.force_sync' => 'off',
	'approval.notify' => 'off',
	'approval.decide_within' => '30d',
	'approval.min_decide_within' => '1s',
	'approval.use_within' => '30d',
	'approval.lease' => '30d',
	'approval.max_lease' => '30d',
	'approval.max_action_size' => '64MB',
	'approval.max_grant' => '366d',
	'approval.max_decide_within' => '366d',
	'approval.claim' => '1d',
	'approval.bulk_approvals' => '1000',
	'approval.turn_wait' => '60s',
	'approval.max_wait' => '3600s',
	'approval.waits_per_login' => '0',
	'approval.quota_conversation' => '0',
	'approval.quota_login' => '0',
	'approval.quota_tenant' => '0',
	'approval.quota_conversation_bytes' => '0',
	'approval.quota_login_bytes' => '0',
	'approval.quota_tenant_bytes' => '0',
	'approval.run_iterations' => '0',
	'approval.run_iterations_per_day' => '0');
$agent->run("SELECT * FROM approval.pending('')");
my %defaults = map { $_ => $agent->run("SHOW $_")->value } keys %guards;
is_deeply(
	[
		map { $_->[0] } @{
			$agent->run(
				q(SELECT name FROM pg_settings WHERE name LIKE 'approval.%' AND context = 'superuser' ORDER BY name COLLATE "C")
			)->{rows}
		}
	],
	[ sort keys %guards ],
	'each setting that guards something is tried');

# What a session of the user finds, whose settings were planted by CODE.
sub check_planted
{
	my ($how, $user, $connect) = @_;
	my $s = $connect->($user);

	# Whatever it is before, a verb loads the library.
	$s->query("SELECT * FROM approval.pending('')");
	is($s->run("SHOW $_")->value,
		$defaults{$_}, "$how, $user: $_ is as it was")
	  for sort keys %guards;
	return $s;
}

# The tenant that was planted is refused, and shows nothing.
sub check_tenant
{
	my ($how, $s) = @_;

	for my $sql (
		"SELECT * FROM approval.propose('planted-$how', 't', '{}')",
		"SELECT * FROM approval.request_of('00000000000000000000000000')",
		"SELECT * FROM approval.pending('')",
		"SELECT * FROM approval.outcomes('')")
	{
		is($s->query($sql)->sqlstate, '42501', "$how: $sql");
	}
	is( $s->run(
			"SELECT count(*) FROM approval.history WHERE tenant = 'other'")
		  ->value,
		0,
		"$how: no row of the tenant in a view");
}

my $options = join ' ', map { "-c $_=$guards{$_}" } sort keys %guards;

# With the connection.
check_planted(
	'PGOPTIONS',
	'agent',
	sub { Wire->new($node, user => $_[0], params => { options => $options }) }
);
check_planted('startup packet',
	'agent', sub { Wire->new($node, user => $_[0], params => {%guards}) });
check_tenant(
	'PGOPTIONS',
	Wire->new(
		$node,
		user => 'agent',
		params => { options => '-c approval.tenant=other' }));
check_tenant(
	'startup packet',
	Wire->new(
		$node,
		user => 'agent',
		params => { 'approval.tenant' => 'other' }));

# By SET before the library is there.
check_planted(
	'SET', 'agent',
	sub {
		my $s = Wire->new($node, user => $_[0]);
		$s->run("SET $_ = '$guards{$_}'") for sort keys %guards;
		return $s;
	});
check_planted(
	'SET LOCAL in a transaction',
	'agent',
	sub {
		my $s = Wire->new($node, user => $_[0]);
		$s->run('BEGIN');
		$s->run("SET LOCAL $_ = '$guards{$_}'") for sort keys %guards;
		$s->query("SELECT * FROM approval.pending('')");
		return $s;
	});
{
	my $s = Wire->new($node, user => 'agent');

	$s->run("SELECT set_config('approval.tenant', 'other', false)");
	check_tenant('SET', $s);
}

# By SET once it is there.
{
	my $s = Wire->new($node, user => 'agent');

	$s->query("SELECT * FROM approval.pending('')");
	is($s->query("SET $_ = '$guards{$_}'")->sqlstate,
		'42501', "SET $_ is denied")
	  for sort keys %guards;
	is($s->query("SET approval.tenant = 'other'")->verdict,
		'ok', 'SET approval.tenant is not');
	check_tenant('SET afterwards', $s);
	$s->run("SET approval.tenant = ''");
	is($s->query("SELECT * FROM approval.pending('')")->verdict,
		'ok', 'back to the own tenant');
}

# In a function that sets them for the time of its call.
{
	my $own = propose_one(Wire->new($node, user => 'wide'),
		more => "tenant => 'acme'");
	my $foreign = propose_one($agent);

	for my $loaded (0, 1)
	{
		for my $request ($own, $foreign)
		{
			my $call = literal(
				"SELECT status FROM approval.approve('$request->{id}', '$request->{review_hash}')"
			);
			my $s = Wire->new($node, user => 'wide');

			$s->run("SELECT * FROM approval.pending('', 'acme')") if $loaded;
			$s->run('SET check_function_bodies = off');
			for my $set (
				'approval.separate_logins = off',
				"approval.tenant = '$request->{tenant}'")
			{
				# Where it can be made at all.
				$s->query(
					"CREATE OR REPLACE FUNCTION pg_temp.planted() RETURNS text LANGUAGE sql SET $set AS $call"
				);
				$s->query('SELECT pg_temp.planted()');
			}
			like(
				state_of($root, $request),
				qr/^pending - 1 0/,
				"a function that plants, library loaded: $loaded, tenant '$request->{tenant}'"
			);
		}
	}
}

# In the catalogs, by the user.
{
	my $s = Wire->new($node, user => 'agent');

	for my $name (sort keys %guards)
	{
		# Some versions take it as long as nobody knows the name.
		$s->query("ALTER ROLE agent SET $name = '$guards{$name}'");
		$s->query(
			"ALTER ROLE agent IN DATABASE postgres SET $name = '$guards{$name}'"
		);
	}
	check_planted('ALTER ROLE', 'agent',
		sub { Wire->new($node, user => $_[0]) });
	$root->run('CREATE DATABASE theirs OWNER agent');
	$s = Wire->new($node, user => 'agent', dbname => 'theirs');
	$s->query("ALTER DATABASE theirs SET $_ = '$guards{$_}'")
	  for sort keys %guards;
	$root->run('ALTER ROLE agent RESET ALL');
	Wire->new($node, dbname => 'theirs')->run('CREATE EXTENSION approval');
	gate_logins(Wire->new($node, dbname => 'theirs'));
	check_planted('ALTER DATABASE by its owner',
		'agent', sub { Wire->new($node, user => $_[0], dbname => 'theirs') });

	# Once the library is there, anyone may set this one.
	$s = Wire->new($node, user => 'agent');
	$s->run("SELECT * FROM approval.pending('')");
	$s->run("ALTER ROLE agent SET approval.tenant = 'other'");
	check_tenant('ALTER ROLE', Wire->new($node, user => 'agent'));
	$root->run('ALTER ROLE agent RESET ALL');
	$root->run('ALTER ROLE agent IN DATABASE postgres RESET ALL');
}

# In the configuration file a tenant only chooses.
{
	$node->append_conf('postgresql.conf', "approval.tenant = 'other'");
	$node->reload;

	# A session sees the file as it was when it started.
	check_tenant('configuration file', Wire->new($node, user => 'agent'));
	is( Wire->new($node, user => 'wide')
		  ->query("SELECT tenant FROM approval.propose('file', 't', '{}')")
		  ->value,
		'other',
		'configuration file: a login that has the tenant gets it');
	$node->adjust_conf('postgresql.conf', 'approval.tenant', "''");
	$node->reload;
}

# What would open if they did.
{
	my $s = Wire->new(
		$node,
		user => 'wide',
		params => { options => "$options -c approval.tenant=acme" });
	my $request = propose_one($s);

	is($request->{tenant}, 'acme', 'an allowed tenant can be chosen');
	is( $s->query(decide_sql($request, 'approve'))->verdict,
		'PT403 self_approval',
		'separate_logins: the login that proposed cannot decide');
	$s->run("SET approval.tenant = 'other'");
	is( $s->query(decide_sql($request, 'approve'))->verdict,
		'PT404 not_found',
		'a request of another tenant is not there');

	$request = approved_one($agent, $alice);
	$s =
	  Wire->new($node, user => 'runner', params => { options => $options });
	$s->run('BEGIN');
	is( $s->query('SELECT * FROM ' . consume_sql($request))->verdict,
		'PT422 commit_first',
		'commit_first: consume in a block is refused');
}

# The administrator may.
{
	my $request = approved_one($agent, $alice);

	$root->run('ALTER ROLE runner SET approval.commit_first = off');
	my $s = Wire->new($node, user => 'runner');
	$s->run('BEGIN');
	is($s->query('SELECT * FROM ' . consume_sql($request))->verdict,
		'ok', 'ALTER ROLE by a superuser works');
	$s->run('ROLLBACK');
	$root->run('ALTER ROLE runner RESET approval.commit_first');
	$root->run('GRANT SET ON PARAMETER approval.notify TO agent');
	$s = Wire->new($node, user => 'agent');
	$s->query("SELECT * FROM approval.pending('')");
	is($s->query('SET approval.notify = off')->verdict,
		'ok', 'GRANT SET ON PARAMETER works');
	is($s->query('SET approval.commit_first = off')->sqlstate,
		'42501', 'for that one only');
}

done_testing();
