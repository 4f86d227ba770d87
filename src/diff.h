/*-------------------------------------------------------------------------
 *
 * diff.h
 *	  Where two actions differ: paths, no values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_DIFF_H
#define APPROVAL_DIFF_H

#include "hash.h"

extern char *diff_actions(const Action *a, const Action *b);

#endif							/* APPROVAL_DIFF_H */
