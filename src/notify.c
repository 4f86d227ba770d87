/*-------------------------------------------------------------------------
 *
 * notify.c
 *	  The doorbell: NOTIFY on a change, with nothing in it worth stealing.
 *
 * Anyone may listen and anyone may notify.  So channel names are keyed with a
 * secret of the database, payloads name the request and never an argument, and
 * a client reads the row before it acts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "common/hmac.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "args.h"
#include "canonical.h"
#include "notify.h"
#include "param.h"
#include "settings.h"
#include "wait.h"
#include "worker_hooks.h"
#include "worker_shmem.h"

/* Rows of approval.keys. */
#define KEY_CHANNELS "channels"
#define KEY_TENANTS "tenants"	/* there is a tenant other than '' */

#define SECRET_SIZE 32

/* Hex digits of a channel's digest: 128 bits, within the 63 of a name. */
#define CHANNEL_DIGITS 32

#define CHANNEL_ALL "approval"

PG_FUNCTION_INFO_V1(approval_channel);

static Statement select_keys = {
	.sql = "SELECT k.name, k.value FROM approval.keys k",
};

static Statement insert_key = {
	.sql = "INSERT INTO approval.keys (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
	.nparams = 2,
	.types = {TEXTOID, BYTEAOID},
};

static bool keys_valid = false;

/* Counts what could have made the copy wrong. */
static uint64 invalidations = 0;
static bool has_secret = false;
static bool has_tenants = false;
static uint8 secret[SECRET_SIZE];
static Oid	keys_oid = InvalidOid;

static void
relation_changed(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == keys_oid)
	{
		keys_valid = false;
		invalidations++;
	}
}

void
notify_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

static void
take_key(HeapTuple row, TupleDesc desc)
{
	char	   *name = SPI_getvalue(row, desc, 1);
	bool		isnull;
	bytea	   *value = DatumGetByteaPP(SPI_getbinval(row, desc, 2, &isnull));

	if (strcmp(name, KEY_TENANTS) == 0)
		has_tenants = true;
	else if (strcmp(name, KEY_CHANNELS) == 0 && VARSIZE_ANY_EXHDR(value) == SECRET_SIZE)
	{
		memcpy(secret, VARDATA_ANY(value), SECRET_SIZE);
		has_secret = true;
	}
}

static void
read_keys(void)
{
	uint64		before = invalidations;
	uint64		rows;
	uint64		i;

	keys_valid = has_secret = has_tenants = false;
	keys_oid = get_relname_relid("keys", get_namespace_oid("approval", false));
	rows = store_run(&select_keys, NULL, NULL, SPI_OK_SELECT, 0);
	for (i = 0; i < rows; i++)
		take_key(SPI_tuptable->vals[i], SPI_tuptable->tupdesc);

	/* an old snapshot may lack a row: do not remember that */
	keys_valid = before == invalidations && !IsolationUsesXactSnapshot();
}

static void
make_key(const char *name, const uint8 *bytes, int len)
{
	Datum		values[2];
	bytea	   *value = (bytea *) palloc(VARHDRSZ + len);

	SET_VARSIZE(value, VARHDRSZ + len);
	memcpy(VARDATA(value), bytes, len);
	values[0] = CStringGetTextDatum(name);
	values[1] = PointerGetDatum(value);
	store_run(&insert_key, values, NULL, SPI_OK_INSERT, 0);
}

