/*
 * Schema and roles.
 *
 * A plain CREATE SCHEMA: a schema of this name that somebody else made must
 * stop the installation, never be adopted.
 */
DO $do$
BEGIN
	IF pg_catalog.getdatabaseencoding() OPERATOR(pg_catalog.<>) 'UTF8' THEN
		RAISE EXCEPTION 'extension "approval" needs a database with encoding UTF8'
			USING ERRCODE = 'feature_not_supported',
				  HINT = 'Create a database with ENCODING ''UTF8'' TEMPLATE template0: hashes are defined over UTF-8 text.';
	END IF;
END
$do$;

CREATE SCHEMA approval;
REVOKE ALL ON SCHEMA approval FROM PUBLIC;

COMMENT ON SCHEMA approval IS 'approval: durable permissions for the actions of agents';

/*
 * Roles belong to the cluster, so another database may have made them.  One
 * that exists is accepted only without powers; whoever is already a member is
 * named, since membership is what opens the gate.
 */
DO $do$
DECLARE
	rolename pg_catalog.text;
	found_role pg_catalog.pg_roles;
	members pg_catalog.text;
	quiet pg_catalog.text;
BEGIN
	FOREACH rolename IN ARRAY ARRAY['approval_owner', 'approval_requester', 'approval_approver',
									'approval_executor', 'approval_auditor', 'approval_admin']
	LOOP
		SELECT r.* INTO found_role FROM pg_catalog.pg_roles r
		 WHERE r.rolname OPERATOR(pg_catalog.=) rolename::pg_catalog.name;
		IF NOT FOUND THEN
			EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', rolename);
			CONTINUE;
		END IF;
		IF found_role.rolcanlogin OR found_role.rolsuper OR found_role.rolcreaterole
			OR found_role.rolbypassrls OR found_role.rolreplication OR found_role.rolcreatedb THEN
			RAISE EXCEPTION 'role "%" exists and is not a plain group', rolename
				USING ERRCODE = 'duplicate_object',
					  HINT = 'It must be NOLOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS.';
		END IF;
		IF EXISTS (SELECT FROM pg_catalog.pg_auth_members m
				   WHERE m.member OPERATOR(pg_catalog.=) found_role.oid) THEN
			RAISE EXCEPTION 'role "%" exists and is a member of other roles', rolename
				USING ERRCODE = 'duplicate_object',
					  HINT = 'Revoke the memberships first: the role would bring their powers along.';
		END IF;
		SELECT pg_catalog.string_agg(pg_catalog.quote_ident(u.rolname), ', ' ORDER BY u.rolname) INTO members
		  FROM pg_catalog.pg_auth_members m
		  JOIN pg_catalog.pg_roles u ON u.oid OPERATOR(pg_catalog.=) m.member
		 WHERE m.roleid OPERATOR(pg_catalog.=) found_role.oid;
		IF members IS NOT NULL THEN
			/* CREATE EXTENSION hides notices, and this one is to be read */
			quiet := pg_catalog.current_setting('client_min_messages');
			PERFORM pg_catalog.set_config('client_min_messages', 'notice', true);
			RAISE NOTICE 'role "%" exists already; its members: %', rolename, members;
			PERFORM pg_catalog.set_config('client_min_messages', quiet, true);
		END IF;
	END LOOP;
END
$do$;

GRANT USAGE ON SCHEMA approval TO approval_owner, approval_requester, approval_approver,
	approval_executor, approval_auditor, approval_admin;
