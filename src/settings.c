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

#include "miscadmin.h"
#include "utils/guc.h"

#include "settings.h"

int			setting_decide_within;
int			setting_min_decide_within;
int			setting_use_within;
int			setting_lease;
int			setting_max_lease;
int			setting_max_action_size;
int			setting_turn_wait;
int			setting_bulk_approvals;
int			setting_max_decide_within;
int			setting_claim;
int			setting_max_grant;
int			setting_quota_conversation;
int			setting_quota_login;
int			setting_quota_tenant;
int			setting_quota_conversation_bytes;
int			setting_quota_login_bytes;
int			setting_quota_tenant_bytes;
int			setting_run_iterations;
int			setting_run_iterations_per_day;
int			setting_capability_days;
int			setting_notify;
int			setting_max_wait = 30;
int			setting_waits_per_login = 1000;
int			setting_notify_pause = 5;
int			setting_worker_idle = 60;
int			setting_max_databases = 100;
bool		setting_commit_first;
bool		setting_force_sync;
bool		setting_separate_logins;
char	   *setting_tenant;

static const struct config_enum_entry notify_options[] = {
	{"auto", NOTIFY_AUTO, false},
	{"worker", NOTIFY_WORKER, false},
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
	 * How far into the future reviewers may move a deadline with extend().
	 * Long enough for holidays; a question that nobody answers for longer is
	 * better asked again.
	 */
	{"approval.max_decide_within", "Longest time to decide, from the proposal on, that extend() may give.",
	&setting_max_decide_within, 30 * DAY, 60, 366 * DAY},

	/*
	 * How long a reviewer's claim on a request holds.  Longer than it takes
	 * to look into one, shorter than a lunch: who goes home must not block
	 * it.
	 */
	{"approval.claim", "Time that a claim on a request holds.",
	&setting_claim, 600, 10, DAY},

	/*
	 * How long an approval can be used.  The shorter, the less the world can
	 * have changed between the decision and the action.
	 */
	{"approval.use_within", "Time in which an approval has to be used.",
	&setting_use_within, 3600, 1, 30 * DAY},

	/*
	 * How long an executor, or the orchestrator of a run, that says nothing
	 * is believed to be at work. After it the outcome reads as unknown and a
	 * person has to settle it, so it should be well above the slowest run of
	 * a tool.
	 */
	{"approval.lease", "Lease of an execution, or of a run, that does not name one.",
	&setting_lease, 300, 1, 30 * DAY},

	/*
	 * The longest lease that an executor or an orchestrator may ask for.
	 */
	{"approval.max_lease", "Longest lease that an executor or an orchestrator may ask for.",
	&setting_max_lease, DAY, 1, 30 * DAY},

	/*
	 * The longest time for which a person may allow a tool in advance.  A
	 * grant is made for a task, not for ever.
	 */
	{"approval.max_grant", "Longest time that a standing grant may hold.",
	&setting_max_grant, 30 * DAY, 60, 366 * DAY},
};

typedef struct Quota
{
	const char *name;
	const char *description;
	int		   *variable;
	int			boot;
	int			unit;
} Quota;

static const Quota quotas[] = {
	/*
	 * How many requests may wait for a person: of one conversation (the one
	 * without a name does not count), of one login, of one tenant.  What
	 * people cannot get through is better refused than approved unread.  0
	 * switches a quota off.
	 */
	{"approval.quota_conversation", "Requests of one conversation that may be pending; 0 for no limit.",
	&setting_quota_conversation, 1000, 0},
	{"approval.quota_login", "Requests of one login that may be pending in a tenant; 0 for no limit.",
	&setting_quota_login, 20000, 0},
	{"approval.quota_tenant", "Requests of one tenant that may be pending; 0 for no limit.",
	&setting_quota_tenant, 200000, 0},

	/*
	 * The same in bytes of arguments, preview, metadata and reason as they
	 * are stored: a few very long requests fill a disk as well as many.
	 */
	{"approval.quota_conversation_bytes", "Size of the pending requests of one conversation; 0 for no limit.",
	&setting_quota_conversation_bytes, 64 * 1024, GUC_UNIT_KB},
	{"approval.quota_login_bytes", "Size of the pending requests of one login in a tenant; 0 for no limit.",
	&setting_quota_login_bytes, 1024 * 1024, GUC_UNIT_KB},
	{"approval.quota_tenant_bytes", "Size of the pending requests of one tenant; 0 for no limit.",
	&setting_quota_tenant_bytes, 4 * 1024 * 1024, GUC_UNIT_KB},

	/*
	 * How often a run may go round, and all runs of a conversation together
	 * in 24 hours, where set_run_limits() says nothing else.  A loop that has
	 * not come to an end by then mostly never does, and costs money all the
	 * time.  0 for no limit.
	 */
	{"approval.run_iterations", "Iterations of a run; 0 for no limit.",
	&setting_run_iterations, 50, 0},
	{"approval.run_iterations_per_day", "Iterations of the runs of one conversation in 24 hours; 0 for no limit.",
	&setting_run_iterations_per_day, 500, 0},
};

