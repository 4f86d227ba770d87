/*
 * digest.h
 *	  SHA-256 and the type approval.digest.
 */
#ifndef APPROVAL_DIGEST_H
#define APPROVAL_DIGEST_H

#include "fmgr.h"

#include "compat.h"

#define DIGEST_SIZE 32
#define DIGEST_TEXT_LEN (2 * DIGEST_SIZE)

typedef struct Digest
{
	uint8		bytes[DIGEST_SIZE];
} Digest;

#define DatumGetDigestP(datum) ((Digest *) DatumGetPointer(datum))
#define DigestPGetDatum(digest) PointerGetDatum(digest)
#define PG_GETARG_DIGEST_P(n) DatumGetDigestP(PG_GETARG_DATUM(n))
#define PG_RETURN_DIGEST_P(digest) return DigestPGetDatum(digest)

extern void digest_of(const void *data, size_t len, Digest *out);

/*
 * In pieces.  There is one context a process: nothing that could hash
 * something else, or raise an error, may stand between start and finish.
 */
extern void digest_start(void);
extern void digest_add(const void *data, size_t len);
extern void digest_finish(Digest *out);

/* 64 lower-case hexadecimal digits and a zero byte */
extern void digest_to_hex(const Digest *digest, char hex[DIGEST_TEXT_LEN + 1]);
extern bool digest_from_hex(const char *hex, int len, Digest *out);
extern bool digest_equal_secret(const Digest *a, const Digest *b);

#endif							/* APPROVAL_DIGEST_H */
