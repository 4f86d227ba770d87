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

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "param.h"
#include "quota.h"
#include "settings.h"

/* A count is not used for longer than this, in microseconds. */
#define COUNT_LIFE (10 * USECS_PER_SEC)

/* Which sixteenth of what was left is used up before the next count. */
#define COUNT_SHARE 16

#define BYTES "pg_catalog.pg_column_size(r.arguments)" \
	" OPERATOR(pg_catalog.+) COALESCE(pg_catalog.pg_column_size(r.preview), 0)" \
	" OPERATOR(pg_catalog.+) COALESCE(pg_catalog.pg_column_size(r.metadata), 0)" \
	" OPERATOR(pg_catalog.+) COALESCE(pg_catalog.pg_column_size(r.agent_reason), 0)"

#define WAITING " FROM approval.requests r WHERE r.tenant OPERATOR(pg_catalog.=) $1" \
	" AND r.status OPERATOR(pg_catalog.=) 'pending'" \
	" AND r.expires_at OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp()"

/* Stops at the quota: it need not be known by how much it is passed. */
static Statement count_conversation = {
	.sql = "SELECT pg_catalog.count(*), COALESCE(pg_catalog.sum(w.bytes), 0)::pg_catalog.int8"
	" FROM (SELECT " BYTES " AS bytes" WAITING
	" AND r.conversation_id OPERATOR(pg_catalog.=) $2 AND r.conversation_id OPERATOR(pg_catalog.<>) ''"
	" LIMIT $3) w",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, INT8OID},
};

static Statement count_tenant = {
	.sql = "SELECT pg_catalog.count(*), COALESCE(pg_catalog.sum(w.bytes), 0)::pg_catalog.int8,"
	" pg_catalog.count(*) FILTER (WHERE w.requester_login OPERATOR(pg_catalog.=) $2),"
	" COALESCE(pg_catalog.sum(w.bytes) FILTER (WHERE w.requester_login OPERATOR(pg_catalog.=) $2), 0)::pg_catalog.int8"
	" FROM (SELECT r.requester_login, " BYTES " AS bytes" WAITING " LIMIT $3) w",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, INT8OID},
};

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

static void
whose_digest(const Call *call, const char *name, Digest *out)
{
	digest_start();
	digest_add(call->tenant, strlen(call->tenant) + 1);
	digest_add(name, strlen(name) + 1);
	digest_finish(out);
}

static int64
size_of(const Request *request)
{
	static const RequestColumn columns[] = {REQ_ARGUMENTS, REQ_PREVIEW, REQ_METADATA, REQ_AGENT_REASON};
	int64		size = 0;
	int			i;

	for (i = 0; i < (int) lengthof(columns); i++)
		if (!request->nulls[columns[i]])
			size += VARSIZE_ANY(DatumGetPointer(request->values[columns[i]]));
	return size;
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

static int64
counted(int column)
{
	bool		isnull;

	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull));
}

static void
run_count(const Call *call, Statement *statement, const char *name, int64 most)
{
	Datum		values[3];
	char		nulls[3];

	param_text(values, nulls, 0, call->tenant);
	param_text(values, nulls, 1, name);
	values[2] = Int64GetDatum(most);
	nulls[2] = most == 0 ? 'n' : ' ';
	store_run(statement, values, nulls, SPI_OK_SELECT, 1);
}

static bool
conversation_allows(Call *call, const char *conversation_id, TimestampTz now, int64 size)
{
	Quota		quota = {"conversation", 0, 0, setting_quota_conversation, setting_quota_conversation_bytes * INT64CONST(1024)};
	Digest		whose;

	if (conversation_id[0] == '\0' || (quota.limit == 0 && quota.limit_bytes == 0))
		return true;
	whose_digest(call, conversation_id, &whose);
	if (covered(&conversation_count, &whose, now, size))
		return true;
	run_count(call, &count_conversation, conversation_id, quota.limit);
	quota.waiting = counted(1);
	quota.bytes = counted(2);
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
	Digest		whose;

	whose_digest(call, call->caller->login, &whose);
	if (covered(&tenant_count, &whose, now, size))
		return true;
	run_count(call, &count_tenant, call->caller->login, tenant.limit);
	tenant.waiting = counted(1);
	tenant.bytes = counted(2);
	login.waiting = counted(3);
	login.bytes = counted(4);
	if (!within(call, &tenant, size) || !within(call, &login, size))
		return false;
	begin_count(&tenant_count, &whose, now);
	cover(&tenant_count, &tenant, size);
	cover(&tenant_count, &login, size);
	return true;
}

/* Whether one more request may wait; if not, a refusal. */
bool
quota_allows(Call *call, const Request *request)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		size = size_of(request);

	return conversation_allows(call, request_text(request, REQ_CONVERSATION_ID), now, size) &&
		tenant_allows(call, now, size);
}
