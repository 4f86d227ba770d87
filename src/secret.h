/*-------------------------------------------------------------------------
 *
 * secret.h
 *	  Secrets that are shown once, and of which only the hash is kept.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SECRET_H
#define APPROVAL_SECRET_H

#include "digest.h"

extern void secret_new(char text[DIGEST_TEXT_LEN + 1], Digest *kept);
extern bool secret_is(const char *text, const Digest *kept);

#endif							/* APPROVAL_SECRET_H */
