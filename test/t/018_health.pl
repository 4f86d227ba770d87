# The view health about what only a whole server shows: a notification queue
# that fills, and who keeps it.

use strict;
use warnings;

use ApprovalTest;
use Gate;
use PostgreSQL::Test::Utils;
use Test::More;
use Wire;

my $node = new_node('health', preload => 1, conf => "fsync = off\n");
$node->start;
my $root = install_gate($node);
$node->safe_psql('postgres',
	'CREATE ROLE sleeper LOGIN; CREATE ROLE watcher LOGIN; GRANT approval_auditor TO watcher'
);
my $sleeper = Wire->new($node, user => 'sleeper');
my $watcher = Wire->new($node, user => 'watcher');

sub queue
{
	return $watcher->run(
		"SELECT subject || ' ' || severity || ' ' || problem || ' ' || (since <= clock_timestamp()) FROM approval.health WHERE kind = 'queue'"
	)->value // 'nothing';
}

is(queue(), 'nothing', 'an empty queue is no problem');

# A listener in a transaction reads nothing.
my $pid = $sleeper->run('SELECT pg_backend_pid()')->value;
$sleeper->run('LISTEN everything');
$sleeper->run('BEGIN');
$sleeper->run('SELECT 1');
is(queue(), 'nothing', 'nor is a listener in a transaction');
is( $watcher->run(
		"SELECT concat_ws(' ', pid, login, database, state) FROM approval.oldest_transaction()"
	)->value,
	"$pid sleeper postgres idle in transaction",
	'which is the oldest one');
$root->run(
	"SELECT pg_notify('everything', i || repeat('x', 7900)) FROM generate_series(1, 12000) i"
);
like(
	queue(),
	qr/^pid $pid warning the notification queue is 1\.\d % full.* of sleeper in postgres \(idle in transaction\) true$/,
	'a queue that fills is one, and whose transaction is in the way');

# It reads, and the queue is given back.
$sleeper->run('COMMIT');
$sleeper->close;
$root->run("LISTEN nothing; NOTIFY nothing");
for (1 .. 500)
{
	last if queue() eq 'nothing';
	$root->run('NOTIFY nothing');
	select(undef, undef, undef, 0.02);
}
is(queue(), 'nothing', 'until the listener has read');

# The caller's own transaction does not count.
$watcher->run('BEGIN');
is( $watcher->run('SELECT count(pid) FROM approval.oldest_transaction()')
	  ->value,
	0, 'nobody else is in one');
$watcher->run('ROLLBACK');

is( $watcher->run(
		"SELECT count(*) FROM approval.health WHERE kind = 'worker'")->value,
	0,
	'the worker is at work');

$watcher->close;
$root->close;
$node->stop;
done_testing();
