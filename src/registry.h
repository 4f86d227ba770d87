/*-------------------------------------------------------------------------
 *
 * registry.h
 *	  The tools as this backend keeps them, until policy changes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_REGISTRY_H
#define APPROVAL_REGISTRY_H

#include "tool.h"

/* What is known of one tool: a tenant's own row, and that for every tenant. */
typedef struct Registered
{
	bool		frozen;			/* the tool, or the whole tenant */
	bool		has_grants;		/* standing grants for it that are not void */
	bool		unreadable;		/* a stored row is not an acceptable document */
	int			ntools;
	Tool		tools[2];
} Registered;

extern void registry_init(void);
extern const Registered *registry_find(const char *tenant, const char *server, const char *tool);
extern bool registry_renamed(const char *tenant, const char *server, const Digest *shape);

#endif							/* APPROVAL_REGISTRY_H */
