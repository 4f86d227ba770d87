/*-------------------------------------------------------------------------
 *
 * alone.h
 *	  Whether the statement that runs will commit by itself, at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_ALONE_H
#define APPROVAL_ALONE_H

#include "nodes/nodes.h"

extern void alone_init(void);
extern bool alone_spi_active(void);
extern bool alone_in_transaction(bool spi_active, Node *function);
extern bool alone_commits(bool spi_active, Node *function);

#endif							/* APPROVAL_ALONE_H */
