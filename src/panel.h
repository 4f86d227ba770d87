/*-------------------------------------------------------------------------
 *
 * panel.h
 *	  Who has to agree: seats of groups, to be filled by different people.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_PANEL_H
#define APPROVAL_PANEL_H

#include "utils/jsonb.h"

#include "document.h"
#include "request.h"

/* Stands for any approver where a group is named. */
#define PANEL_ANYBODY "*"

#define PANEL_SEATS 8			/* groups of one panel */
#define PANEL_MOST 100			/* people of one panel */

/* So many people of one group. */
typedef struct Seats
{
	const char *group;			/* NULL: any approver */
	int			needed;
} Seats;

typedef struct Panel
{
	int			count;
	Seats		seats[PANEL_SEATS];
	const char *stand_in;		/* a group whose members may take any seat, or
								 * NULL */
} Panel;

/* The seats that a person may take, as bits. */
typedef uint32 SeatMask;

extern void panel_set(Panel *panel, const char *group, int needed);
extern bool panel_parse(JsonbContainer *object, const char *place, Panel *panel, Problem *problem);
extern int	panel_needed(const Panel *panel);
extern bool panel_grouped(const Panel *panel);
extern void panel_raise(Panel *panel, int needed);
extern void panel_stricter(Panel *panel, const Panel *other);
extern bool panel_both(Panel *panel, const Panel *other);
extern bool panel_covers(const Panel *panel, const Panel *other);
extern int	panel_filled(const Panel *panel, const SeatMask *people, int count);
extern bool panel_fillable(const Panel *panel, const SeatMask *people, int count);
extern void panel_copy(Panel *panel);
extern char *panel_text(const Panel *panel);
extern void panel_of_request(const Request *request, Panel *panel);
extern void panel_to_request(const Panel *panel, Request *request);

#endif							/* APPROVAL_PANEL_H */
