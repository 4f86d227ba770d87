/*
 * digest.c
 *	  SHA-256 and the type approval.digest.
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "digest.h"
#include "fixed_type.h"

static pg_cryptohash_ctx *context = NULL;

/*
 * Making a context costs more than hashing a short document, so one is kept
 * until the process ends.  It needs a resource owner of its own, or the end of
 * the transaction would free it.  An error in the middle of a hash does no
 * harm: every use starts with pg_cryptohash_init().
 */
static void
make_context(void)
{
	static ResourceOwner owner = NULL;
	ResourceOwner caller_owner = CurrentResourceOwner;
	MemoryContext caller_context = CurrentMemoryContext;

	/* without OpenSSL the context is palloc'd in the current memory context */
	if (owner == NULL)
		owner = ResourceOwnerCreate(NULL, "approval digest");
	CurrentResourceOwner = owner;
	MemoryContextSwitchTo(TopMemoryContext);
	PG_TRY();
	{
		context = pg_cryptohash_create(PG_SHA256);
	}
	PG_FINALLY();
	{
		MemoryContextSwitchTo(caller_context);
		CurrentResourceOwner = caller_owner;
	}
	PG_END_TRY();
	if (context == NULL)
		elog(ERROR, "could not create a SHA-256 context");
}

static inline void
check_hash(int result)
{
	if (result < 0)
		elog(ERROR, "could not compute SHA-256: %s", pg_cryptohash_error(context));
}

void
digest_start(void)
{
	if (context == NULL)
		make_context();
	check_hash(pg_cryptohash_init(context));
}

void
digest_add(const void *data, size_t len)
{
	check_hash(pg_cryptohash_update(context, data, len));
}

void
digest_finish(Digest *out)
{
	check_hash(pg_cryptohash_final(context, out->bytes, DIGEST_SIZE));
}

void
digest_of(const void *data, size_t len, Digest *out)
{
	digest_start();
	digest_add(data, len);
	digest_finish(out);
}

void
digest_to_hex(const Digest *digest, char hex[DIGEST_TEXT_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	int			i;

	for (i = 0; i < DIGEST_SIZE; i++)
	{
		hex[2 * i] = digits[digest->bytes[i] >> 4];
		hex[2 * i + 1] = digits[digest->bytes[i] & 0xf];
	}
	hex[DIGEST_TEXT_LEN] = '\0';
}

static inline int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
digest_from_hex(const char *hex, int len, Digest *out)
{
	int			i;

	if (len != DIGEST_TEXT_LEN)
		return false;
	for (i = 0; i < DIGEST_SIZE; i++)
	{
		int			high = hex_value(hex[2 * i]);
		int			low = hex_value(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out->bytes[i] = (uint8) (high << 4 | low);
	}
	return true;
}

/* Equality that takes the same time wherever two digests differ. */
bool
digest_equal_secret(const Digest *a, const Digest *b)
{
	volatile uint8 difference = 0;
	int			i;

	for (i = 0; i < DIGEST_SIZE; i++)
		difference |= a->bytes[i] ^ b->bytes[i];
	return difference == 0;
}

PG_FUNCTION_INFO_V1(approval_digest_in);
Datum
approval_digest_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Digest	   *digest = palloc(sizeof(Digest));

	if (!digest_from_hex(text, (int) strnlen(text, DIGEST_TEXT_LEN + 1), digest))
		ereturn(fcinfo->context, (Datum) 0, FIXED_TYPE_BAD_INPUT("approval.digest"));
	PG_RETURN_DIGEST_P(digest);
}

PG_FUNCTION_INFO_V1(approval_digest_out);
Datum
approval_digest_out(PG_FUNCTION_ARGS)
{
	char	   *hex = palloc(DIGEST_TEXT_LEN + 1);

	digest_to_hex(PG_GETARG_DIGEST_P(0), hex);
	PG_RETURN_CSTRING(hex);
}

PG_FUNCTION_INFO_V1(approval_digest_recv);
Datum
approval_digest_recv(PG_FUNCTION_ARGS)
{
	Digest	   *digest = palloc(sizeof(Digest));

	pq_copymsgbytes((StringInfo) PG_GETARG_POINTER(0), (char *) digest->bytes, DIGEST_SIZE);
	PG_RETURN_DIGEST_P(digest);
}

PG_FUNCTION_INFO_V1(approval_digest_send);
Datum
approval_digest_send(PG_FUNCTION_ARGS)
{
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendbytes(&buf, (const char *) PG_GETARG_DIGEST_P(0)->bytes, DIGEST_SIZE);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

PG_FUNCTION_INFO_V1(approval_digest_to_bytea);
Datum
approval_digest_to_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *result = palloc(VARHDRSZ + DIGEST_SIZE);

	SET_VARSIZE(result, VARHDRSZ + DIGEST_SIZE);
	memcpy(VARDATA(result), PG_GETARG_DIGEST_P(0)->bytes, DIGEST_SIZE);
	PG_RETURN_BYTEA_P(result);
}

PG_FUNCTION_INFO_V1(approval_bytea_to_digest);
Datum
approval_bytea_to_digest(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	Digest	   *digest;

	if (VARSIZE_ANY_EXHDR(bytes) != DIGEST_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid length for type %s", "approval.digest"),
				 errdetail("A digest has %d bytes.", DIGEST_SIZE)));
	digest = palloc(sizeof(Digest));
	memcpy(digest->bytes, VARDATA_ANY(bytes), DIGEST_SIZE);
	PG_RETURN_DIGEST_P(digest);
}

FIXED_TYPE_OPERATORS(digest, DIGEST_SIZE)
