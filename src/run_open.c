/*-------------------------------------------------------------------------
 *
 * run_open.c
 *	  Calls of a run that are open, and what follows from them.
 *
 * That a run awaits approval is not stored: it follows from its requests, so
 * that a decision or a deadline ends it without touching the run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "run_open.h"

/* A refusal tells of so many at most. */
#define TOLD_MOST 100

static void
tell(OpenCalls *open, const Request *request)
{
	char		id[ULID_TEXT_LEN + 1];
	char		hex[DIGEST_TEXT_LEN + 1];

	if (open->login && !request_text_is(request, REQ_REQUESTER_LOGIN, open->login))
		return;
	ulid_to_text(request_id(request), id);
	digest_to_hex(request_digest_at(request, REQ_REVIEW_HASH), hex);
	appendStringInfo(&open->told, "%s{\"id\":\"%s\",\"tool_call_id\":", open->told.len > 0 ? "," : "", id);
	errors_escape(&open->told, request_text(request, REQ_TOOL_CALL_ID));
	appendStringInfoString(&open->told, ",\"tool\":");
	errors_escape(&open->told, request_text(request, REQ_TOOL));
	appendStringInfo(&open->told, ",\"review_hash\":\"%s\"}", hex);
}

static void
keep(OpenCalls *open, const Ulid *id)
{
	if (open->count == open->room)
	{
		open->room = open->room ? open->room * 2 : 16;
		open->ids = open->ids ? repalloc(open->ids, sizeof(Ulid) * open->room) : palloc(sizeof(Ulid) * open->room);
	}
	open->ids[open->count++] = *id;
}

/*
 * Before a run was started anybody may have proposed under its id: what another
 * login asked for, or in another conversation, is not its call.
 */
static bool
is_call_of_run(const Request *request, const OpenCalls *open)
{
	return request_text_is(request, REQ_RUN_ID, open->run_id) &&
		request_text_is(request, REQ_REQUESTER_LOGIN, open->owner) &&
		request_text_is(request, REQ_CONVERSATION_ID, open->conversation_id);
}

static bool
visit(TupleTableSlot *slot, void *arg)
{
	OpenCalls  *open = arg;
	Request		request;
	Effective	effective;

	slot_getallattrs(slot);
	request_of_slot(&request, slot);
	if (open->run_id && !is_call_of_run(&request, open))
		return true;
	effective = request_effective(&request, open->now);
	open->executing += (effective.outcome == OUTCOME_IN_FLIGHT || effective.outcome == OUTCOME_UNKNOWN);
	if (effective.status != STATUS_PENDING && effective.status != STATUS_APPROVED)
		return true;
	if (effective.status == STATUS_PENDING && open->pending++ < TOLD_MOST)
		tell(open, &request);
	keep(open, request_id(&request));
	return !(open->only_look && open->pending > 0);
}

void
run_begin_open(OpenCalls *open)
{
	initStringInfo(&open->told);
	open->pending = open->executing = open->count = open->room = 0;
	open->ids = NULL;
}

/* In the latest snapshot: what was proposed since an older one counts too. */
static void
look(OwnRelation index, const char *tenant, const char *key, OpenCalls *open)
{
	Relation	requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	Datum		keys[2];

	keys[0] = CStringGetTextDatum(tenant);
	keys[1] = CStringGetTextDatum(key);
	table_visit(requests, index, keys, 2, GetLatestSnapshot(), visit, open);
	table_close(requests, NoLock);
}

static void
only_of(const Run *run, OpenCalls *open)
{
	open->run_id = run_text(run, RUNC_RUN_ID);
	open->owner = run_text(run, RUNC_LOGIN);
	open->conversation_id = run_text(run, RUNC_CONVERSATION_ID);
}

/* Those of a run that wait or are approved, beside what was found before. */
void
run_add_open(const Run *run, OpenCalls *open)
{
	only_of(run, open);
	look(OWN_REQUESTS_RUN, run_text(run, RUNC_TENANT), open->run_id, open);
}

/* Those of a run that wait. */
void
run_waiting(const Run *run, OpenCalls *open)
{
	run_begin_open(open);
	only_of(run, open);
	look(OWN_REQUESTS_WAITING, run_text(run, RUNC_TENANT), open->conversation_id, open);
}

/* Those of a conversation that wait. */
void
run_conversation_waits(const char *tenant, const char *conversation_id, OpenCalls *open)
{
	run_begin_open(open);
	look(OWN_REQUESTS_WAITING, tenant, conversation_id, open);
}

/* What the status of a run is at a time. */
RunStatus
run_effective(const Run *run, TimestampTz now)
{
	OpenCalls	open = {.now = now,.only_look = true};

	if (run->status != RUN_RUNNING)
		return run->status;
	run_waiting(run, &open);
	return open.pending > 0 ? RUN_AWAITING : RUN_RUNNING;
}
