/*-------------------------------------------------------------------------
 *
 * approval.c
 *	  Entry point: a durable permission between a decision and an action.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "alone.h"
#include "caller.h"
#include "indexes.h"
#include "notify.h"
#include "registry.h"
#include "request.h"
#include "settings.h"
#include "store.h"
#include "table.h"
#include "worker_hooks.h"
#include "worker_launcher.h"
#include "worker_shmem.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	settings_init();
	store_init();
	request_init();
	table_init();
	indexes_init();
	caller_init();
	registry_init();
	notify_init();
	alone_init();
	worker_hooks_init();
	if (!process_shared_preload_libraries_in_progress)
		return;
	worker_shmem_init();
	worker_launcher_init();
}
