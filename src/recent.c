/*-------------------------------------------------------------------------
 *
 * recent.c
 *	  Of which conversation and run recently announced requests are.
 *
 * The four events of a request mostly come soon after each other, and its
 * conversation and run never change: the worker does not look them up each time.  One
 * place for each of so many values of a hash, where the last one stands.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "recent.h"

#define PLACES 1024				/* a power of 2 */

typedef struct Recent
{
	Ulid		id;
	char	   *tenant;			/* NULL: nobody stands here */
	char	   *conversation;
	char	   *run;			/* NULL: of none */
} Recent;

static MemoryContext context = NULL;
static Recent *places = NULL;

static Recent *
place_of(const Ulid *id)
{
	return &places[hash_bytes((const unsigned char *) id, sizeof(Ulid)) & (PLACES - 1)];
}

/* False: not known. */
bool
recent_find(const char *tenant, const Ulid *id, const char **conversation, const char **run)
{
	Recent	   *place;

	if (places == NULL)
		return false;
	place = place_of(id);
	if (place->tenant == NULL || memcmp(&place->id, id, sizeof(Ulid)) != 0 ||
		strcmp(place->tenant, tenant) != 0)
		return false;
	*conversation = place->conversation;
	*run = place->run;
	return true;
}

void
recent_remember(const char *tenant, const Ulid *id, const char *conversation, const char *run)
{
	Recent	   *place;

	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "approval recent requests", ALLOCSET_DEFAULT_SIZES);
	if (places == NULL)
		places = MemoryContextAllocZero(context, sizeof(Recent) * PLACES);
	place = place_of(id);
	if (place->tenant)
	{
		pfree(place->tenant);
		pfree(place->conversation);
		if (place->run)
			pfree(place->run);
		place->tenant = NULL;
	}
	place->id = *id;
	place->conversation = MemoryContextStrdup(context, conversation);
	place->run = run ? MemoryContextStrdup(context, run) : NULL;
	place->tenant = MemoryContextStrdup(context, tenant);
}

/* With another CREATE EXTENSION all is different. */
void
recent_forget(void)
{
	if (context)
		MemoryContextReset(context);
	places = NULL;
}
