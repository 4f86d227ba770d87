/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the supported versions of PostgreSQL.
 *
 * The only file that looks at PG_VERSION_NUM.  Each shim names the version
 * in which core changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_COMPAT_H
#define APPROVAL_COMPAT_H

#include "storage/proc.h"

#if PG_VERSION_NUM < 150000
#error "approval needs PostgreSQL 15 or newer"
#endif

/* 16: varlena macros moved out of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 18: a prefix took the place of pg_attribute_noreturn() */
#if PG_VERSION_NUM < 180000
#define pg_noreturn _Noreturn
#endif

/* 16: soft input errors; before it every one is an error */
#if PG_VERSION_NUM < 160000
#define ereturn(context, value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return (value); \
	} while (0)
#endif

/* 17: PGPROC.lxid moved into PGPROC.vxid */
#if PG_VERSION_NUM >= 170000
#define MY_LXID (MyProc->vxid.lxid)
#else
#define MY_LXID (MyProc->lxid)
#endif

/* 16: EvalPlanQualInit got a list of result relations */
#if PG_VERSION_NUM >= 160000
#define compat_eval_plan_qual_init(epq, estate) EvalPlanQualInit(epq, estate, NULL, NIL, -1, NIL)
#else
#define compat_eval_plan_qual_init(epq, estate) EvalPlanQualInit(epq, estate, NULL, NIL, -1)
#endif

/* 16: ExecInsertIndexTuples got onlySummarizing */
#if PG_VERSION_NUM >= 160000
#define compat_insert_index_tuples(target, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples(target, slot, estate, false, true, conflict, arbiters, false)
#else
#define compat_insert_index_tuples(target, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples(target, slot, estate, false, true, conflict, arbiters)
#endif

/* 18: ExecCheckIndexConstraints got the tuple's own TID */
#if PG_VERSION_NUM >= 180000
#define compat_check_index_constraints(target, slot, estate, conflict, arbiters) \
	ExecCheckIndexConstraints(target, slot, estate, conflict, &(slot)->tts_tid, arbiters)
#else
#define compat_check_index_constraints(target, slot, estate, conflict, arbiters) \
	ExecCheckIndexConstraints(target, slot, estate, conflict, arbiters)
#endif

/* 18: index_beginscan got room for instrumentation */
#if PG_VERSION_NUM >= 180000
#define compat_index_beginscan(relation, index, snapshot, nkeys) \
	index_beginscan(relation, index, snapshot, NULL, nkeys, 0)
#else
#define compat_index_beginscan(relation, index, snapshot, nkeys) \
	index_beginscan(relation, index, snapshot, nkeys, 0)
#endif

/* 18: the compiled CHECK constraints got another name */
#if PG_VERSION_NUM >= 180000
#define compat_check_exprs ri_CheckConstraintExprs
#else
#define compat_check_exprs ri_ConstraintExprs
#endif

/* 17: backends are numbered from 0, and PGPROC lost its own number */
#if PG_VERSION_NUM >= 170000
#define MY_PROC_NUMBER MyProcNumber
#else
#define MY_PROC_NUMBER (MyProc->pgprocno)
#endif

/* 16: one function for the owners of all kinds of objects */
#if PG_VERSION_NUM >= 160000
#define compat_owns_database(oid) object_ownercheck(DatabaseRelationId, oid, GetUserId())
#else
#define compat_owns_database(oid) pg_database_ownercheck(oid, GetUserId())
#endif

/* 17: wait events of extensions have names of their own */
#if PG_VERSION_NUM >= 170000
#define compat_wait_event(name) WaitEventExtensionNew(name)
#else
#define compat_wait_event(name) PG_WAIT_EXTENSION
#endif

/* 18: ExecutorRun lost its execute_once */
#if PG_VERSION_NUM >= 180000
#define EXECUTOR_RUN_ARGS QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define EXECUTOR_RUN_PASS queryDesc, direction, count
#else
#define EXECUTOR_RUN_ARGS QueryDesc *queryDesc, ScanDirection direction, uint64 count, bool execute_once
#define EXECUTOR_RUN_PASS queryDesc, direction, count, execute_once
#endif

/* 16: pgstat_fetch_stat_local_beentry was renamed */
#if PG_VERSION_NUM >= 160000
#define compat_local_beentry(i) pgstat_get_local_beentry_by_index(i)
#else
#define compat_local_beentry(i) pgstat_fetch_stat_local_beentry(i)
#endif

/* 16: ConditionalLockDatabaseObject; before it the same by hand */
#if PG_VERSION_NUM >= 160000
#define compat_try_lock_object(class, oid) ConditionalLockDatabaseObject(class, oid, 0, AccessShareLock)
#else
#define compat_try_lock_object(class, oid) \
	(LockAcquire(&(LOCKTAG) {MyDatabaseId, class, oid, 0, LOCKTAG_OBJECT, DEFAULT_LOCKMETHOD}, \
				 AccessShareLock, false, true) != LOCKACQUIRE_NOT_AVAIL)
#endif

#endif							/* APPROVAL_COMPAT_H */
