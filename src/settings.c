/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The approval.* settings, each with the reason to touch it.
 *
 * Whatever guards anything is PGC_SUSET.  A value that a plain user planted
 * before the library was loaded is checked again by core when the variable is
 * defined, and dropped.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "settings.h"

int			setting_decide_within;
int			setting_min_decide_within;
int			setting_use_within;
int			setting_lease;
int			setting_max_lease;
int			setting_max_action_size;
int			setting_notify;
bool		setting_commit_first;
bool		setting_force_sync;
bool		setting_separate_logins;
char	   *setting_tenant;

static const struct config_enum_entry notify_options[] = {
	{"auto", NOTIFY_AUTO, false},
	{"transaction", NOTIFY_TRANSACTION, false},
	{"off", NOTIFY_OFF, false},
	{NULL, 0, false}
};

typedef struct Seconds
{
	const char *name;
	const char *description;
	int		   *variable;
	int			boot;
	int			min;
	int			max;
} Seconds;

#define DAY 86400

static const Seconds seconds[] = {
	/*
	 * How long a person has to decide.  Shorten it where an old question is
	 * worse than none; lengthen it where weekends have to be survived.
	 */
	{"approval.decide_within", "Time to decide on a request.",
	&setting_decide_within, DAY, 1, 30 * DAY},

	/*
	 * The shortest time to decide that a proposer may ask for.  It keeps an
	 * agent from making questions that expire before anybody can read them.
	 */
	{"approval.min_decide_within", "Shortest time to decide that a proposer may ask for.",
	&setting_min_decide_within, 60, 1, 30 * DAY},

	/*
	 * How long an approval can be used.  The shorter, the less the world can
	 * have changed between the decision and the action.
	 */
	{"approval.use_within", "Time in which an approval has to be used.",
	&setting_use_within, 3600, 1, 30 * DAY},

	/*
	 * How long an executor that says nothing is believed to be at work. After
	 * it the outcome reads as unknown and a person has to settle it, so it
	 * should be well above the slowest run of a tool.
	 */
	{"approval.lease", "Lease of an execution that does not name one.",
	&setting_lease, 300, 1, 30 * DAY},

	/*
	 * The longest lease that an executor may ask for.
	 */
	{"approval.max_lease", "Longest lease that an executor may ask for.",
	&setting_max_lease, DAY, 1, 30 * DAY},
};

static void
define_seconds(void)
{
	int			i;

	for (i = 0; i < (int) lengthof(seconds); i++)
		DefineCustomIntVariable(seconds[i].name, seconds[i].description, NULL,
								seconds[i].variable, seconds[i].boot,
								seconds[i].min, seconds[i].max,
								PGC_SUSET, GUC_UNIT_S, NULL, NULL, NULL);
}

static void
define_switches(void)
{
	/*
	 * Off lets consume run inside a transaction block, so that a permit can
	 * be rolled back after its effect.  Only for logins whose answer leaves
	 * after the commit (PostgREST), set with ALTER ROLE, and for tests.
	 */
	DefineCustomBoolVariable("approval.commit_first",
							 "Consume refuses where its permit could be rolled back.",
							 NULL, &setting_commit_first, true,
							 PGC_SUSET, 0, NULL, NULL, NULL);

	/*
	 * Off lets synchronous_commit = off, which any user can set, apply to
	 * decisions and consumptions: a crash may then bring a used approval
	 * back.  Only for benchmarks and for effects inside this database.
	 */
	DefineCustomBoolVariable("approval.force_sync",
							 "Decisions and consumptions are flushed at commit, whatever synchronous_commit says.",
							 NULL, &setting_force_sync, true,
							 PGC_SUSET, 0, NULL, NULL, NULL);

	/*
	 * Off lets the login that proposed decide, for applications that run
	 * everything over one login.  Separation of duties then rests on the
	 * actors alone, that is, on the application.
	 */
	DefineCustomBoolVariable("approval.separate_logins",
							 "A login that proposed a request cannot decide on it.",
							 NULL, &setting_separate_logins, true,
							 PGC_SUSET, 0, NULL, NULL, NULL);
}

void
settings_init(void)
{
	define_seconds();
	define_switches();

	/*
	 * Upper bound, in bytes, of arguments, preview and metadata.  Raise it if
	 * people really have to read more; every verb hashes what is stored.
	 */
	DefineCustomIntVariable("approval.max_action_size",
							"Largest arguments, preview or metadata of a request.",
							NULL, &setting_max_action_size, 1024 * 1024,
							1024, 64 * 1024 * 1024,
							PGC_SUSET, GUC_UNIT_BYTE, NULL, NULL, NULL);

	/*
	 * Whether changes ring.  In the transaction every change takes a lock at
	 * commit that is shared by the whole cluster; switch it off where nobody
	 * listens.
	 */
	DefineCustomEnumVariable("approval.notify",
							 "How changes are announced to listeners.",
							 NULL, &setting_notify, NOTIFY_AUTO, notify_options,
							 PGC_SUSET, 0, NULL, NULL, NULL);

	/*
	 * Chooses one of the tenants that approval.logins allows to this login,
	 * for applications that do not want to pass it in every call.  It opens
	 * nothing, so anyone may set it.
	 */
	DefineCustomStringVariable("approval.tenant",
							   "Tenant to use, of those that the login is allowed.",
							   NULL, &setting_tenant, "",
							   PGC_USERSET, 0, NULL, NULL, NULL);

	MarkGUCPrefixReserved("approval");
}
