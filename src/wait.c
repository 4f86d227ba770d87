/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  Waiting for a decision without polling.
 *
 * Whoever commits a change wakes those who wait for that request or
 * conversation, or for one with the same hash; each then looks for itself, in a
 * fresh snapshot.  A deadline is a time that a waiter knows.  Without the
 * library preloaded, and on a standby, there is nothing shared to sleep on, and
 * waiters look again every half second.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "read.h"
#include "row.h"
#include "settings.h"
#include "wait.h"
#include "worker_shmem.h"

PG_FUNCTION_INFO_V1(approval_wait);
PG_FUNCTION_INFO_V1(approval_wait_conversation);

#define POLL_MS 500

/* What this transaction has touched; more than that is everything. */
#define MOST_TOUCHED 64
static uint16 touched[MOST_TOUCHED];
static int	ntouched = 0;
static bool touched_all = false;

/* One call, and what it waits for. */
typedef struct Wait
{
	Call		call;
	const Ulid *id;				/* or a conversation */
	const char *conversation_id;
	ConditionVariable *changed; /* NULL: nothing to sleep on */
	TimestampTz end;
	TimestampTz now;			/* when it was looked last */
	bool		pending;
	TimestampTz deadline;		/* of the first that lapses */
} Wait;

static uint16
bucket(const char *tenant, const void *key, int len)
{
	uint32		hash = hash_bytes((const unsigned char *) tenant, strlen(tenant));

	hash = hash_combine(hash, hash_bytes(key, len));
	return (uint16) (hash_combine(hash, MyDatabaseId) % WAIT_BUCKETS);
}

static void
touch(uint16 number)
{
	int			i;

	for (i = 0; i < ntouched; i++)
		if (touched[i] == number)
			return;
	if (ntouched == MOST_TOUCHED)
		touched_all = true;
	else
		touched[ntouched++] = number;
}

void
wait_touch(const char *tenant, const Ulid *id, const char *conversation_id)
{
	if (worker_shared == NULL || touched_all)
		return;
	touch(bucket(tenant, id, sizeof(Ulid)));
	touch(bucket(tenant, conversation_id, strlen(conversation_id)));
}

void
wait_touch_all(void)
{
	touched_all = true;
}

void
wait_tell(void)
{
	int			i;

	if (touched_all)
		for (i = 0; i < WAIT_BUCKETS; i++)
			ConditionVariableBroadcast(&worker_shared->changed[i]);
	else
		for (i = 0; i < ntouched; i++)
			ConditionVariableBroadcast(&worker_shared->changed[touched[i]]);
}

void
wait_forget(void)
{
	ntouched = 0;
	touched_all = false;
}

static void
leave(void)
{
	if (worker_waits)
		worker_waits[MY_PROC_NUMBER] = InvalidOid;
}

static void
leave_at_exit(int code, Datum arg)
{
	leave();
}

/* One of those who wait; a login has so many of them. */
static void
enter(Call *call)
{
	static bool registered = false;
	int			count = 0;
	int			i;

	if (worker_waits == NULL)
		return;
	for (i = 0; i < MaxBackends; i++)
		if (worker_waits[i] == call->caller->login_oid)
			count++;
	if (setting_waits_per_login > 0 && count >= setting_waits_per_login)
	{
		errors_member_constant(&call->refusal, "scope", "waits");
		errors_member_raw(&call->refusal, "limit", psprintf("%d", setting_waits_per_login));
		call_refuse(call, REASON_QUOTA);
		errors_raise(&call->refusal);
	}
	if (!registered)
		before_shmem_exit(leave_at_exit, (Datum) 0);
	registered = true;
	worker_waits[MY_PROC_NUMBER] = call->caller->login_oid;
}

static void
look_at_request(Wait *wait)
{
	if (read_found(&wait->call, row_find(wait->call.tenant, wait->id, NULL), wait->now) == STEP_REFUSED)
		errors_raise(&wait->call.refusal);
	wait->pending = wait->call.effective.status == STATUS_PENDING;
	wait->deadline = request_time(wait->call.request, REQ_EXPIRES_AT);
}

static void
note_pending(const Request *request, Effective effective, void *state)
{
	Wait	   *wait = state;

	if (effective.status != STATUS_PENDING)
		return;
	wait->pending = true;
	wait->deadline = Min(wait->deadline, request_time(request, REQ_EXPIRES_AT));
}

