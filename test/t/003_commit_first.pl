# A permit that the client has seen is never rolled back afterwards: consume
# either is the whole of its transaction, or refuses.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('commit_first', conf => "fsync = off\n");
$node->start;
my $root = install_gate($node);
my $agent = Wire->new($node, user => 'agent');
my $alice = Wire->new($node, user => 'alice');

$root->run(<<'SQL');
CREATE SCHEMA app;
GRANT ALL ON SCHEMA app TO runner;
CREATE FUNCTION app.in_plpgsql(id text, args json) RETURNS SETOF approval.permit
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT * FROM approval.consume(id, 'refund', args, 'marker');
END $$;
CREATE FUNCTION app.in_exception_block(id text, args json) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	p approval.permit;
BEGIN
	BEGIN
		p := approval.consume(id, 'refund', args, 'marker');
		RAISE NOTICE 'token % of marker', p.token;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		RETURN p.token || ' marker';
	END;
END $$;
CREATE PROCEDURE app.in_procedure(id text, args json)
LANGUAGE plpgsql AS $$
DECLARE
	p approval.permit;
BEGIN
	COMMIT;
	p := approval.consume(id, 'refund', args, 'marker');
	RAISE NOTICE 'marker %', p.token;
	ROLLBACK;
END $$;
CREATE FUNCTION app.in_sql(id text, args json) RETURNS SETOF approval.permit
LANGUAGE sql AS $$ SELECT * FROM approval.consume(id, 'refund', args, 'marker') $$;
CREATE FUNCTION app.in_scalar_sql(id text, args json) RETURNS text
LANGUAGE sql AS $$ SELECT execution_id FROM approval.consume(id, 'refund', args, 'marker') $$;
CREATE TABLE app.kept (execution_id text, token text);
GRANT ALL ON app.kept TO runner;
CREATE FUNCTION app.in_longer_sql(id text, args json) RETURNS text
LANGUAGE sql AS $$
	INSERT INTO app.kept SELECT execution_id, token FROM approval.consume(id, 'refund', args, 'marker');
	SELECT execution_id FROM app.kept LIMIT 1
$$;
CREATE TABLE app.fails (execution_id text CHECK (execution_id <> 'marker'));
GRANT ALL ON app.fails TO runner;
SQL

