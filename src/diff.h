/*-------------------------------------------------------------------------
 *
 * diff.h
 *	  Where two JSON documents, or two actions, differ.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_DIFF_H
#define APPROVAL_DIFF_H

#include "utils/jsonb.h"

#include "hash.h"

typedef struct Diff Diff;

/* A place that differs; NULL: that side has nothing there. */
typedef void (*DiffTell) (Diff *diff, const char *path, JsonbValue *before, JsonbValue *after);

struct Diff
{
	DiffTell	tell;
	void	   *state;			/* of what tells */
	int			most;			/* places to tell of; no more are looked for */
	bool		in_order;		/* members in canonical order; else those of
								 * before first, as jsonb has them */
	int			count;			/* places so far; beyond most: there are more */
};

extern Jsonb *diff_parse(const char *canonical, int len);
extern JsonbValue *diff_root(Jsonb *document, JsonbValue *value);
extern void diff_documents(Diff *diff, JsonbValue *before, JsonbValue *after);
extern char *diff_actions(const Action *a, const Action *b);

extern text *diff_of_preview(text *json);

#endif							/* APPROVAL_DIFF_H */
