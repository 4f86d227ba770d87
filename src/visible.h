/*-------------------------------------------------------------------------
 *
 * visible.h
 *	  Text as a person can read it: nothing invisible, nothing endless.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_VISIBLE_H
#define APPROVAL_VISIBLE_H

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

extern bool visible_not(pg_wchar c);
extern void visible_append(StringInfo out, const char *text, int len);
extern void visible_append_clipped(StringInfo out, const char *text, int len);

#endif							/* APPROVAL_VISIBLE_H */
