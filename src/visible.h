/*-------------------------------------------------------------------------
 *
 * visible.h
 *	  Text that a person decides on: nothing in it is hidden.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_VISIBLE_H
#define APPROVAL_VISIBLE_H

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

extern bool visible_character(pg_wchar c);
extern void visible_append(StringInfo out, const char *text, int len);
extern void visible_append_clipped(StringInfo out, const char *text, int len);

#endif							/* APPROVAL_VISIBLE_H */
