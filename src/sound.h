/*-------------------------------------------------------------------------
 *
 * sound.h
 *	  What the CHECK constraints of our tables demand.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SOUND_H
#define APPROVAL_SOUND_H

#include "request.h"

extern void sound_check(const Request *request);

#endif							/* APPROVAL_SOUND_H */
