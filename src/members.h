/*-------------------------------------------------------------------------
 *
 * members.h
 *	  Who belongs to a group of reviewers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_MEMBERS_H
#define APPROVAL_MEMBERS_H

extern bool members_has(const char *tenant, const char *reviewer_group, const char *actor);

#endif							/* APPROVAL_MEMBERS_H */
