/*
 * hash.h
 *	  The two hashes of a request: of what is executed and of what was shown.
 */
#ifndef APPROVAL_HASH_H
#define APPROVAL_HASH_H

#include "canonical.h"
#include "digest.h"

/* What would be done. */
typedef struct Action
{
	const char *tenant;
	const char *server;
	const char *tool;
	const Digest *definition;	/* or NULL */
	const char *resource;		/* or NULL */
	const char *arguments;		/* the canonical text of an object */
	int			arguments_len;
} Action;

/* What a person sees of it.  All but the first two may be NULL. */
typedef struct Review
{
	const Digest *action;
	const char *summary;
	const Digest *preview;
	const char *reason;
	const char *requester;
	const char *on_behalf_of;
} Review;

extern void hash_action(const Action *action, Digest *out);
extern void hash_review(const Review *review, Digest *out);

/*
 * Append the canonical text of an action's arguments.  False if they have
 * none: either *is_object is false and nothing else is known, or "error" says
 * what stands in the way.
 */
extern bool hash_canonical_arguments(StringInfo out, const char *json, int len,
									 CanonicalError *error, bool *is_object);
extern bool hash_definition(const char *json, int len, Digest *out,
							CanonicalError *error, bool *is_object);

extern char *hash_definition_text(const text *json, int *len);
extern bool hash_definition_shape(const char *json, int len, Digest *out);

#endif							/* APPROVAL_HASH_H */
