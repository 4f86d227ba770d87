package Docs;

# What the checks of the documentation share: a private server, fresh
# databases, and the blocks of a Markdown file.

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);

our @EXPORT = qw(slurp markdown_files blocks fresh_database psql);

my $top = abs_path(dirname(__FILE__) . '/../..');
chdir $top or die "cannot enter $top: $!\n";

my $mine;

sub slurp
{
	my ($file) = @_;
	open my $fh, '<:encoding(UTF-8)', $file or die "cannot read $file: $!\n";
	local $/ = undef;
	my $text = <$fh>;
	return $text;
}

sub markdown_files { return (glob('*.md'), glob('docs/*.md')); }

sub run_tool
{
	my @command = @_;
	system(@command) == 0 or die "@command failed\n";
	return;
}

# The cluster "docs", made new; several checks in a row share one.
sub need_server
{
	return if $mine || $ENV{APPROVAL_DOCS_SERVER};
	run_tool('demo/stage');
	run_tool('tools/cluster', 'destroy', 'docs');
	$mine = 1;
	run_tool('tools/cluster', 'start', 'docs', '--fsync', 'off');
	my $env = `bash -c 'eval "\$(tools/cluster env docs)" && env -0'`;
	%ENV = map { split /=/, $_, 2 } grep { /=/ } split /\0/, $env;
	return;
}

END
{
	my $code = $?;
	system('tools/cluster', 'destroy', 'docs') if $mine;
	$? = $code;
}

# A database with nothing in it, in a server without the logins of the last one.
sub fresh_database
{
	my ($name) = @_;

	need_server();
	my $sql = "DROP DATABASE IF EXISTS $name WITH (FORCE);\n";
	$sql .= "DROP ROLE IF EXISTS $_;\n" foreach qw(agent web executor);
	psql(
		'postgres', "SET client_min_messages = warning;\n$sql",
		'-v', 'ON_ERROR_STOP=1');
	psql('postgres', "CREATE DATABASE $name;\n", '-v', 'ON_ERROR_STOP=1');
	return;
}

# What psql answers to a script, errors where they happen.
sub psql
{
	my ($database, $script, @options) = @_;

	need_server();
	my $file = "build/docs.$$.sql";
	mkdir 'build';
	open my $fh, '>:encoding(UTF-8)', $file or die "cannot write $file: $!\n";
	print $fh $script;
	close $fh;
	my @command =
	  ('psql', '-X', '-d', $database, '-P', 'pager=off', @options);
	my $line = join ' ', map { "'$_'" } @command;
	my $answer = `$line <$file 2>&1`;
	my $code = $?;
	unlink $file;
	die "psql failed:\n$answer"
	  if $code && grep { $_ eq 'ON_ERROR_STOP=1' } @options;
	utf8::decode($answer);
	return $answer;
}

# The fenced blocks of a file in their order, and comments that begin with
# "run": {kind, text, line, comment}.  The comment is the one on the line above.
sub blocks
{
	my ($file) = @_;
	my (@found, $block, $comment);
	my $n = 0;

	foreach my $line (split /\n/, slurp($file))
	{
		$n++;
		if ($block)
		{
			if ($line eq $block->{end})
			{
				push @found, $block;
				$block = undef;
			}
			else { $block->{text} .= "$line\n"; }
			$comment = undef;
		}
		elsif ($line =~ /^```([\w-]*)$/)
		{
			$block = {
				kind => $1,
				text => '',
				line => $n,
				end => '```',
				comment => $comment // ''
			};
		}
		elsif ($line =~ /^<!-- (run\b.*[^>])$/)
		{
			$block = {
				kind => 'sql',
				text => '',
				line => $n,
				end => '-->',
				comment => $1
			};
		}
		elsif ($line =~ /^<!-- (.*) -->$/) { $comment = $1; }
		else                               { $comment = undef; }
	}
	die "$file: a block without an end\n" if $block;
	return @found;
}

1;
