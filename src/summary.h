/*-------------------------------------------------------------------------
 *
 * summary.h
 *	  What the gate itself says will happen.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SUMMARY_H
#define APPROVAL_SUMMARY_H

#include "hash.h"

extern char *summary_of(const Action *action, const char *template);

#endif							/* APPROVAL_SUMMARY_H */
