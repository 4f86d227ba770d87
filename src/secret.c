/*-------------------------------------------------------------------------
 *
 * secret.c
 *	  Secrets that are shown once, and of which only the hash is kept.
 *
 * Tokens of permits and of runs, secrets of handles: 256 random bits, in
 * hexadecimal; what is stored is SHA-256 of that text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "secret.h"

void
secret_new(char text[DIGEST_TEXT_LEN + 1], Digest *kept)
{
	Digest		random;

	if (!pg_strong_random(&random, sizeof(random)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random secret")));
	digest_to_hex(&random, text);
	digest_of(text, DIGEST_TEXT_LEN, kept);
}

/* Whether the text is that secret; the comparison takes constant time. */
bool
secret_is(const char *text, const Digest *kept)
{
	Digest		shown;

	digest_of(text, strlen(text), &shown);
	return digest_equal_secret(&shown, kept);
}
