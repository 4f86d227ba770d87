/*-------------------------------------------------------------------------
 *
 * answer.h
 *	  What became of each of several verdicts: rows of approval.answer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_ANSWER_H
#define APPROVAL_ANSWER_H

#include "verb.h"

typedef enum AnswerKind
{
	ANSWERED_APPLIED,
	ANSWERED_UNCHANGED,			/* was said before */
	ANSWERED_REMAINING,			/* left for somebody else */
	ANSWERED_REFUSED
} AnswerKind;

/* The call of one request, and what it came to. */
typedef struct Answered
{
	Call		call;
	AnswerKind	kind;
} Answered;

extern void answer_put(ReturnSetInfo *rsinfo, const Answered *answers, int count);
extern Datum answer_json(const Answered *answers, int count);

#endif							/* APPROVAL_ANSWER_H */
