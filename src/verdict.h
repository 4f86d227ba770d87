/*-------------------------------------------------------------------------
 *
 * verdict.h
 *	  A person's verdict on one request, whichever verb it came through.
 *
 * A verb that takes several verdicts locks and rules on all of its requests
 * first, and writes when nothing was refused.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_VERDICT_H
#define APPROVAL_VERDICT_H

#include "edit.h"
#include "verb.h"

#define VERDICT_APPROVE "approve"
#define VERDICT_REJECT "reject"

typedef struct Verdict
{
	const Ulid *id;
	bool		approve;
	const Digest *seen;			/* NULL: approves what was proposed, rejects
								 * whatever it is now */
	const text *arguments;		/* NULL: as they are */
	const char *result;			/* text for the model, with reject */
	const char *note;
	const Digest *map_hash;		/* of the decision map, if it came in one */

	bool		in_bulk;		/* with others, so not where several people
								 * are needed */

	Edited		edited;			/* the arguments in canonical form */
	const char *kind;			/* of the event, once ruled on */
	bool		counts;			/* a decision is stored */
} Verdict;

/* Verdicts being written, in one command. */
typedef struct Writing
{
	Writer		writer;
	List	   *grants;			/* that rejections make void */
} Writing;

extern bool verdict_take(Call *call, Verdict *verdict, const char *word);
extern bool verdict_prepare(Call *call, Verdict *verdict);
extern bool verdict_within_reach(Call *call);
extern Step verdict_rule(Call *call, Verdict *verdict);
extern void verdict_begin(Writing *writing);
extern void verdict_write(Writing *writing, Call *call, const Verdict *verdict);
extern void verdict_end(Writing *writing, Call *call);
extern bool verdict_own_edit_again(const Call *call, const Verdict *verdict);
extern bool verdict_own_repeat(const Call *call, const Verdict *verdict);

#endif							/* APPROVAL_VERDICT_H */
