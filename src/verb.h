/*-------------------------------------------------------------------------
 *
 * verb.h
 *	  What every verb goes through: caller, lock, clock, test, write, answer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_VERB_H
#define APPROVAL_VERB_H

#include "fmgr.h"
#include "nodes/execnodes.h"

#include "caller.h"
#include "errors.h"
#include "request.h"
#include "store.h"

/* What a verb came to. */
typedef enum Step
{
	STEP_REFUSED,				/* call->refusal says why; nothing was written */
	STEP_UNCHANGED,				/* the row already says so */
	STEP_WRITTEN
} Step;

/* What consume hands out beside the row; the token is stored hashed only. */
typedef struct Permit
{
	bool		granted;
	char		token[DIGEST_TEXT_LEN + 1];
} Permit;

typedef struct Call
{
	FunctionCallInfo fcinfo;
	const char *verb;
	const Caller *caller;		/* a copy: the cache may be read again
								 * meanwhile */
	const char *tenant;
	const char *actor;			/* for whom the verb acts, once known */
	bool		has_id;
	Ulid		id;				/* of the request asked for */
	TimestampTz now;			/* read after the row was locked */
	Request    *request;		/* the row, once there is one */
	Status		status_before;	/* what it was at "now" when it was locked */
	Outcome		outcome_before;
	Effective	effective;		/* what it is */
	bool		tampered;		/* row digest did not match when locked */
	bool		spi_active;		/* called from a procedural language */
	Permit		permit;
	struct Writer *writer;		/* of a verb that writes several requests, or
								 * NULL */
	bool		has_answers;	/* a verb over several requests */
	Datum		answers;		/* what became of each, as a JSON array */
	Refusal		refusal;
	MemoryContext result_context;
	Store		store;
} Call;

/* A verdict to be stored beside the event. */
typedef struct Decision
{
	const char *verdict;
	const Digest *seen;
	const Digest *map_hash;		/* NULL: not of a decision map */
	const char *result;
} Decision;

typedef Step (*VerbBody) (Call *call);

/* What an answer of one verb is made of. */
typedef enum Answer
{
	ANSWER_REQUEST,
	ANSWER_PERMIT,
	ANSWER_SEVERAL
} Answer;

extern Datum verb_plain(FunctionCallInfo fcinfo, const char *verb, VerbBody body, Answer answer);
extern Datum verb_try(FunctionCallInfo fcinfo, const char *verb, VerbBody body, Answer answer);
extern void verb_begin(Call *call, FunctionCallInfo fcinfo, const char *verb);
extern void verb_end(Call *call);

extern Step call_refuse(Call *call, Reason reason);
extern void call_tenant(Call *call, int argument);
extern bool call_actor(Call *call, int argument, bool must_name);
extern bool call_lock(Call *call, const Ulid *id);
extern void call_adopt(Call *call, Request *request);
extern bool call_lock_free(Call *call, const Ulid *id);
extern Step call_write(Call *call, const char *kind, const char *note, const Decision *decision);
extern Step call_born(Call *call, const char *kind, const char *note);
extern Step call_renew_lease(Call *call);
extern void call_force_sync(void);
extern void call_keep_refusal(const Call *call, const char *detail);
extern Oid	call_own_type(const char *name);
extern Datum call_request_datum(const Call *call, Oid type);
extern void call_put(Call *call, ReturnSetInfo *rsinfo, Oid type);

#endif							/* APPROVAL_VERB_H */
