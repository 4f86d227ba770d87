/*-------------------------------------------------------------------------
 *
 * lookalike.h
 *	  Keys of one object that a person cannot tell apart.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_LOOKALIKE_H
#define APPROVAL_LOOKALIKE_H

#include "utils/jsonb.h"

extern bool lookalike_keys(Jsonb *arguments);

#endif							/* APPROVAL_LOOKALIKE_H */