# What became of a request: whether the client saw the permit, and what the
# row says after its session has ended.
sub judge
{
	my ($runner, $request, @results) = @_;
	my $seen = grep {
		grep { ($_ // '') =~ /\bmarker\b/ } (map { @$_ } @{ $_->{rows} }),
		  $_->{copied},
		  map { ($_->{M}, $_->{D}) } @{ $_->{notices} }, @{ $_->{errors} }
	} @results;

	$runner->close;

	# The backend may still be on its way out.
	$root->run(
		"SELECT 1 FROM approval.requests WHERE id = '$request->{id}' FOR UPDATE"
	);
	my ($status) = split / /, state_of($root, $request);
	my @refusals = grep { $_ ne 'ok' } map { $_->verdict } @results;
	return ($seen ? 1 : 0, $status, @refusals);
}

# run_case NAME, WHAT, CODE: WHAT is "durable" (seen and kept), "refused" (PT422
# commit_first and usable afterwards), or "safe" (either, or an error of the
# server that leaves nothing behind).
sub run_case
{
	my ($name, $what, $code) = @_;
	my $request = approved_one($agent, $alice);
	my $runner = Wire->new($node, user => 'runner');
	my $select = consume_sql($request, execution => 'marker');
	my @results = $code->($runner, $select, $request);
	my ($seen, $status, @refusals) = judge($runner, $request, @results);

	if ($what eq 'durable')
	{
		is("$seen $status", '1 consumed', "$name: seen and kept");
	}
	elsif ($what eq 'refused')
	{
		is( join(', ', $seen, $status, $refusals[0] // 'no refusal'),
			'0, approved, PT422 commit_first',
			"$name: refused");
		my $again = Wire->new($node, user => 'runner');
		is($again->query("SELECT * FROM $select")->verdict,
			'ok', "$name: still usable");
	}
	else
	{
		ok( !$seen || $status eq 'consumed',
			"$name: not seen and then taken back"
		) or diag("seen $seen, $status, @refusals");
	}
}

# One simple query.
sub simple_case
{
	my ($name, $what, $sql) = @_;

	run_case(
		$name, $what,
		sub {
			my ($runner, $select, $request) = @_;
			my $text = $sql;

			$text =~ s/\bCONSUME\b/$select/g;
			$text =~ s/\bID\b/'$request->{id}'/g;
			$text =~ s/\bARGS\b/'$ARGUMENTS'/g;
			return $runner->query($text);
		});
}

# Messages of the extended protocol, ended by one Sync.
sub pipeline_case
{
	my ($name, $what, $code) = @_;

	run_case(
		$name, $what,
		sub {
			my ($runner, $select) = @_;

			$code->($runner, $select);
			return $runner->sync->finish;
		});
}

# Alone.
simple_case('SELECT *', 'durable', 'SELECT * FROM CONSUME');
simple_case('SELECT of a composite', 'durable', 'SELECT CONSUME');
simple_case('some columns', 'durable',
	'SELECT c.execution_id, c.token FROM CONSUME AS c');
simple_case('as json', 'durable', 'SELECT to_json(c) FROM CONSUME c');
simple_case('LIMIT 1', 'durable', 'SELECT * FROM CONSUME LIMIT 1');
simple_case('trailing semicolon', 'durable', 'SELECT * FROM CONSUME;');
simple_case('WITH ORDINALITY',
	'durable', 'SELECT * FROM CONSUME WITH ORDINALITY');
pipeline_case('extended', 'durable',
	sub { $_[0]->extended("SELECT * FROM $_[1]") });
pipeline_case('extended with LIMIT 1',
	'durable', sub { $_[0]->extended("SELECT * FROM $_[1] LIMIT 1") });
pipeline_case('named portal', 'durable',
	sub { $_[0]->extended("SELECT * FROM $_[1]", portal => 'p') });
pipeline_case(
	'described first',
	'durable',
	sub {
		my ($runner, $select) = @_;
		$runner->parse("SELECT * FROM $select", 's')->message('D', "Ss\0");
		$runner->bind('', 's')->message('D', "P\0")->execute('');
	});

# Pipelines.
pipeline_case(
	'first in a pipeline, then an error',
	'durable',
	sub {
		my ($runner, $select) = @_;
		$runner->extended("SELECT * FROM $select")->extended('SELECT 1/0');
	});
pipeline_case(
	'first in a pipeline, then ROLLBACK',
	'durable',
	sub {
		my ($runner, $select) = @_;
		$runner->extended("SELECT * FROM $select")->extended('ROLLBACK');
	});
pipeline_case(
	'first in a pipeline, then the same again',
	'durable',
	sub {
		my ($runner, $select) = @_;
		$runner->extended("SELECT * FROM $select")
		  ->extended("SELECT * FROM $select");
	});
run_case(
	'first in a pipeline that is never ended',
	'durable',
	sub {
		my ($runner, $select) = @_;
		my $r = $runner->extended("SELECT * FROM $select")->message('H')
		  ->finish('C');
		CORE::close($runner->{socket});
		delete $runner->{socket};
		return $r;
	});
pipeline_case('second in a pipeline',
	'refused',
	sub { $_[0]->extended('SELECT 1')->extended("SELECT * FROM $_[1]") });
pipeline_case(
	'second in a pipeline, then an error',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->extended('SELECT 1')->extended("SELECT * FROM $select")
		  ->extended('SELECT 1/0');
	});
pipeline_case(
	'after a suspended portal',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->extended(
			'SELECT generate_series(1, 9)',
			portal => 'g',
			limit => 1)->extended("SELECT * FROM $select");
	});
pipeline_case(
	'a row limit of 1',
	'refused',
	sub { $_[0]->extended("SELECT * FROM $_[1]", portal => 'p', limit => 1) }
);
pipeline_case(
	'a row limit of 1, then an error',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->extended("SELECT * FROM $select", portal => 'p', limit => 1)
		  ->extended('SELECT 1/0');
	});