static void
define_quotas(void)
{
	int			i;

	for (i = 0; i < (int) lengthof(quotas); i++)
		DefineCustomIntVariable(quotas[i].name, quotas[i].description, NULL,
								quotas[i].variable, quotas[i].boot, 0, INT_MAX,
								PGC_SUSET, quotas[i].unit, NULL, NULL, NULL);
}

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
define_waits(void)
{
	/*
	 * How long wait() and wait_conversation() wait at most: the statement
	 * holds a connection and keeps old row versions from being cleaned up, so
	 * callers ask again.
	 */
	DefineCustomIntVariable("approval.max_wait", "Longest time that a call of wait() waits.",
							NULL, &setting_max_wait, 30, 1, 3600,
							PGC_SUSET, GUC_UNIT_S, NULL, NULL, NULL);

	/*
	 * How many sessions of one login may wait at once, so that one
	 * application cannot use up all connections with waiting.
	 */
	DefineCustomIntVariable("approval.waits_per_login", "Calls of wait() that one login may have open; 0 for no limit.",
							NULL, &setting_waits_per_login, 1000, 0, INT_MAX,
							PGC_SUSET, 0, NULL, NULL, NULL);
}

/* Of the worker. */
static void
define_worker(void)
{
	/*
	 * How long the worker lets commits gather before it announces them
	 * together.  Longer costs writers less and listeners more.
	 */
	DefineCustomIntVariable("approval.notify_pause", "Pause of the worker between two rounds of notification.",
							NULL, &setting_notify_pause, 5, 0, 1000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	/*
	 * How long the worker of a database stays when nothing is due.  Each
	 * takes one of max_worker_processes; starting one takes about 20 ms.
	 */
	DefineCustomIntVariable("approval.worker_idle", "Time without work after which the worker of a database ends.",
							NULL, &setting_worker_idle, 60, 1, DAY,
							PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);
}

/* Decided when shared memory is laid out: only where the library is preloaded. */
static void
define_room(void)
{
	/*
	 * For how many databases with the extension there is room in shared
	 * memory.  In those beyond, changes ring in the transaction and
	 * expire_due() has to be called.
	 */
	DefineCustomIntVariable("approval.max_databases", "Databases that can have a worker.",
							NULL, &setting_max_databases, 100, 1, 10000,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);
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
							 "Consume and next_iteration refuse where they could be rolled back.",
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
	define_quotas();
	define_waits();
	define_worker();
	if (process_shared_preload_libraries_in_progress)
		define_room();

	/*
	 * How long a proposal waits for others that take from the same budget or
	 * grant; then it goes to a person.  So long, too, a run is waited for by
	 * who wants to start, claim or cancel it; then that is refused.  Longer
	 * than a commit takes under load, shorter than an agent is patient.
	 */
	DefineCustomIntVariable("approval.turn_wait",
							"How long a proposal waits for its turn at a budget or a grant, and a start, claim or stop for a run.",
							NULL, &setting_turn_wait, 2000, 0, 60000,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);

	/*
	 * How many approvals may be given in one gesture: by decide_many, and by
	 * what a decision map says of the rest.  Raise it where people really
	 * read longer lists; rejections are not limited by it.
	 */
	DefineCustomIntVariable("approval.bulk_approvals",
							"Approvals that one call of decide_many, or the rest of a decision map, may give together.",
							NULL, &setting_bulk_approvals, 50, 1, 1000,
							PGC_SUSET, 0, NULL, NULL, NULL);

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
	 * Whether changes ring, and who rings.  In the transaction every change
	 * takes a lock at commit that is shared by the whole cluster, and cannot
	 * be prepared; the worker rings for all of them a few milliseconds later.
	 * auto is the worker where the library is preloaded.  The worker goes by
	 * the setting of the server or database; off where nobody listens.
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

	/*
	 * How far back the view capabilities looks.  It guards nothing, so anyone
	 * may set it.
	 */
	DefineCustomIntVariable("approval.capability_days",
							"Days that the view capabilities looks back.",
							NULL, &setting_capability_days, 30, 1, 3660,
							PGC_USERSET, 0, NULL, NULL, NULL);

	MarkGUCPrefixReserved("approval");
}