/* The secret of this database, made by whoever needs it first. */
static void
need_keys(void)
{
	uint8		fresh[SECRET_SIZE];

	if (keys_valid && has_secret)
		return;
	read_keys();
	if (has_secret)
		return;
	if (!pg_strong_random(fresh, sizeof(fresh)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random secret")));
	make_key(KEY_CHANNELS, fresh, sizeof(fresh));
	read_keys();
	if (!has_secret)
		errors_raise_serialization();
}

/* From now on the common channel says nothing. */
void
notify_tenant_exists(const char *tenant)
{
	if (tenant[0] == '\0')
		return;
	if (!keys_valid)
		read_keys();
	if (has_tenants)
		return;
	make_key(KEY_TENANTS, (const uint8 *) "", 0);
	has_tenants = true;
}

/*
 * "approval_t_...", "approval_c_..." or "approval_r_...": half of HMAC-SHA-256 (RFC 2104) with
 * the secret over the names as one JSON array, so that no two pairs of names
 * run into each other.
 */
static char *
channel_name(char kind, const char *tenant, const char *key)
{
	StringInfoData input;
	Digest		digest;
	char		hex[DIGEST_TEXT_LEN + 1];
	pg_hmac_ctx *hmac;

	need_keys();
	initStringInfo(&input);
	appendStringInfo(&input, "[\"%c\",", kind);
	canonical_append_string(&input, tenant, strlen(tenant));
	if (key)
	{
		appendStringInfoChar(&input, ',');
		canonical_append_string(&input, key, strlen(key));
	}
	appendStringInfoChar(&input, ']');

	hmac = pg_hmac_create(PG_SHA256);
	if (pg_hmac_init(hmac, secret, SECRET_SIZE) < 0 ||
		pg_hmac_update(hmac, (const uint8 *) input.data, input.len) < 0 ||
		pg_hmac_final(hmac, digest.bytes, sizeof(digest.bytes)) < 0)
		elog(ERROR, "could not compute HMAC: %s", pg_hmac_error(hmac));
	pg_hmac_free(hmac);
	digest_to_hex(&digest, hex);
	return psprintf("approval_%c_%.*s", kind, CHANNEL_DIGITS, hex);
}

/* Most calls are for the same tenant as the last one. */
static const char *
tenant_channel(const char *tenant)
{
	static char last_tenant[ARGS_KEY_LIMIT + 1];
	static char last_channel[NAMEDATALEN];
	static uint64 last_invalidations;

	if (last_channel[0] == '\0' || !keys_valid || last_invalidations != invalidations ||
		strcmp(last_tenant, tenant) != 0)
	{
		strlcpy(last_channel, channel_name('t', tenant, NULL), sizeof(last_channel));
		strlcpy(last_tenant, tenant, sizeof(last_tenant));
		last_invalidations = invalidations;
	}
	return last_channel;
}

/* Who rings: auto is the worker if there can be one. */
NotifyMode
notify_mode(void)
{
	if (setting_notify != NOTIFY_AUTO)
		return (NotifyMode) setting_notify;
	return worker_available() ? NOTIFY_WORKER : NOTIFY_TRANSACTION;
}

/* Rings for one change, with the store open; it is heard at commit. */
void
notify_announce(const char *tenant, const char *conversation, const char *run_id, const Ulid *id,
				const char *kind, const char *status)
{
	char		text[ULID_TEXT_LEN + 1];
	char	   *payload;

	ulid_to_text(id, text);
	payload = psprintf("{\"id\":\"%s\",\"event\":\"%s\",\"status\":\"%s\"}", text, kind, status);
	notify_tenant_exists(tenant);
	Async_Notify(tenant_channel(tenant), payload);
	if (conversation[0] != '\0')
		Async_Notify(channel_name('c', tenant, conversation), payload);
	if (run_id)
		Async_Notify(channel_name('r', tenant, run_id), payload);
	Async_Notify(CHANNEL_ALL, has_tenants ? "{}" : payload);
}

/*
 * Rings on the channel of a run for something that is no event of a request.
 * That is rare, so it is done in the transaction, whoever else rings.
 */
void
notify_run(const char *tenant, const char *run_id, const char *kind, const char *status)
{
	if (notify_mode() == NOTIFY_OFF)
		return;
	Async_Notify(channel_name('r', tenant, run_id),
				 psprintf("{\"id\":null,\"event\":\"%s\",\"status\":\"%s\"}", kind, status));
}

/* A change has been written: it is announced at commit, or soon after. */
void
notify_ring(const Call *call, const char *kind)
{
	const Request *request = call->request;
	char	   *conversation = request_text(request, REQ_CONVERSATION_ID);

	wait_touch(call->tenant, request_id(request), conversation);
	switch (notify_mode())
	{
		case NOTIFY_WORKER:
			worker_event();
			break;
		case NOTIFY_OFF:
			break;
		default:
			notify_announce(call->tenant, conversation, request_text(request, REQ_RUN_ID), request_id(request), kind,
							state_status_word(request->status));
	}
}

/* channel(scope, key, tenant): the name to LISTEN on */
Datum
approval_channel(PG_FUNCTION_ARGS)
{
	Call		call;
	char	   *scope = args_required(fcinfo, 0, "scope", ARGS_KEY_LIMIT);
	char	   *key = args_text(fcinfo, 1, "key", ARGS_KEY_LIMIT);
	const char *name = NULL;
	text	   *result;

	verb_begin(&call, fcinfo, "channel");
	call_tenant(&call, 2);
	if (strcmp(scope, "all") == 0)
		name = CHANNEL_ALL;
	else if (strcmp(scope, "tenant") == 0)
		name = channel_name('t', call.tenant, NULL);
	else if (strcmp(scope, "conversation") == 0 || strcmp(scope, "run") == 0)
	{
		if (key == NULL)
			errors_raise_null("key");
		args_check_name("key", key, ARGS_KEY_LIMIT);
		name = channel_name(scope[0], call.tenant, key);
	}
	else
		args_bad_value("scope", "One of all, tenant, conversation and run.");
	result = (text *) SPI_palloc(VARHDRSZ + strlen(name));
	SET_VARSIZE(result, VARHDRSZ + strlen(name));
	memcpy(VARDATA(result), name, strlen(name));
	verb_end(&call);
	PG_RETURN_TEXT_P(result);
}
