/*-------------------------------------------------------------------------
 *
 * budget.h
 *	  How much may be approved automatically in a window of time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_BUDGET_H
#define APPROVAL_BUDGET_H

#include "registry.h"
#include "verb.h"

/* What a request takes from one budget. */
typedef struct Reservation
{
	const char *tool_tenant;	/* whose budget it is */
	const char *budget;
	const char *key;			/* '' without one */
	Numeric		amount;
} Reservation;

extern bool budget_reserve(const Call *call, const Registered *registered, Subject *subject,
						   bool only_look, List **reservations, GateReason *why);
extern void budget_keep(const Call *call, List *reservations);
extern void budget_settle(const Call *call);

#endif							/* APPROVAL_BUDGET_H */