pipeline_case(
	'a row limit of 2',
	'refused',
	sub { $_[0]->extended("SELECT * FROM $_[1]", portal => 'p', limit => 2) }
);
pipeline_case('BEGIN in a pipeline',
	'refused',
	sub { $_[0]->extended('BEGIN')->extended("SELECT * FROM $_[1]") });
pipeline_case(
	'FETCH from a portal of the protocol, with a row limit',
	'safe',
	sub {
		my ($runner, $select) = @_;
		$runner->parse("SELECT * FROM $select", 's')->bind('held', 's');
		$runner->extended('FETCH ALL FROM held', portal => 'p', limit => 1)
		  ->extended('SELECT 1/0');
	});

# Several statements in one string.
simple_case(
	'a string: before an error',
	'refused',
	'SELECT * FROM CONSUME; SELECT 1/0');
simple_case(
	'a string: before another',
	'refused',
	'SELECT * FROM CONSUME; SELECT 1');
simple_case(
	'a string: after another',
	'refused',
	'SELECT 1; SELECT * FROM CONSUME');
simple_case('a string: after SET',
	'refused', 'SET application_name = x; SELECT * FROM CONSUME');

# Transactions.
run_case(
	'BEGIN',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->run('BEGIN');
		return $runner->query("SELECT * FROM $select");
	});
run_case(
	'savepoint',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->run('BEGIN');
		$runner->run('SAVEPOINT s');
		my $r = $runner->query("SELECT * FROM $select");
		$runner->run('ROLLBACK TO s');
		return $r;
	});
simple_case('BEGIN in the same string',
	'refused', 'BEGIN; SELECT * FROM CONSUME');
run_case(
	'try_consume in a block',
	'safe',
	sub {
		my ($runner, $select) = @_;
		$runner->run('BEGIN');
		(my $try = $select) =~ s/consume/try_consume/;
		my $r =
		  $runner->run("SELECT ok, reason, http_status, permit FROM $try");
		is_deeply(
			$r->{rows}[0],
			[ 'f', 'commit_first', 422, undef ],
			'try_consume in a block says commit_first');
		return $r;
	});

# Functions and their like.
simple_case('PL/pgSQL', 'refused', 'SELECT * FROM app.in_plpgsql(ID, ARGS)');
simple_case(
	'PL/pgSQL in the target list',
	'refused',
	'SELECT app.in_plpgsql(ID, ARGS)');
simple_case('an exception block',
	'refused', 'SELECT app.in_exception_block(ID, ARGS)');
simple_case('CALL, after COMMIT',
	'refused', 'CALL app.in_procedure(ID, ARGS)');
simple_case('DO', 'refused',
	q{DO $$ DECLARE p approval.permit; BEGIN p := CONSUME; RAISE NOTICE 'marker %', p.token; END $$}
);
simple_case(
	'DO with dynamic SQL',
	'refused',
	q{DO $$ DECLARE t text; BEGIN EXECUTE $x$ SELECT token FROM CONSUME $x$ INTO t; RAISE NOTICE 'marker %', t; RAISE division_by_zero; END $$}
);
simple_case('SQL', 'refused', 'SELECT * FROM app.in_sql(ID, ARGS)');
simple_case('SQL, scalar', 'refused', 'SELECT app.in_scalar_sql(ID, ARGS)');
simple_case('SQL, two statements',
	'refused', 'SELECT app.in_longer_sql(ID, ARGS)');
simple_case('EXPLAIN ANALYZE',
	'refused', 'EXPLAIN ANALYZE SELECT * FROM CONSUME');
run_case(
	'the function call message',
	'refused',
	sub {
		my ($runner, $select, $request) = @_;
		my $oid =
		  $root->run("SELECT 'approval.consume'::regproc::oid::int")->value;
		my @values = (
			$request->{id}, $TOOL, $ARGUMENTS, 'marker',
			'', undef, undef, undef,
			undef);
		my $body = pack('NnnN', $oid, 0, 0, 0);

		# formats: none, so all are text; then the arguments and the format of the result
		$body = pack('Nn', $oid, 0) . pack('n', scalar @values);
		$body .= defined $_ ? pack('N', length $_) . $_ : pack('l>', -1)
		  for @values;
		$body .= pack('n', 0);
		return $runner->message('F', $body)->finish;
	});

