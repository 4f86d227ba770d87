/*-------------------------------------------------------------------------
 *
 * read.h
 *	  Requests as a caller may see them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_READ_H
#define APPROVAL_READ_H

#include "nodes/execnodes.h"

#include "verb.h"

/* Which requests of a conversation. */
typedef enum ReadExtent
{
	EXTENT_ALL,
	EXTENT_OPEN,				/* not settled */
	EXTENT_PENDING
} ReadExtent;

/* What is done with each row of a conversation. */
typedef void (*ReadVisit) (const Request *request, Effective effective, void *state);

extern bool read_allowed(const Call *call, const Request *request);
extern bool read_notes(const Call *call);
extern Step read_found(Call *call, Request *request, TimestampTz now);
extern void read_conversation(const Call *call, const char *conversation_id, const char *run_id,
							  ReadExtent extent, TimestampTz now, ReadVisit visit, void *state);
extern void read_put_outcomes(const Call *call, const char *conversation_id, TimestampTz now,
							  ReturnSetInfo *rsinfo);

#endif							/* APPROVAL_READ_H */
