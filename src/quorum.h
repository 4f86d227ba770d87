/*-------------------------------------------------------------------------
 *
 * quorum.h
 *	  How many have approved or rejected, and who may.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_QUORUM_H
#define APPROVAL_QUORUM_H

#include "panel.h"
#include "verb.h"

/* What has been said of a request so far, seen by one actor. */
typedef struct Votes
{
	Panel		panel;
	SeatMask	own_seats;		/* that the actor may take; 0: none */
	bool		own_approval;	/* the actor approves what is shown, and
								 * counts */
	bool		own_rejection;	/* the actor rejects it */
	int			nothers;
	SeatMask   *others;			/* others who approve what is shown */
	int			rejections;		/* of others, whatever was shown then */
	List	   *rejecters;		/* their names */
	int			last_rejection; /* number of its event; 0: none */
	const char *rejecter;		/* whose that is */
	int			last_result;	/* of the last one with a text for the model */
	const char *result;
} Votes;

extern void quorum_look(const Call *call, Votes *votes);
extern int	quorum_filled(const Votes *votes, bool with_own);
extern bool quorum_reachable(const Call *call, const Votes *votes, bool without_own, bool owner_counts);

#endif							/* APPROVAL_QUORUM_H */
