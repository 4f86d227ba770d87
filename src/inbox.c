/*-------------------------------------------------------------------------
 *
 * inbox.c
 *	  inbox_page: a page of the view inbox, filtered, from beyond a key.
 *
 * The rows are those of the view, in the order of their ids, which is that of
 * their proposal.  A planner would have to guess how many of the requests in a
 * table wait; so each filter that has an index of what waits walks it, and
 * nothing but what is shown, or what a second filter leaves out, is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/snapmgr.h"

#include "args.h"
#include "clock.h"
#include "diff.h"
#include "document.h"
#include "panel.h"
#include "param.h"
#include "sight.h"
#include "table.h"
#include "verb.h"

PG_FUNCTION_INFO_V1(approval_inbox_page);

#define PAGE_ROWS 50
#define PAGE_MOST 1000
#define FILTER_NAMES 200

/* What a request in the inbox is: the words of the filter "status". */
typedef enum InboxStatus
{
	INBOX_PENDING,
	INBOX_EXPIRED,				/* past its deadline, and not put away */
	INBOX_UNKNOWN,				/* the outcome of its execution is */
	INBOX_NOT					/* not in the inbox at all */
} InboxStatus;

static const char *const status_words[] = {"pending", "expired", "unknown"};

/* A member of the filters that is compared with a column. */
typedef struct Match
{
	const char *member;
	RequestColumn column;
} Match;

enum
{
	MATCH_RISK, MATCH_ASSIGNEE, MATCH_CLAIMED_BY, MATCH_GROUP, MATCH_SERVER, MATCH_TOOL,
	MATCH_CONVERSATION, MATCH_COUNT
};

static const Match matches[MATCH_COUNT] = {
	[MATCH_RISK] = {"risk", REQ_RISK},
	[MATCH_ASSIGNEE] = {"assignee", REQ_ASSIGNEE},
	[MATCH_CLAIMED_BY] = {"claimed_by", REQ_CLAIMED_BY},
	[MATCH_GROUP] = {"reviewer_group", REQ_REVIEWER_GROUP},
	[MATCH_SERVER] = {"server", REQ_SERVER},
	[MATCH_TOOL] = {"tool", REQ_TOOL},
	[MATCH_CONVERSATION] = {"conversation_id", REQ_CONVERSATION_ID},
};

typedef struct InboxPage
{
	const Call *call;
	TimestampTz now;
	Names		tenants;		/* of the filter; none: all of the caller's */
	Names		statuses;
	Names		wanted[MATCH_COUNT];
	int64		older_than;		/* spans in microseconds; 0: not asked for */
	int64		newer_than;
	bool		has_after;
	Ulid		after;
	int64		last_ms;		/* no id of a later time is wanted; 0: any */
	int			most;

	/* what was found, the first ids first */
	TupleDesc	desc;
	MemoryContext context;
	int			count;
	HeapTuple  *rows;
	Ulid	   *ids;
} InboxPage;

/* Columns in which the empty text is a name like any other. */
static bool
may_be_empty(const char *name)
{
	return strcmp(name, "tenant") == 0 || strcmp(name, "server") == 0 || strcmp(name, "conversation_id") == 0;
}

/* A name, or an array of them. */
static bool
take_names(JsonbContainer *filters, const char *name, Names *out, Problem *problem)
{
	JsonbValue *value = document_member(filters, name);
	bool		array = value && value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data);
	int			count = value == NULL ? 0 : array ? (int) JsonContainerSize(value->val.binary.data) : 1;
	int			i;

	if (count > FILTER_NAMES)
		return document_problem(problem, document_place("$", name), psprintf("must have %d elements at most", FILTER_NAMES));
	out->names = palloc(sizeof(char *) * (count + 1));
	for (i = 0; i < count; i++)
	{
		JsonbValue *one = array ? getIthJsonbValueFromContainer(value->val.binary.data, i) : value;

		if (one->type != jbvString || one->val.string.len > ARGS_KEY_LIMIT ||
			(one->val.string.len == 0 && !may_be_empty(name)))
			return document_problem(problem, document_place("$", name),
									psprintf("must be a string of 1 to %d bytes, or an array of such", ARGS_KEY_LIMIT));
		out->names[out->count] = pnstrdup(one->val.string.val, one->val.string.len);
		if (!document_names_has(out, out->names[out->count]))
			out->count++;
	}
	return true;
}

static bool
check_statuses(const InboxPage *page, Problem *problem)
{
	int			i;
	int			j;

	for (i = 0; i < page->statuses.count; i++)
	{
		for (j = 0; j < INBOX_NOT; j++)
			if (strcmp(page->statuses.names[i], status_words[j]) == 0)
				break;
		if (j == INBOX_NOT)
			return document_problem(problem, "$.status", "must be pending, expired or unknown");
	}
	return true;
}

