/* so that the worker knows of the database; after the commit, if there is one */
DO $do$
BEGIN
	PERFORM approval.wake_worker();
END
$do$;
