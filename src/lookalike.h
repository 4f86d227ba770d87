/*-------------------------------------------------------------------------
 *
 * lookalike.h
 *	  Keys that a person, or a lenient parser, would take for each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_LOOKALIKE_H
#define APPROVAL_LOOKALIKE_H

#include "utils/jsonb.h"

extern bool lookalike_keys(Jsonb *arguments);

#endif							/* APPROVAL_LOOKALIKE_H */
