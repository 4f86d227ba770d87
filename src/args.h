/*-------------------------------------------------------------------------
 *
 * args.h
 *	  Arguments of verbs: required ones, limits, the common errors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_ARGS_H
#define APPROVAL_ARGS_H

#include "fmgr.h"

#include "compat.h"
#include "digest.h"
#include "ulid.h"

#define ARGS_KEY_LIMIT 255		/* bytes: tenant, ids, names */
#define ARGS_ADDRESS_LIMIT 2048 /* bytes: resource, reply_to */
#define ARGS_TEXT_LIMIT 65536	/* bytes: reasons, notes, texts for the model */

extern void args_check_length(const char *name, const char *value, int limit);
extern void args_check_actor(const char *name, const char *value);
extern void args_check_name(const char *name, const char *value, int limit);
pg_noreturn extern void args_bad_value(const char *name, const char *hint);

extern char *args_text(FunctionCallInfo fcinfo, int n, const char *name, int limit);
extern char *args_name(FunctionCallInfo fcinfo, int n, const char *name);
extern char *args_actor(FunctionCallInfo fcinfo, int n, const char *name);
extern char *args_required(FunctionCallInfo fcinfo, int n, const char *name, int limit);
extern const Ulid *args_id(FunctionCallInfo fcinfo, int n, const char *name);
extern const Digest *args_digest(FunctionCallInfo fcinfo, int n, const char *name);
extern text *args_json(FunctionCallInfo fcinfo, int n);
extern text *args_required_json(FunctionCallInfo fcinfo, int n, const char *name);
extern int64 args_span(FunctionCallInfo fcinfo, int n, const char *name,
					   int64 otherwise, int64 least, int64 most);

#endif							/* APPROVAL_ARGS_H */
