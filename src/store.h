/*-------------------------------------------------------------------------
 *
 * store.h
 *	  SQL as the owner of the tables: kept plans, bound parameters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_STORE_H
#define APPROVAL_STORE_H

#include "executor/spi.h"

#define STORE_MAX_PARAMS 10

/* A statement with its kept plan; one static variable each. */
typedef struct Statement
{
	const char *sql;			/* or NULL: made by build() at first use */
	int			nparams;
	Oid			types[STORE_MAX_PARAMS];
	void		(*build) (struct Statement *statement);
	SPIPlanPtr	plan;
} Statement;

/* State that store_open() changed, for store_close(). */
typedef struct Store
{
	Oid			user;
	int			security;
} Store;

extern void store_init(void);
extern void store_open(Store *store);
extern void store_close(const Store *store);
extern uint64 store_run(Statement *statement, Datum *values, const char *nulls,
						int expected, long limit);
extern uint64 store_read(Statement *statement, Datum *values, const char *nulls);
extern Portal store_cursor(Statement *statement, Datum *values, const char *nulls);

#endif							/* APPROVAL_STORE_H */
