/*-------------------------------------------------------------------------
 *
 * quota.c
 *	  How much may wait for people.
 *
 * People can be drowned.  What waits is counted per conversation, login and
 * tenant, in number and in bytes.  A count is good for a while: this backend
 * may add a sixteenth of what was left before it counts again, so that with
 * many sessions a quota may be passed by that much for each of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/table.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "quota.h"
#include "settings.h"

/* A count is not used for longer than this, in microseconds. */
#define COUNT_LIFE (10 * USECS_PER_SEC)

/* Which sixteenth of what was left is used up before the next count. */
#define COUNT_SHARE 16

/* What waits, of one conversation or of a tenant. */
typedef struct Waiting
{
	TimestampTz now;
	const char *login;			/* counted by itself, or NULL */
	int64		limit;			/* no need to count further; 0: none */
	int64		count;
	int64		bytes;
	int64		of_login;
	int64		bytes_of_login;
} Waiting;

/* What has been counted, and what may be added before it is counted again. */
typedef struct Count
{
	Digest		whose;
	TimestampTz at;
	int64		more;			/* requests */
	int64		more_bytes;
} Count;

static Count conversation_count;
static Count tenant_count;

/* One quota: how much there is, and how much there may be; 0 is no limit. */
typedef struct Quota
{
	const char *scope;
	int64		waiting;
	int64		bytes;
	int64		limit;
	int64		limit_bytes;
} Quota;

/* A count belongs to a name, and to the quotas that it was made under. */
static void
whose_digest(const Call *call, const char *name, Digest *out)
{
	const int	quotas[] = {
		setting_quota_conversation, setting_quota_login, setting_quota_tenant,
		setting_quota_conversation_bytes, setting_quota_login_bytes, setting_quota_tenant_bytes
	};

	digest_start();
	digest_add(quotas, sizeof(quotas));
	digest_add(call->tenant, strlen(call->tenant) + 1);
	digest_add(name, strlen(name) + 1);
	digest_finish(out);
}

static const RequestColumn sized_columns[] = {REQ_ARGUMENTS, REQ_PREVIEW, REQ_METADATA, REQ_AGENT_REASON};

/* Its arguments are not in the row yet. */
static int64
size_of(const Request *request, const Action *action)
{
	int64		size = action->arguments_len;
	int			i;

	for (i = 0; i < (int) lengthof(sized_columns); i++)
		if (!request->nulls[sized_columns[i]])
			size += VARSIZE_ANY(DatumGetPointer(request->values[sized_columns[i]]));
	return size;
}

/* As it is stored: what was moved out of the row is not fetched for this. */
static int64
stored_size(TupleTableSlot *slot)
{
	int64		size = 0;
	int			i;

	for (i = 0; i < (int) lengthof(sized_columns); i++)
		if (!slot->tts_isnull[sized_columns[i]])
			size += toast_datum_size(slot->tts_values[sized_columns[i]]);
	return size;
}

static bool
is_text(TupleTableSlot *slot, RequestColumn column, const char *value)
{
	text	   *stored = DatumGetTextPP(slot->tts_values[column]);

	return VARSIZE_ANY_EXHDR(stored) == strlen(value) &&
		memcmp(VARDATA_ANY(stored), value, strlen(value)) == 0;
}

/* What has lapsed does not wait, whether or not it was put away. */
static bool
count_row(TupleTableSlot *slot, void *arg)
{
	Waiting    *waiting = arg;
	int64		size;

	slot_getallattrs(slot);
	if (!is_text(slot, REQ_STATUS, state_status_word(STATUS_PENDING)) ||
		DatumGetTimestampTz(slot->tts_values[REQ_EXPIRES_AT]) <= waiting->now)
		return true;
	size = stored_size(slot);
	waiting->count++;
	waiting->bytes += size;
	if (waiting->login && is_text(slot, REQ_REQUESTER_LOGIN, waiting->login))
	{
		waiting->of_login++;
		waiting->bytes_of_login += size;
	}
	return waiting->limit == 0 || waiting->count < waiting->limit;
}

