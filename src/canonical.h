/*
 * canonical.h
 *	  Canonical JSON (RFC 8785) from JSON text.
 */
#ifndef APPROVAL_CANONICAL_H
#define APPROVAL_CANONICAL_H

#include "lib/stringinfo.h"

typedef enum CanonicalMode
{
	CANONICAL_JCS,				/* RFC 8785 and nothing else */
	CANONICAL_STRICT			/* also refuses U+0000 and inexact numbers */
} CanonicalMode;

/*
 * Why a document has no canonical form.  The reasons: duplicate_key,
 * lone_surrogate, nul_character, number_out_of_range, number_not_exact.
 */
typedef struct CanonicalError
{
	const char *reason;			/* a static word in snake_case */
	char	   *path;			/* JSONPath of the place, palloc'd, clipped if
								 * long */
} CanonicalError;

extern bool canonical_append(StringInfo out, const char *json, int len,
							 CanonicalMode mode, CanonicalError *error);
extern bool canonical_append_without(StringInfo out, const char *json, int len,
									 CanonicalMode mode, const char *const *omitted,
									 CanonicalError *error);
extern void canonical_append_key(StringInfo path, const char *key, int len);
extern void canonical_append_string(StringInfo out, const char *s, int len);
extern void canonical_append_member(StringInfo out, const char *name, const char *value);
extern int	canonical_compare_keys(const char *a, int a_len, const char *b, int b_len);
extern char canonical_kind(const char *json, int len);
extern bool canonical_is_empty_array(const char *json, int len);

#endif							/* APPROVAL_CANONICAL_H */
