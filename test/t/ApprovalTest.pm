package ApprovalTest;

# Servers for TAP tests that find the extension in the staged installation
# (make stage), not in the system's directories.
#
#   my $node = new_node('main', preload => 1, conf => "work_mem = 8MB\n");
#
# new_node returns a PostgreSQL::Test::Cluster that is initialised and not yet
# started.  Options:
#   preload     the library is preloaded, so that the worker runs
#   conf        more lines for postgresql.conf
#   all others  go to init(), such as allows_streaming => 1

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use File::Spec;
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(new_node stage_settings);

# The superuser, whoever runs the tests; the framework takes what is set
# outside away when it is loaded.
$ENV{PGUSER} = 'postgres';

sub stage_settings
{
	my $top = File::Spec->rel2abs(dirname(__FILE__) . '/../..');
	my $stage = $ENV{APPROVAL_STAGE} || "$top/build/stage";
	my $settings = `'$top/tools/stage-settings' '$stage'`;

	die "cannot tell how to find the extension\n" if $? != 0;
	return $settings;
}

sub new_node
{
	my ($name, %opts) = @_;
	my $preload = delete $opts{preload};
	my $conf = delete $opts{conf} // '';
	my $node = PostgreSQL::Test::Cluster->new($name);

	# The extension refuses databases that are not UTF8.
	$node->init(
		%opts,
		extra => [
			'--username=postgres', '--encoding=UTF8',
			'--locale=C.UTF-8', @{ $opts{extra} // [] }
		]);
	$node->append_conf('postgresql.conf', stage_settings());
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = 'approval'")
	  if $preload;
	$node->append_conf('postgresql.conf', $conf);
	return $node;
}

1;
