/*-------------------------------------------------------------------------
 *
 * edit.h
 *	  Corrected arguments in the place of the proposed ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_EDIT_H
#define APPROVAL_EDIT_H

#include "registry.h"
#include "verb.h"

/* Arguments that a reviewer brings; text NULL: none. */
typedef struct Edited
{
	const char *text;			/* canonical */
	int			len;
} Edited;

/* What an edit is, by the tool's option "edits". */
typedef enum EditScope
{
	EDIT_NOT_ALLOWED,
	EDIT_APPROVES,
	EDIT_PROPOSES				/* beyond the paths that may be changed */
} EditScope;

extern void edit_hash(const Request *request, const Edited *edited, Digest *out);
extern bool edit_changes(const Request *request, const Edited *edited);
extern EditScope edit_scope(const Call *call, const Registered *registered, const Edited *edited);
extern Step edit_apply(Call *call, const Registered *registered, const Edited *edited);

#endif							/* APPROVAL_EDIT_H */
