/*-------------------------------------------------------------------------
 *
 * repeat.h
 *	  Whether a person has just rejected the same action.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_REPEAT_H
#define APPROVAL_REPEAT_H

#include "registry.h"
#include "verb.h"

/* An earlier rejection that still stands. */
typedef struct Rejection
{
	Ulid		id;
	const char *denial;			/* the text for the model, or NULL */
} Rejection;

extern bool repeat_key(const Call *call, const Registered *registered, Subject *subject, Digest *key);
extern bool repeat_rejected(const Call *call, const Registered *registered, const Digest *key,
							Rejection *rejection);

#endif							/* APPROVAL_REPEAT_H */