# Cursors and prepared statements.
run_case(
	'cursor in a block',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->run("BEGIN; DECLARE c CURSOR FOR SELECT * FROM $select");
		return $runner->query('FETCH 1 FROM c');
	});
run_case(
	'cursor in a block, FETCH ALL',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->run("BEGIN; DECLARE c CURSOR FOR SELECT * FROM $select");
		return $runner->query('FETCH ALL FROM c');
	});
run_case(
	'cursor WITH HOLD in a block',
	'safe',
	sub {
		my ($runner, $select) = @_;
		$runner->run(
			"BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM $select");
		my $commit = $runner->query('COMMIT');
		return ($commit, $runner->query('FETCH ALL FROM c'));
	});
run_case(
	'cursor WITH HOLD in a block, fetched in it',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->run(
			"BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM $select");
		return $runner->query('FETCH 1 FROM c');
	});
run_case(
	'cursor WITH HOLD outside a block',
	'safe',
	sub {
		my ($runner, $select) = @_;
		my $declare = $runner->query(
			"DECLARE c CURSOR WITH HOLD FOR SELECT * FROM $select");
		return ($declare, $runner->query('FETCH ALL FROM c'));
	});
run_case(
	'EXECUTE',
	'safe',
	sub {
		my ($runner, $select) = @_;
		$runner->run("PREPARE p AS SELECT * FROM $select");
		return $runner->query('EXECUTE p');
	});
run_case(
	'EXECUTE in a block',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->run("PREPARE p AS SELECT * FROM $select");
		$runner->run('BEGIN');
		return $runner->query('EXECUTE p');
	});
run_case(
	'EXECUTE before an error in one string',
	'refused',
	sub {
		my ($runner, $select) = @_;
		$runner->run("PREPARE p AS SELECT * FROM $select");
		return $runner->query('EXECUTE p; SELECT 1/0');
	});
run_case(
	'EXECUTE in a pipeline with a row limit, then an error',
	'safe',
	sub {
		my ($runner, $select) = @_;
		$runner->run("PREPARE p AS SELECT * FROM $select");
		$runner->extended('EXECUTE p', portal => 'p', limit => 1)
		  ->extended('SELECT 1/0');
		return $runner->sync->finish;
	});
run_case(
	'EXECUTE in a pipeline, then an error',
	'safe',
	sub {
		my ($runner, $select) = @_;
		$runner->run("PREPARE p AS SELECT * FROM $select");
		$runner->extended('EXECUTE p', portal => 'p')->extended('SELECT 1/0');
		return $runner->sync->finish;
	});

# Statements around it.
simple_case('COPY TO STDOUT',
	'refused', 'COPY (SELECT * FROM CONSUME) TO STDOUT');
simple_case('INSERT', 'refused',
	'INSERT INTO app.kept SELECT execution_id, token FROM CONSUME');
simple_case(
	'INSERT RETURNING',
	'refused',
	'INSERT INTO app.kept SELECT execution_id, token FROM CONSUME RETURNING *'
);
simple_case('CREATE TABLE AS',
	'refused',
	'CREATE TABLE app.t1 AS SELECT execution_id, token FROM CONSUME');
simple_case('SELECT INTO', 'refused',
	'SELECT execution_id, token INTO app.t2 FROM CONSUME');
simple_case(
	'CREATE MATERIALIZED VIEW',
	'refused',
	'CREATE MATERIALIZED VIEW app.m AS SELECT execution_id, token FROM CONSUME'
);
run_case(
	'CREATE TABLE AS EXECUTE',
	'safe',
	sub {
		my ($runner, $select) = @_;
		$runner->run("PREPARE p AS SELECT * FROM $select");
		return $runner->query('CREATE TABLE app.t3 AS EXECUTE p');
	});
simple_case('CTE', 'refused',
	'WITH c AS MATERIALIZED (SELECT * FROM CONSUME) SELECT * FROM c');
