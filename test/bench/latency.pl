#!/usr/bin/perl
# Clients for latency.sh, which share the clock of the machine.
#
#   latency.pl listen DATABASE LOGIN FILE          until it is told to end: for each
#                                                  notification its id, event, and when it came
#   latency.pl decide DATABASE LOGIN FILE RATE     approves what stdin names (id, review_hash),
#                                                  so many in a second: id, when it was asked, when answered
#   latency.pl wait DATABASE LOGIN COUNT           so many sessions that wait() for the one request
#                                                  that stdin names; says so when all do
#
# PGHOST and PGPORT say where.  Times are in seconds since the epoch.

use strict;
use warnings;

use FindBin;
use IO::Handle;
use IO::Select;
use Time::HiRes qw(sleep time);

# Of the test framework, Wire asks for no more than this.
BEGIN
{
	$INC{'PostgreSQL/Test/Utils.pm'} = __FILE__;
	no warnings 'once';
	$PostgreSQL::Test::Utils::timeout_default = 3600;
}
use lib "$FindBin::Bin/../t";
use Wire;

package Place
{
	sub host { return $ENV{PGHOST} }
	sub port { return $ENV{PGPORT} }
}

my ($what, $database, $login, @more) = @ARGV;
my $place = bless {}, 'Place';

sub session
{
	return Wire->new($place, dbname => $database, user => $login);
}

sub listen_to
{
	my ($file) = @_;
	my $s = session();
	my $done = 0;

	open my $out, '>', $file or die "$file: $!";
	local $SIG{TERM} = sub { $done = 1 };
	$s->run('LISTEN approval');
	while (!$done)
	{
		next
		  unless length $s->{in}
		  || IO::Select->new($s->{socket})->can_read(0.1);
		my $message = $s->receive or last;
		next unless $message->[0] eq 'A';
		my $now = time;
		my ($id) = $message->[1] =~ /"id":"([^"]+)"/;
		my ($event) = $message->[1] =~ /"event":"([^"]+)"/;

		printf $out "%s %s %.6f\n", $id, $event, $now;
	}
	close $out;
	return;
}

sub decide
{
	my ($file, $rate) = @_;
	my $s = session();
	my $next = time;

	open my $out, '>', $file or die "$file: $!";
	while (my $line = <STDIN>)
	{
		my ($id, $hash) = split ' ', $line;

		$next += 1 / $rate;
		my $ahead = $next - time;
		sleep $ahead if $ahead > 0;
		my $asked = time;
		$s->run("SELECT FROM approval.approve('$id', '$hash', 'user:42')");
		printf $out "%s %.6f %.6f\n", $id, $asked, time;
	}
	close $out;
	return;
}

sub wait_for
{
	my ($count) = @_;
	my $id = <STDIN>;
	chomp $id;
	my @sessions = map { session() } 1 .. $count;

	$_->start("SELECT status FROM approval.wait('$id', '1 hour')")->flush
	  for @sessions;
	my $answered = 0;
	STDOUT->autoflush(1);
	print "waiting\n";
	my $go = <STDIN>;
	my $began = time;
	for my $s (@sessions)
	{
		$answered++ if ($s->finish->value // '') eq 'approved';
	}
	printf "%d answers, the last one after %.1f ms\n", $answered,
	  (time - $began) * 1000;
	return;
}

if    ($what eq 'listen') { listen_to(@more) }
elsif ($what eq 'decide') { decide(@more) }
elsif ($what eq 'wait')   { wait_for(@more) }
else                      { die "listen, decide or wait\n" }