static void
count_waiting(const Call *call, OwnRelation index, const char *conversation_id, Waiting *waiting)
{
	Relation	requests = table_of_ours(OWN_REQUESTS, AccessShareLock);
	Datum		keys[2];

	keys[0] = CStringGetTextDatum(call->tenant);
	if (conversation_id)
		keys[1] = CStringGetTextDatum(conversation_id);
	table_visit(requests, index, keys, conversation_id ? 2 : 1, NULL, count_row, waiting);
	table_close(requests, NoLock);
}

/* Whether the last count still covers one more request of this size. */
static bool
covered(Count *count, const Digest *whose, TimestampTz now, int64 size)
{
	if (memcmp(&count->whose, whose, sizeof(Digest)) != 0 || now >= count->at + COUNT_LIFE ||
		now < count->at || count->more < 1 || count->more_bytes < size)
		return false;
	count->more--;
	count->more_bytes -= size;
	return true;
}

static bool
within(Call *call, const Quota *quota, int64 size)
{
	bool		number = quota->limit == 0 || quota->waiting < quota->limit;

	if (number && (quota->limit_bytes == 0 || quota->bytes + size <= quota->limit_bytes))
		return true;
	errors_member(&call->refusal, "scope", quota->scope);
	errors_member(&call->refusal, "of", number ? "bytes" : "requests");
	errors_member_raw(&call->refusal, "limit",
					  psprintf(INT64_FORMAT, number ? quota->limit_bytes : quota->limit));
	call_refuse(call, REASON_QUOTA);
	return false;
}

/* No count covers more than what the quota has left. */
static void
cover(Count *count, const Quota *quota, int64 size)
{
	if (quota->limit)
		count->more = Min(count->more, (quota->limit - quota->waiting - 1) / COUNT_SHARE);
	if (quota->limit_bytes)
		count->more_bytes = Min(count->more_bytes, (quota->limit_bytes - quota->bytes - size) / COUNT_SHARE);
}

static void
begin_count(Count *count, const Digest *whose, TimestampTz now)
{
	count->whose = *whose;
	count->at = now;
	count->more = count->more_bytes = PG_INT64_MAX;
}

static bool
conversation_allows(Call *call, const char *conversation_id, TimestampTz now, int64 size)
{
	Quota		quota = {"conversation", 0, 0, setting_quota_conversation, setting_quota_conversation_bytes * INT64CONST(1024)};
	Waiting		waiting = {.now = now,.limit = setting_quota_conversation};
	Digest		whose;

	if (conversation_id[0] == '\0' || (quota.limit == 0 && quota.limit_bytes == 0))
		return true;
	whose_digest(call, conversation_id, &whose);
	if (covered(&conversation_count, &whose, now, size))
		return true;
	count_waiting(call, OWN_REQUESTS_WAITING, conversation_id, &waiting);
	quota.waiting = waiting.count;
	quota.bytes = waiting.bytes;
	if (!within(call, &quota, size))
		return false;
	begin_count(&conversation_count, &whose, now);
	cover(&conversation_count, &quota, size);
	return true;
}

static bool
tenant_allows(Call *call, TimestampTz now, int64 size)
{
	Quota		tenant = {"tenant", 0, 0, setting_quota_tenant, setting_quota_tenant_bytes * INT64CONST(1024)};
	Quota		login = {"login", 0, 0, setting_quota_login, setting_quota_login_bytes * INT64CONST(1024)};
	Waiting		waiting = {.now = now,.login = call->caller->login,.limit = setting_quota_tenant};
	Digest		whose;

	whose_digest(call, call->caller->login, &whose);
	if (covered(&tenant_count, &whose, now, size))
		return true;
	count_waiting(call, OWN_REQUESTS_OPEN, NULL, &waiting);
	tenant.waiting = waiting.count;
	tenant.bytes = waiting.bytes;
	login.waiting = waiting.of_login;
	login.bytes = waiting.bytes_of_login;
	if (!within(call, &tenant, size) || !within(call, &login, size))
		return false;
	begin_count(&tenant_count, &whose, now);
	cover(&tenant_count, &tenant, size);
	cover(&tenant_count, &login, size);
	return true;
}

/* Whether one more request may wait; if not, a refusal. */
bool
quota_allows(Call *call, const Request *request, const Action *action)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		size = size_of(request, action);

	return conversation_allows(call, request_text(request, REQ_CONVERSATION_ID), now, size) &&
		tenant_allows(call, now, size);
}
