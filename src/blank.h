/*-------------------------------------------------------------------------
 *
 * blank.h
 *	  Texts in which there is nothing to read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_BLANK_H
#define APPROVAL_BLANK_H

#include "mb/pg_wchar.h"

extern bool blank_char(pg_wchar c);
extern bool blank_text(const char *text);

#endif							/* APPROVAL_BLANK_H */