static bool
take_filters(JsonbContainer *filters, InboxPage *page, Problem *problem)
{
	const char *members[MATCH_COUNT + 4] = {"status", "tenant", "older_than", "newer_than"};
	int			i;

	for (i = 0; i < MATCH_COUNT; i++)
		members[i + 4] = matches[i].member;
	if (!document_known(filters, members, lengthof(members), "$", problem) ||
		!take_names(filters, "status", &page->statuses, problem) ||
		!check_statuses(page, problem) ||
		!take_names(filters, "tenant", &page->tenants, problem) ||
		!document_span(filters, "older_than", "$", &page->older_than, problem) ||
		!document_span(filters, "newer_than", "$", &page->newer_than, problem))
		return false;
	for (i = 0; i < MATCH_COUNT; i++)
		if (!take_names(filters, matches[i].member, &page->wanted[i], problem))
			return false;
	return true;
}

static void
bad_filters(const Problem *problem)
{
	StringInfoData extra;

	initStringInfo(&extra);
	appendStringInfoString(&extra, ",\"argument\":\"filters\",\"place\":");
	errors_escape(&extra, problem->place);
	appendStringInfoString(&extra, ",\"problem\":");
	errors_escape(&extra, problem->problem);
	errors_raise_standard(ERRCODE_INVALID_PARAMETER_VALUE, "invalid value for argument \"filters\"",
						  "invalid_argument", 400, extra.data,
						  "One JSON object; DETAIL names the place.");
}

/* An id and the time of the proposal may be so far apart, in milliseconds. */
#define ID_SLACK 60000

/* The age that is asked for bounds the ids that are walked. */
static void
bound_ids(InboxPage *page)
{
	Ulid		floor;

	if (page->older_than)
		page->last_ms = clock_unix_ms(page->now - page->older_than) + ID_SLACK;
	if (page->newer_than == 0)
		return;
	ulid_floor(Max(clock_unix_ms(page->now - page->newer_than) - ID_SLACK, 0), &floor);
	if (!page->has_after || memcmp(&floor, &page->after, sizeof(Ulid)) > 0)
		page->after = floor;
	page->has_after = true;
}

/* inbox_page(filters, after_key, max_rows) */
static void
take_arguments(FunctionCallInfo fcinfo, InboxPage *page)
{
	Problem		problem = {"$", "must be an object"};
	text	   *filters = args_json(fcinfo, 0);
	char	   *after = args_text(fcinfo, 1, "after_key", ARGS_KEY_LIMIT);
	CanonicalError error;
	Jsonb	   *json;

	page->most = PG_ARGISNULL(2) ? PAGE_ROWS : PG_GETARG_INT32(2);
	if (page->most < 1 || page->most > PAGE_MOST)
		args_bad_value("max_rows", "From 1 to 1000.");
	page->has_after = after && after[0] != '\0';
	if (page->has_after && !ulid_from_text(after, strlen(after), &page->after))
		args_bad_value("after_key", "The sort_key of the last row of the page before.");
	if (filters == NULL || canonical_is_empty_array(VARDATA_ANY(filters), VARSIZE_ANY_EXHDR(filters)))
		return;
	json = document_read(filters, NULL, &error);
	if (json == NULL)
		document_problem(&problem, error.path, error.reason);
	if (json == NULL || !JB_ROOT_IS_OBJECT(json) || !take_filters(&json->root, page, &problem))
		bad_filters(&problem);
	bound_ids(page);
}

/* Where in the view a row stands. */
static InboxStatus
inbox_status(Effective effective, const Request *request)
{
	if (effective.outcome == OUTCOME_UNKNOWN)
		return INBOX_UNKNOWN;
	if (request->status != STATUS_PENDING)
		return INBOX_NOT;
	return effective.status == STATUS_EXPIRED ? INBOX_EXPIRED : INBOX_PENDING;
}

static bool
seats_group(const Request *request, const Names *groups)
{
	Panel		panel;
	int			i;

	panel_of_request(request, &panel);
	for (i = 0; i < panel.count; i++)
		if (panel.seats[i].group && document_names_has(groups, panel.seats[i].group))
			return true;
	return panel.stand_in && document_names_has(groups, panel.stand_in);
}

static bool
is_claimed(const Request *request, TimestampTz now)
{
	return !request->nulls[REQ_CLAIMED_UNTIL] && request_time(request, REQ_CLAIMED_UNTIL) > now;
}