static void
look_at_conversation(Wait *wait)
{
	wait->pending = false;
	wait->deadline = DT_NOEND;
	PushActiveSnapshot(GetTransactionSnapshot());
	read_conversation(&wait->call, wait->conversation_id, NULL, EXTENT_PENDING, wait->now, note_pending, wait);
	PopActiveSnapshot();
}

static void
look(Wait *wait)
{
	wait->now = GetCurrentTimestamp();
	if (wait->id)
		look_at_request(wait);
	else
		look_at_conversation(wait);
}

static void
sleep_until(const Wait *wait, TimestampTz until)
{
	static uint32 wait_event = 0;
	long		pause = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until) + 1;

	if (wait_event == 0)
		wait_event = compat_wait_event("ApprovalWait");
	if (wait->changed)
	{
		(void) ConditionVariableTimedSleep(wait->changed, pause, wait_event);
		return;
	}
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Min(pause, POLL_MS), wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Until nothing is pending any more, or the time is up. */
static void
wait_on(Wait *wait)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "approval wait", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (;;)
	{
		MemoryContextReset(context);

		/* first, so that no change goes by between looking and sleeping */
		if (wait->changed)
			ConditionVariablePrepareToSleep(wait->changed);
		look(wait);
		if (!wait->pending || wait->now >= wait->end)
			break;
		sleep_until(wait, Min(wait->end, wait->deadline));
	}
	if (wait->changed)
		ConditionVariableCancelSleep();
	MemoryContextSwitchTo(old);
}

static void
wait_begin(Wait *wait, FunctionCallInfo fcinfo, const char *verb)
{
	int64		most = setting_max_wait * USECS_PER_SEC;
	int64		timeout;

	memset(wait, 0, sizeof(*wait));
	if (IsolationUsesXactSnapshot())
		errors_raise_standard(ERRCODE_INVALID_TRANSACTION_STATE,
							  "cannot wait for others in this isolation level", "isolation_level", 400, "",
							  "Under REPEATABLE READ and SERIALIZABLE nothing that others do becomes visible. Use READ COMMITTED.");
	timeout = args_span(fcinfo, 1, "timeout", most, 0, PG_INT64_MAX);
	verb_begin(&wait->call, fcinfo, verb);
	call_tenant(&wait->call, 2);
	wait->end = GetCurrentTimestamp() + Min(timeout, most);
}

static void
wait_bounded(Wait *wait)
{
	/* on a standby nobody commits */
	if (worker_shared && !RecoveryInProgress())
		wait->changed = &worker_shared->changed[wait->id ?
												bucket(wait->call.tenant, wait->id, sizeof(Ulid)) :
												bucket(wait->call.tenant, wait->conversation_id, strlen(wait->conversation_id))];
	enter(&wait->call);
	PG_TRY();
	{
		wait_on(wait);
	}
	PG_FINALLY();
	{
		leave();
	}
	PG_END_TRY();
}

/* wait(id, timeout, tenant) */
Datum
approval_wait(PG_FUNCTION_ARGS)
{
	Wait		wait;
	MemoryContext old;
	Datum		result;

	wait_begin(&wait, fcinfo, "wait");
	wait.id = args_id(fcinfo, 0, "id");
	wait.call.id = *wait.id;
	wait.call.has_id = true;
	wait_bounded(&wait);
	old = MemoryContextSwitchTo(wait.call.result_context);
	result = call_request_datum(&wait.call, call_own_type("request"));
	MemoryContextSwitchTo(old);
	verb_end(&wait.call);
	return result;
}

/* wait_conversation(conversation_id, timeout, tenant): the rows of outcomes() */
Datum
approval_wait_conversation(PG_FUNCTION_ARGS)
{
	Wait		wait;

	InitMaterializedSRF(fcinfo, 0);
	wait_begin(&wait, fcinfo, "wait_conversation");
	wait.conversation_id = args_required(fcinfo, 0, "conversation_id", ARGS_KEY_LIMIT);
	wait_bounded(&wait);
	PushActiveSnapshot(GetTransactionSnapshot());
	read_put_outcomes(&wait.call, wait.conversation_id, wait.now, (ReturnSetInfo *) fcinfo->resultinfo);
	PopActiveSnapshot();
	verb_end(&wait.call);
	return (Datum) 0;
}
