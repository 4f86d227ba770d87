/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The approval.* settings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SETTINGS_H
#define APPROVAL_SETTINGS_H

typedef enum NotifyMode
{
	NOTIFY_AUTO,
	NOTIFY_WORKER,
	NOTIFY_TRANSACTION,
	NOTIFY_OFF
} NotifyMode;

extern int	setting_decide_within;	/* seconds */
extern int	setting_min_decide_within;	/* seconds */
extern int	setting_use_within; /* seconds */
extern int	setting_lease;		/* seconds */
extern int	setting_max_lease;	/* seconds */
extern int	setting_max_action_size;	/* bytes */
extern int	setting_turn_wait;
extern int	setting_bulk_approvals;
extern int	setting_max_decide_within;
extern int	setting_claim;		/* milliseconds */
extern int	setting_max_grant;	/* seconds */
extern int	setting_quota_conversation; /* requests */
extern int	setting_quota_login;
extern int	setting_quota_tenant;
extern int	setting_quota_conversation_bytes;	/* kilobytes */
extern int	setting_quota_login_bytes;
extern int	setting_quota_tenant_bytes;
extern int	setting_run_iterations;
extern int	setting_run_iterations_per_day;
extern int	setting_capability_days;
extern int	setting_notify;		/* a NotifyMode */
extern int	setting_max_wait;	/* seconds */
extern int	setting_waits_per_login;
extern int	setting_notify_pause;	/* milliseconds */
extern int	setting_worker_idle;	/* seconds */
extern int	setting_max_databases;
extern bool setting_commit_first;
extern bool setting_force_sync;
extern bool setting_separate_logins;
extern char *setting_tenant;

extern void settings_init(void);

#endif							/* APPROVAL_SETTINGS_H */