static bool
matches_one(const Request *request, int n, const InboxPage *page)
{
	const Names *names = &page->wanted[n];
	char	   *value;

	if (names->count == 0)
		return true;
	if (n == MATCH_GROUP)
		return seats_group(request, names);
	if (n == MATCH_CLAIMED_BY && !is_claimed(request, page->now))
		return false;
	value = request_text(request, matches[n].column);
	return value && document_names_has(names, value);
}

static bool
wanted(const Request *request, const InboxPage *page)
{
	InboxStatus status = inbox_status(request_effective(request, page->now), request);
	TimestampTz proposed = request_time(request, REQ_PROPOSED_AT);
	int			i;

	if (status == INBOX_NOT ||
		(page->statuses.count > 0 && !document_names_has(&page->statuses, status_words[status])) ||
		(page->older_than && proposed > page->now - page->older_than) ||
		(page->newer_than && proposed < page->now - page->newer_than) ||
		(page->call->caller->sight != SIGHT_TENANT &&
		 !request_text_is(request, REQ_REQUESTER_LOGIN, page->call->caller->login)))
		return false;
	for (i = 0; i < MATCH_COUNT; i++)
		if (!matches_one(request, i, page))
			return false;
	return true;
}

/* The row in its place among those found; the last one may fall out. */
static void
keep(InboxPage *page, HeapTuple row, const Ulid *id)
{
	int			place = page->count;

	while (place > 0 && memcmp(&page->ids[place - 1], id, sizeof(Ulid)) > 0)
		place--;
	if (place > 0 && memcmp(&page->ids[place - 1], id, sizeof(Ulid)) == 0)
		return;					/* a tenant may be walked twice */
	if (page->count == page->most)
		heap_freetuple(page->rows[--page->count]);
	memmove(&page->ids[place + 1], &page->ids[place], sizeof(Ulid) * (page->count - place));
	memmove(&page->rows[place + 1], &page->rows[place], sizeof(HeapTuple) * (page->count - place));
	page->ids[place] = *id;
	page->rows[place] = row;
	page->count++;
}

/* Every index is in the order of ids, so beyond a full page nothing more comes. */
static bool
look_at(TupleTableSlot *slot, void *arg)
{
	InboxPage  *page = arg;
	Request		request;
	const Ulid *id;
	MemoryContext old;

	slot_getallattrs(slot);
	id = DatumGetUlidP(slot->tts_values[REQ_ID]);
	if (page->last_ms && (int64) ulid_time(id) > page->last_ms)
		return false;
	if (page->count == page->most &&
		memcmp(id, &page->ids[page->count - 1], sizeof(Ulid)) >= 0)
		return false;
	request_of_slot(&request, slot);
	MemoryContextReset(page->context);
	old = MemoryContextSwitchTo(page->context);
	if (wanted(&request, page))
	{
		MemoryContextSwitchTo(old);
		keep(page, ExecCopySlotHeapTuple(slot), id);
	}
	MemoryContextSwitchTo(old);
	return true;
}

/* Walks an index of the tenant, or of one value of the next column in it. */
static void
walk(InboxPage *page, Relation requests, OwnRelation index, const char *tenant, const char *value)
{
	Datum		keys[2];
	Datum		after = UlidPGetDatum(&page->after);

	keys[0] = CStringGetTextDatum(tenant);
	if (value)
		keys[1] = CStringGetTextDatum(value);
	table_visit_after(requests, index, keys, value ? 2 : 1, page->has_after ? &after : NULL,
					  GetActiveSnapshot(), look_at, page);
}

/* A filter with one name has an index of what waits. */
static const char *
only_name(const InboxPage *page, int n)
{
	return page->wanted[n].count == 1 ? page->wanted[n].names[0] : NULL;
}

/* Of the indexes that serve, those that leave least to be looked at. */
static void
walk_tenant(InboxPage *page, Relation requests, const char *tenant)
{
	bool		waiting = page->statuses.count == 0 || document_names_has(&page->statuses, status_words[INBOX_PENDING]) ||
	document_names_has(&page->statuses, status_words[INBOX_EXPIRED]);
	bool		running = page->statuses.count == 0 || document_names_has(&page->statuses, status_words[INBOX_UNKNOWN]);

	if (waiting && only_name(page, MATCH_ASSIGNEE))
		walk(page, requests, OWN_REQUESTS_ASSIGNED, tenant, only_name(page, MATCH_ASSIGNEE));
	else if (waiting && only_name(page, MATCH_GROUP))
	{
		walk(page, requests, OWN_REQUESTS_GROUP, tenant, only_name(page, MATCH_GROUP));
		walk(page, requests, OWN_REQUESTS_PANEL, tenant, NULL);
	}
	else if (waiting && only_name(page, MATCH_TOOL))
		walk(page, requests, OWN_REQUESTS_TOOL, tenant, only_name(page, MATCH_TOOL));
	else if (waiting)
	{
		walk(page, requests, OWN_REQUESTS_OPEN, tenant, NULL);
		running = false;		/* is among what is open */
	}
	if (running)
		walk(page, requests, OWN_REQUESTS_RUNNING, tenant, NULL);
}

