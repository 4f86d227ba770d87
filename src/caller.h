/*-------------------------------------------------------------------------
 *
 * caller.h
 *	  Who is calling: the login, whom it may speak for, and for which tenants.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_CALLER_H
#define APPROVAL_CALLER_H

#include "errors.h"

/* Stands for every tenant in approval.logins. */
#define CALLER_ALL_TENANTS "*"

typedef enum LoginKind
{
	LOGIN_UNMAPPED,				/* no row in approval.logins */
	LOGIN_PERSON,
	LOGIN_SERVICE,
	LOGIN_DELEGATE,
	LOGIN_GATEWAY
} LoginKind;

/* What a caller may look at. */
typedef enum Sight
{
	SIGHT_NOTHING,
	SIGHT_OWN,					/* what its own login proposed */
	SIGHT_TENANT				/* its tenants */
} Sight;

typedef struct Caller
{
	Oid			login_oid;		/* session_user */
	Oid			role_oid;		/* the role in force when the verb was called */
	const char *login;
	char		role[NAMEDATALEN];
	Sight		sight;			/* by that role */
	LoginKind	kind;
	const char *actor;			/* the login's own */
	bool		mapped;			/* actor comes from approval.logins */
	bool		all_tenants;
	int			ntenants;
	char	  **tenants;
	int			nroles;			/* what its agents are for */
	char	  **roles;
} Caller;

extern void caller_init(void);
extern const Caller *caller_get(void);
extern const Caller *caller_copy(const Caller *caller);
extern const char *caller_tenant(const Caller *caller, const char *wanted);
extern const char *caller_policy_tenant(const Caller *caller, const char *wanted);
extern const char *caller_actor(const Caller *caller, const char *wanted,
								bool must_name, Refusal *refusal);
extern char **caller_roles_of(const char *login, int *count);
extern bool caller_may_judge(const Caller *caller);
extern bool caller_is(const Caller *caller, const char *group);

#endif							/* APPROVAL_CALLER_H */
