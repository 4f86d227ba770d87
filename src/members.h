/*-------------------------------------------------------------------------
 *
 * members.h
 *	  Who belongs to a group of reviewers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_MEMBERS_H
#define APPROVAL_MEMBERS_H

#include "panel.h"

/* No more members of its groups than this are looked at. */
#define MEMBERS_MOST 2000

extern bool members_has(const char *tenant, const char *reviewer_group, const char *actor);
extern SeatMask members_seats(const char *tenant, const Panel *panel, const char *actor);
extern Datum members_groups(const Panel *panel);

#endif							/* APPROVAL_MEMBERS_H */