/* The tenants asked for, each of which the caller must be allowed; or all that are. */
static void
walk_tenants(InboxPage *page)
{
	Relation	requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	char	  **tenants = page->tenants.names;
	int			count = page->tenants.count;
	int			i;

	for (i = 0; i < count; i++)
		(void) caller_tenant(page->call->caller, tenants[i]);
	if (count == 0)
		tenants = sight_tenants(page->call->caller, &count);
	page->desc = RelationGetDescr(requests);
	for (i = 0; i < count; i++)
		walk_tenant(page, requests, tenants[i]);
	table_close(requests, NoLock);
}

static Datum
text_or_null(const char *value, bool *isnull)
{
	*isnull = (value == NULL);
	return value ? CStringGetTextDatum(value) : (Datum) 0;
}

static Datum
unverified(void)
{
	static const char *const columns[] = {"agent_reason", "preview", "diff"};

	return param_texts(columns, lengthof(columns));
}

/* A column of the view that is not one of the table as it stands. */
static bool
made_column(const char *name, const Request *request, const InboxPage *page, Datum *value, bool *isnull)
{
	Effective	effective = request_effective(request, page->now);
	char		id[ULID_TEXT_LEN + 1];

	*isnull = false;
	if (strcmp(name, "status") == 0)
		*value = text_or_null(state_status_word(effective.status), isnull);
	else if (strcmp(name, "outcome") == 0)
		*value = text_or_null(state_outcome_word(effective.outcome), isnull);
	else if (strcmp(name, "claimed_by") == 0)
		*value = text_or_null(is_claimed(request, page->now) ? request_text(request, REQ_CLAIMED_BY) : NULL, isnull);
	else if (strcmp(name, "escalated_to") == 0)
		*value = text_or_null(request->nulls[REQ_ESCALATED_AT] ? NULL : request_text(request, REQ_ESCALATE_TO), isnull);
	else if (strcmp(name, "unverified") == 0)
		*value = unverified();
	else if (strcmp(name, "diff") == 0)
	{
		text	   *diff = request->nulls[REQ_PREVIEW] ? NULL :
		diff_of_preview(DatumGetTextPP(request->values[REQ_PREVIEW]));

		*isnull = (diff == NULL);
		*value = PointerGetDatum(diff);
	}
	else if (strcmp(name, "sort_key") == 0)
	{
		ulid_to_text(request_id(request), id);
		*value = text_or_null(id, isnull);
	}
	else
		return false;
	return true;
}

static void
table_column(const char *name, const Request *request, Datum *value, bool *isnull)
{
	int			i;

	for (i = 0; i < REQ_COUNT; i++)
		if (strcmp(name, request_columns[i].name) == 0)
		{
			*value = request->values[i];
			*isnull = request->nulls[i];
			return;
		}
	elog(ERROR, "the view inbox has a column that the library does not know");
}

static void
put_row(ReturnSetInfo *rsinfo, const Request *request, const InboxPage *page)
{
	TupleDesc	desc = rsinfo->setDesc;
	Datum	   *values = palloc(sizeof(Datum) * desc->natts);
	bool	   *nulls = palloc(sizeof(bool) * desc->natts);
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);

		if (!made_column(name, request, page, &values[i], &nulls[i]))
			table_column(name, request, &values[i], &nulls[i]);
	}
	tuplestore_putvalues(rsinfo->setResult, desc, values, nulls);
}

Datum
approval_inbox_page(PG_FUNCTION_ARGS)
{
	Call		call;
	InboxPage	page = {0};
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	verb_begin(&call, fcinfo, "inbox_page");
	page.call = &call;
	page.now = GetCurrentStatementStartTimestamp();
	take_arguments(fcinfo, &page);
	page.context = AllocSetContextCreate(CurrentMemoryContext, "approval inbox_page", ALLOCSET_DEFAULT_SIZES);
	page.rows = palloc(sizeof(HeapTuple) * (page.most + 1));
	page.ids = palloc(sizeof(Ulid) * (page.most + 1));
	PushActiveSnapshot(GetTransactionSnapshot());
	if (call.caller->sight != SIGHT_NOTHING)
		walk_tenants(&page);
	for (i = 0; i < page.count; i++)
	{
		Request		request;

		request_load(&request, page.rows[i], page.desc);
		put_row((ReturnSetInfo *) fcinfo->resultinfo, &request, &page);
	}
	PopActiveSnapshot();
	verb_end(&call);
	return (Datum) 0;
}
