package Wire;

# A client that speaks the protocol of PostgreSQL by hand, for tests that need
# what no driver offers: 64 sessions in one process, any message in any order,
# a row limit in Execute, and the rows that came before an error.
#
#   my $s = Wire->new($node, user => 'agent', dbname => 'postgres');
#   my $r = $s->query('SELECT 1');          # simple protocol
#   $r->value; $r->sqlstate; $r->detail->{reason};
#   $s->start('SELECT 1'); ... $r = $s->finish;
#   $s->extended('SELECT 1'), $s->sync, $r = $s->finish;
#
# A result is a hash: rows, tags, errors, notices, notifications, log (the
# types of the messages in order), status (I, T or E).

use strict;
use warnings;

use IO::Select;
use IO::Socket::UNIX;
use JSON::PP                ();
use PostgreSQL::Test::Utils ();

my $patience = $PostgreSQL::Test::Utils::timeout_default || 180;

sub new
{
	my ($class, $node, %opts) = @_;
	my $host = $node->host;
	my $socket =
	  $host =~ m|^/|
	  ? IO::Socket::UNIX->new(Peer => "$host/.s.PGSQL." . $node->port)
	  : IO::Socket::INET->new(PeerHost => $host, PeerPort => $node->port);
	die "cannot connect: $!\n" unless $socket;
	my $self = bless {
		socket => $socket,
		in => '',
		out => '',
		notifications => []
	}, $class;
	my %params = (
		user => $opts{user} // 'postgres',
		database => $opts{dbname} // 'postgres',
		client_encoding => 'UTF8',
		%{ $opts{params} // {} });
	my $body =
	  pack('N', 196608)
	  . join('', map { "$_\0$params{$_}\0" } sort keys %params) . "\0";

	$self->{out} = pack('N', 4 + length $body) . $body;
	my $result = $self->finish;
	if (my $error = $result->{errors}[0])
	{
		die "cannot connect: $error->{M}\n" unless $opts{may_fail};
		$self->{refused} = $error;
	}
	return $self;
}

sub close
{
	my $self = shift;

	return unless $self->{socket};
	$self->message('X');
	eval { $self->flush };
	CORE::close(delete $self->{socket});
}

# Puts one message into the buffer.
sub message
{
	my ($self, $type, $body) = @_;

	$self->{out} .=
	  $type . pack('N', 4 + length($body // '')) . ($body // '');
	return $self;
}

sub flush
{
	my $self = shift;

	while (length $self->{out})
	{
		my $n = syswrite($self->{socket}, $self->{out});
		die "connection lost\n" unless defined $n;
		substr($self->{out}, 0, $n) = '';
	}
	return $self;
}

# Waits for one message; undef at the end of the connection.
sub receive
{
	my $self = shift;

	$self->flush;
	until (  length $self->{in} >= 5
		  && length $self->{in} >= 1 + unpack('N', substr($self->{in}, 1, 4)))
	{
		IO::Select->new($self->{socket})->can_read($patience)
		  or die "no answer in $patience seconds\n";
		my $n =
		  sysread($self->{socket}, $self->{in}, 65536, length $self->{in});
		return undef unless $n;
	}
	my $length = unpack('N', substr($self->{in}, 1, 4));
	my $message = substr($self->{in}, 0, 1 + $length, '');
	return [ substr($message, 0, 1), substr($message, 5) ];
}

sub fields
{
	return { map { (substr($_, 0, 1) => substr($_, 1)) } split(/\0/, $_[0]) };
}

sub row
{
	my $body = shift;
	my $count = unpack('n', $body);
	my $at = 2;
	my @values;

	for (1 .. $count)
	{
		my $length = unpack('l>', substr($body, $at, 4));
		$at += 4;
		push @values, $length < 0 ? undef : substr($body, $at, $length);
		$at += $length if $length > 0;
	}
	return \@values;
}

# Reads until the server is ready (or, given a type, until that message).
sub finish
{
	my ($self, $until) = @_;
	my $result = bless {
		rows => [],
		tags => [],
		errors => [],
		notices => [],
		copied => '',
		log => ''
	  },
	  'Wire::Result';

	$until //= 'Z';
	while (1)
	{
		my $message = $self->receive;
		if (!$message)
		{
			$result->{lost} = 1;
			last;
		}
		my ($type, $body) = @$message;
		if ($type eq 'A')
		{
			my ($channel, $payload) = split(/\0/, substr($body, 4));
			push @{ $self->{notifications} }, [ $channel, $payload // '' ];
			next;
		}
		$result->{log} .= $type unless $type =~ /[SKRN]/;
		push @{ $result->{rows} }, row($body) if $type eq 'D';
		push @{ $result->{tags} }, substr($body, 0, -1) if $type eq 'C';
		push @{ $result->{errors} }, fields($body) if $type eq 'E';
		push @{ $result->{notices} }, fields($body) if $type eq 'N';
		$result->{copied} .= $body if $type eq 'd';
		$result->{status} = $body if $type eq 'Z';
		$result->{columns} = [ columns($body) ] if $type eq 'T';
		last if $type eq $until || $type eq 'Z';
		last if $type eq 'E' && $body =~ /^SFATAL/;
	}
	return $result;
}

sub columns
{
	my $body = shift;
	my $count = unpack('n', $body);
	my $at = 2;
	my @names;

	for (1 .. $count)
	{
		my $end = index($body, "\0", $at);
		push @names, substr($body, $at, $end - $at);
		$at = $end + 19;
	}
	return @names;
}

sub start
{
	my ($self, $sql) = @_;

	return $self->message('Q', "$sql\0")->flush;
}

sub query
{
	my ($self, $sql) = @_;

	$self->start($sql);
	return $self->finish;
}

# query that must succeed.
sub run
{
	my ($self, $sql) = @_;
	my $result = $self->query($sql);

	die "$sql: $result->{errors}[0]{C} $result->{errors}[0]{M} "
	  . ($result->{errors}[0]{D} // '') . "\n"
	  if @{ $result->{errors} };
	return $result;
}

# The pieces of the extended protocol; all into the buffer.
sub parse { return $_[0]->message('P', "$_[2]\0$_[1]\0" . pack('n', 0)) }

sub bind
{
	return $_[0]->message('B', "$_[1]\0$_[2]\0" . pack('nnn', 0, 0, 0));
}
sub execute { return $_[0]->message('E', "$_[1]\0" . pack('N', $_[2] // 0)) }
sub sync    { return $_[0]->message('S') }

sub extended
{
	my ($self, $sql, %opts) = @_;

	$self->parse($sql, '');
	$self->bind($opts{portal}    // '', '');
	$self->execute($opts{portal} // '', $opts{limit});
	return $self;
}

# Whether nothing has come yet.
sub waits
{
	my $self = shift;

	$self->flush;
	return !length $self->{in}
	  && !IO::Select->new($self->{socket})->can_read(0);
}

sub pid
{
	my $self = shift;

	return $self->{pid} //= $self->run('SELECT pg_backend_pid()')->value;
}

# Those of the sessions that something has come for; waits until it has for one.
sub answered
{
	my @sessions = @_;
	my @full = grep { length $_->{in} } @sessions;
	my %session = map { fileno $_->{socket} => $_ } @sessions;

	return @full if @full;
	return
	  map { $session{ fileno $_ } }
	  IO::Select->new(map { $_->{socket} } @sessions)->can_read;
}

# Takes the notifications that have come so far.
sub notifications
{
	my $self = shift;

	# They come before the answer to the next statement.
	$self->run('SELECT 1') if $self->{socket};
	my @taken = @{ $self->{notifications} };
	$self->{notifications} = [];
	return @taken;
}

package Wire::Result;

sub value    { return $_[0]{rows}[0] ? $_[0]{rows}[0][0] : undef }
sub error    { return $_[0]{errors}[0] }
sub sqlstate { return $_[0]{errors}[0] ? $_[0]{errors}[0]{C} : '' }

sub detail
{
	my $self = shift;
	my $text = $self->{errors}[0] ? $self->{errors}[0]{D} : undef;

	return {} unless defined $text;
	return eval { JSON::PP->new->utf8->decode($text) } // {};
}

# SQLSTATE and reason, or "ok".
sub verdict
{
	my $self = shift;

	return 'ok' unless @{ $self->{errors} };
	return join ' ', grep { defined } $self->sqlstate,
	  $self->detail->{reason};
}

# The first row by column names.
sub record
{
	my $self = shift;
	my %record;

	return undef unless $self->{rows}[0];
	@record{ @{ $self->{columns} } } = @{ $self->{rows}[0] };
	return \%record;
}

1;