simple_case(
	'CTE that writes',
	'refused',
	'WITH c AS (INSERT INTO app.kept SELECT execution_id, token FROM CONSUME RETURNING *) SELECT * FROM c'
);
simple_case(
	'CTE that fails',
	'refused',
	'WITH f AS (INSERT INTO app.fails VALUES (1) RETURNING 1) SELECT * FROM CONSUME'
);
simple_case(
	'UNION ALL',
	'refused',
	'SELECT execution_id, token FROM CONSUME UNION ALL SELECT 1::text, (1 / (random() * 0)::int)::text'
);
simple_case('a sleep beside it',
	'refused', 'SELECT c.*, s FROM CONSUME c, pg_sleep(0) s');
simple_case('a join', 'refused',
	'SELECT c.* FROM CONSUME c JOIN app.kept k ON true');
simple_case('ROWS FROM', 'refused',
	'SELECT * FROM ROWS FROM (CONSUME, generate_series(1, 9))');
simple_case('a subquery', 'refused',
	'SELECT (SELECT token FROM CONSUME), 1/(random() * 0)::int');
simple_case('an aggregate', 'refused',
	'SELECT count(*), max(execution_id) FROM CONSUME');
simple_case(
	'a set in the target list',
	'refused',
	'SELECT (c).execution_id, 1 / (3 - generate_series(1, 9)) FROM CONSUME c'
);
simple_case('WHERE', 'refused', 'SELECT * FROM CONSUME WHERE attempt = 1');
run_case(
	'in its own arguments, which then fail and say why',
	'safe',
	sub {
		my ($runner, $select, $request) = @_;
		return $runner->query(
				"SELECT * FROM approval.consume('$request->{id}', '$TOOL',"
			  . " (($select).execution_id)::json, 'run-2')");
	});
simple_case('ORDER BY', 'safe', 'SELECT * FROM CONSUME ORDER BY 1');
simple_case(
	'in a row of a set, with an error in the next',
	'refused',
	'SELECT CASE WHEN g = 1 THEN (CONSUME)::text ELSE (1 / (2 - g))::text END FROM generate_series(1, 2) g'
);
simple_case(
	'as the argument of a set, with an error in the next row',
	'refused',
	q{SELECT t, 1 / (length(t) - 1) FROM unnest(ARRAY[(CONSUME)::text, 'x']) t}
);
simple_case(
	"in a function ($_) in its own arguments, which then fail and say why",
	'safe',
	qq{SELECT * FROM approval.consume(ID, 'refund', app.${_}(ID, ARGS)::json, 'run-2')}
) for qw(in_scalar_sql in_longer_sql);
run_case(
	'as the argument of a set, whose next row the client cannot be told',
	'safe',
	sub {
		my ($runner, $select) = @_;
		$runner->run("SET client_encoding = 'LATIN1'");
		return $runner->query(
			"SELECT t FROM unnest(ARRAY[($select)::text, U&'\\+01F600']) t");
	});

# With the switch off (for logins whose answer leaves after the commit) a
# savepoint still does not make a second permit.
{
	my $request = approved_one($agent, $alice);
	my $runner = Wire->new($node, user => 'runner');
	my $select = 'SELECT * FROM ' . consume_sql($request);

	$root->run('ALTER ROLE runner SET approval.commit_first = off');
	$runner = Wire->new($node, user => 'runner');
	$runner->run('BEGIN');
	$runner->run('SAVEPOINT s');
	is($runner->query($select)->verdict,
		'ok', 'switched off: consume in a savepoint');
	$runner->run('ROLLBACK TO s');
	is( $runner->query($select)->verdict,
		'PT409 already_consumed',
		'switched off: once in a transaction');
	$runner->run('ROLLBACK');
	is( state_of($root, $request),
		'approved - 2 1',
		'switched off: rolled back, as asked for');
	$runner->run('BEGIN');
	is($runner->query($select)->verdict,
		'ok', 'switched off: another transaction');
	is( $runner->query($select)->verdict,
		'PT409 already_consumed',
		'switched off: not a second time');
	$runner->run('ROLLBACK');
	$root->run('ALTER ROLE runner RESET approval.commit_first');
}

is_deeply([ verify_all($root) ], [], 'every chain verifies');

done_testing();
