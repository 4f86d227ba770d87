/*
 * Runs for people and for tools: lists, a timeline, spans.
 */
CREATE VIEW approval.run_list WITH (security_barrier) AS
SELECT r.tenant, r.run_id, r.conversation_id, r.parent_run_id, r.root_run_id, r.requester_login, r.requested_by,
	   r.agent, r.metadata,
	   CASE WHEN r.status OPERATOR(pg_catalog.=) 'running' AND EXISTS (
				SELECT FROM approval.requests q
				 WHERE q.tenant OPERATOR(pg_catalog.=) r.tenant AND q.run_id OPERATOR(pg_catalog.=) r.run_id
				   AND q.requester_login OPERATOR(pg_catalog.=) r.requester_login
				   AND q.conversation_id OPERATOR(pg_catalog.=) r.conversation_id AND q.conversation_id OPERATOR(pg_catalog.<>) ''
				   AND q.status OPERATOR(pg_catalog.=) 'pending'
				   AND q.expires_at OPERATOR(pg_catalog.>) pg_catalog.statement_timestamp())
			THEN 'awaiting_approval' ELSE r.status END AS status,
	   r.reason, r.max_iterations, r.iterations, s.input_tokens, s.output_tokens, s.cost, r.fence, r.claimed_by,
	   r.claimed_at, r.lease_until, r.started_at, r.iterated_at, r.ended_at, r.ended_by, r.answer,
	   r.trace_id, r.span_id, r.parent_span_id
  FROM approval.runs r
 CROSS JOIN LATERAL (SELECT LEAST(COALESCE(pg_catalog.sum(t.input_tokens), 0), 9223372036854775807)::pg_catalog.int8 AS input_tokens,
							LEAST(COALESCE(pg_catalog.sum(t.output_tokens), 0), 9223372036854775807)::pg_catalog.int8 AS output_tokens,
							COALESCE(pg_catalog.sum(t.cost), 0) AS cost
					   FROM approval.steps t
					  WHERE t.tenant OPERATOR(pg_catalog.=) r.tenant AND t.run_id OPERATOR(pg_catalog.=) r.run_id) s
 WHERE r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND approval.caller_reads(r.requester_login);
COMMENT ON VIEW approval.run_list IS 'Runs in the caller''s tenants, with their effective status; a requester sees those of its own login. Tokens and cost are the sums over the steps of the run: leave them out of a long list, and they cost nothing. trace_id, span_id and parent_span_id are those of W3C Trace Context.';

CREATE VIEW approval.handle_list WITH (security_barrier) AS
SELECT h.tenant, h.system, h.handle, h.run_id, h.attached_at, h.attached_by, h.outcome, h.result, h.idempotency_key,
	   h.answered_at, h.answered_by
  FROM approval.handles h
 WHERE h.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
   AND approval.caller_reads(h.attached_by);
COMMENT ON VIEW approval.handle_list IS 'Handles in the caller''s tenants and what was reported of them; a requester sees those that its own login attached.';

CREATE VIEW approval.run_budgets WITH (security_barrier) AS
SELECT l.tenant, l.policy_version, l.max_iterations, l.iterations_per_day
  FROM approval.run_limits l
 WHERE l.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants() OPERATOR(pg_catalog.||) '*'::pg_catalog.text)::pg_catalog.text[]);
COMMENT ON VIEW approval.run_budgets IS 'What set_run_limits() has set for the caller''s tenants and for every tenant (*); NULL: as the settings say. The smaller holds.';

CREATE FUNCTION approval.diagram_text(content pg_catalog.text) RETURNS pg_catalog.text
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_diagram_text';
REVOKE ALL ON FUNCTION approval.diagram_text FROM PUBLIC;
COMMENT ON FUNCTION approval.diagram_text IS 'A text as it can stand in a Mermaid diagram: what could be syntax is a character entity, what leaves no mark the replacement character. NULL for NULL.';

CREATE FUNCTION approval.plain_text(content pg_catalog.text) RETURNS pg_catalog.text
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_plain_text';
REVOKE ALL ON FUNCTION approval.plain_text FROM PUBLIC;
COMMENT ON FUNCTION approval.plain_text IS 'A text on one line: every character that leaves no mark, but for the blank, is the replacement character; so are line feeds and what changes the direction of writing. NULL for NULL.';

CREATE FUNCTION approval.timeline_format(format pg_catalog.text) RETURNS pg_catalog.text
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_timeline_format';
REVOKE ALL ON FUNCTION approval.timeline_format FROM PUBLIC;
COMMENT ON FUNCTION approval.timeline_format IS 'The format if timeline() knows it. Required: format (22004 for NULL; 22023 for another one).';

CREATE FUNCTION approval.timeline(
	run_id pg_catalog.text,
	format pg_catalog.text DEFAULT 'mermaid',
	tenant pg_catalog.text DEFAULT NULL)
RETURNS pg_catalog.text
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	WITH told AS (
		SELECT t.*, pg_catalog.first_value(t.at) OVER (ORDER BY t.seq) AS zero,
			   CASE WHEN t.source OPERATOR(pg_catalog.=) 'run' THEN 'run ' OPERATOR(pg_catalog.||) t.trace_run_id
					WHEN t.source OPERATOR(pg_catalog.=) ANY ('{step,handle}'::pg_catalog.text[]) THEN 'system ' OPERATOR(pg_catalog.||) t.system
					ELSE t.actor END AS who,
			   'run ' OPERATOR(pg_catalog.||) t.trace_run_id AS whose,
			   pg_catalog.concat_ws(' ', t.kind, t.name,
					CASE WHEN t.status IS NOT NULL THEN '(' OPERATOR(pg_catalog.||) t.status OPERATOR(pg_catalog.||) ')' END,
					CASE WHEN t.kind OPERATOR(pg_catalog.=) 'iteration' THEN t.iteration::pg_catalog.text END,
					pg_catalog.round(EXTRACT(epoch FROM t.duration), 3)::pg_catalog.text OPERATOR(pg_catalog.||) ' s',
					'failed: ' OPERATOR(pg_catalog.||) pg_catalog.left(t.error, 80)) AS what
		  FROM approval.trace(timeline.run_id, timeline.tenant) t),
	people AS (
		SELECT p.who, p.is_actor, pg_catalog.row_number() OVER (ORDER BY p.since) AS n
		  FROM (SELECT o.who, o.source OPERATOR(pg_catalog.=) ANY ('{request,decision,execution}'::pg_catalog.text[]) AS is_actor,
					   pg_catalog.min(o.seq) AS since FROM told o GROUP BY o.who, is_actor) p)
	SELECT CASE (SELECT approval.timeline_format(timeline.format))
		WHEN 'text' THEN pg_catalog.string_agg(
			pg_catalog.format('%s %s %s %s: %s', pg_catalog.to_char(o.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
				pg_catalog.lpad('+' OPERATOR(pg_catalog.||) pg_catalog.round(EXTRACT(epoch FROM o.at OPERATOR(pg_catalog.-) o.zero), 3)::pg_catalog.text, 11),
				pg_catalog.rpad(o.source, 9), approval.plain_text(o.who), approval.plain_text(o.what)), E'\n' ORDER BY o.seq)
		WHEN 'mermaid' THEN E'sequenceDiagram\n    participant gate\n'
			OPERATOR(pg_catalog.||) (SELECT pg_catalog.string_agg(pg_catalog.format(E'    %s p%s as %s\n',
					CASE WHEN p.is_actor THEN 'actor' ELSE 'participant' END, p.n, approval.diagram_text(p.who)), '' ORDER BY p.n) FROM people p)
			OPERATOR(pg_catalog.||) pg_catalog.string_agg(
				CASE WHEN w.is_actor
					 THEN pg_catalog.format('    p%s->>gate: %s', w.n, approval.diagram_text(o.what))
					 WHEN o.source OPERATOR(pg_catalog.=) 'run' OR r.n IS NULL
					 THEN pg_catalog.format('    Note over p%s: %s', w.n, approval.diagram_text(o.what))
					 WHEN o.kind OPERATOR(pg_catalog.=) 'callback'
					 THEN pg_catalog.format('    p%s-->>p%s: %s', w.n, r.n, approval.diagram_text(o.what))
					 ELSE pg_catalog.format('    p%s->>p%s: %s', r.n, w.n, approval.diagram_text(o.what)) END, E'\n' ORDER BY o.seq)
		END
	  FROM told o
	  JOIN people w ON w.who OPERATOR(pg_catalog.=) o.who
	   AND w.is_actor OPERATOR(pg_catalog.=) (o.source OPERATOR(pg_catalog.=) ANY ('{request,decision,execution}'::pg_catalog.text[]))
	  LEFT JOIN people r ON r.who OPERATOR(pg_catalog.=) o.whose AND NOT r.is_actor;
END;
REVOKE ALL ON FUNCTION approval.timeline FROM PUBLIC;
COMMENT ON FUNCTION approval.timeline IS
'trace() for people: format mermaid (a sequence diagram of the gate, the runs, actors and systems, for mermaid.js, whose maxTextSize has to be raised for a long one) or text (a line each: time in UTC, seconds since the first, source, who, what). Who is an actor for what happened at the gate, otherwise a run or a system, and then says so: no recorded text can pass for a decision. Required: run_id, format (22004 for NULL; 22023 for another format). Errors: PT404 not_found.';

CREATE FUNCTION approval.otlp_attributes(members pg_catalog.jsonb) RETURNS pg_catalog.json
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT COALESCE(pg_catalog.json_agg(pg_catalog.json_build_object('key', m.key, 'value',
			CASE pg_catalog.jsonb_typeof(m.value)
				WHEN 'number' THEN CASE WHEN (m.value OPERATOR(pg_catalog.#>>) '{}') OPERATOR(pg_catalog.~) '^-?[0-9]{1,18}$'
										THEN pg_catalog.json_build_object('intValue', m.value OPERATOR(pg_catalog.#>>) '{}')
										ELSE pg_catalog.json_build_object('doubleValue', m.value) END
				WHEN 'boolean' THEN pg_catalog.json_build_object('boolValue', m.value)
				ELSE pg_catalog.json_build_object('stringValue', m.value OPERATOR(pg_catalog.#>>) '{}') END) ORDER BY m.key), '[]'::pg_catalog.json)
		  FROM pg_catalog.jsonb_each(otlp_attributes.members) m
		 WHERE pg_catalog.jsonb_typeof(m.value) OPERATOR(pg_catalog.<>) 'null');
REVOKE ALL ON FUNCTION approval.otlp_attributes FROM PUBLIC;
COMMENT ON FUNCTION approval.otlp_attributes IS 'The members of an object as the attributes of OTLP/JSON; those that are null are left out. An empty list for NULL.';

CREATE FUNCTION approval.unix_nano(at pg_catalog.timestamptz) RETURNS pg_catalog.text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_catalog.trunc(EXTRACT(epoch FROM unix_nano.at) OPERATOR(pg_catalog.*) 1000000000::pg_catalog.numeric)::pg_catalog.text;
REVOKE ALL ON FUNCTION approval.unix_nano FROM PUBLIC;
COMMENT ON FUNCTION approval.unix_nano IS 'Nanoseconds since 1970, as a text: how OTLP/JSON writes a time. NULL for NULL.';

CREATE FUNCTION approval.trace_otlp(
	run_id pg_catalog.text,
	tenant pg_catalog.text DEFAULT NULL)
RETURNS pg_catalog.json
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
	WITH root AS MATERIALIZED (SELECT r.tenant, r.agent FROM approval.run_of(trace_otlp.run_id, trace_otlp.tenant) r),
	told AS MATERIALIZED (SELECT t.* FROM approval.trace(trace_otlp.run_id, trace_otlp.tenant) t),
	tree AS MATERIALIZED (
		SELECT r.run_id, r.trace_id, r.span_id, r.parent_span_id, r.agent, r.status, r.conversation_id, r.started_at,
			   r.ended_at, r.reason, r.iterations, r.max_iterations, r.input_tokens, r.output_tokens, r.cost
		  FROM approval.run_list r
		 WHERE r.tenant OPERATOR(pg_catalog.=) (SELECT q.tenant FROM root q)
		   AND r.run_id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT DISTINCT o.trace_run_id FROM told o))),
	spans AS (
		SELECT 0 AS place, r.started_at AS since, pg_catalog.json_build_object(
				'traceId', r.trace_id, 'spanId', r.span_id, 'parentSpanId', COALESCE(r.parent_span_id, ''),
				'name', pg_catalog.concat_ws(' ', 'invoke_agent', r.agent), 'kind', 1,
				'startTimeUnixNano', approval.unix_nano(r.started_at),
				'endTimeUnixNano', approval.unix_nano(COALESCE(r.ended_at, pg_catalog.statement_timestamp())),
				'attributes', approval.otlp_attributes(pg_catalog.jsonb_build_object(
					'gen_ai.operation.name', 'invoke_agent', 'gen_ai.agent.name', r.agent,
					'gen_ai.conversation.id', r.conversation_id, 'gen_ai.usage.input_tokens', r.input_tokens,
					'gen_ai.usage.output_tokens', r.output_tokens, 'approval.cost', r.cost, 'approval.run.id', r.run_id,
					'approval.run.status', r.status, 'approval.run.iterations', r.iterations,
					'approval.run.max_iterations', r.max_iterations)),
				'events', COALESCE((SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
						'timeUnixNano', approval.unix_nano(o.at), 'name', o.kind,
						'attributes', approval.otlp_attributes(pg_catalog.jsonb_build_object('name', o.name, 'actor', o.actor,
							'iteration', o.iteration))) ORDER BY o.seq)
					  FROM told o WHERE o.trace_run_id OPERATOR(pg_catalog.=) r.run_id
					   AND o.source OPERATOR(pg_catalog.=) ANY ('{run,handle}'::pg_catalog.text[])), '[]'::pg_catalog.json),
				'status', CASE WHEN r.status OPERATOR(pg_catalog.=) 'completed' THEN pg_catalog.json_build_object('code', 1)
							   WHEN r.ended_at IS NULL THEN '{}'::pg_catalog.json
							   ELSE pg_catalog.json_build_object('code', 2, 'message', COALESCE(r.reason, r.status)) END) AS span
		  FROM tree r
		 UNION ALL
		SELECT 1, pg_catalog.min(o.at), pg_catalog.json_build_object(
				'traceId', r.trace_id, 'spanId', pg_catalog."right"(pg_catalog.replace(o.request_id::pg_catalog.uuid::pg_catalog.text, '-', ''), 16),
				'parentSpanId', r.span_id, 'name', pg_catalog.concat_ws(' ', 'execute_tool', o.name), 'kind', 1,
				'startTimeUnixNano', approval.unix_nano(pg_catalog.min(o.at)),
				'endTimeUnixNano', approval.unix_nano(pg_catalog.max(o.at)),
				'attributes', approval.otlp_attributes(pg_catalog.jsonb_build_object(
					'gen_ai.operation.name', 'execute_tool', 'gen_ai.tool.name', o.name,
					'gen_ai.tool.call.id', pg_catalog.max(o.detail OPERATOR(pg_catalog.->>) 'tool_call_id'), 'server.address', NULLIF(o.system, ''),
					'approval.request.id', o.request_id::pg_catalog.text,
					'approval.request.status', (pg_catalog.array_agg(o.status ORDER BY o.seq DESC))[1])),
				'events', pg_catalog.json_agg(pg_catalog.json_build_object(
					'timeUnixNano', approval.unix_nano(o.at), 'name', o.kind,
					'attributes', approval.otlp_attributes(pg_catalog.jsonb_build_object('actor', o.actor, 'status', o.status))) ORDER BY o.seq),
				'status', CASE WHEN (pg_catalog.array_agg(o.status ORDER BY o.seq DESC))[1] OPERATOR(pg_catalog.=) 'consumed succeeded'
							   THEN pg_catalog.json_build_object('code', 1)
							   WHEN (pg_catalog.array_agg(o.status ORDER BY o.seq DESC))[1] OPERATOR(pg_catalog.=) ANY
									('{consumed failed,consumed unknown,rejected,expired,cancelled,revoked}'::pg_catalog.text[])
							   THEN pg_catalog.json_build_object('code', 2, 'message', (pg_catalog.array_agg(o.status ORDER BY o.seq DESC))[1])
							   ELSE '{}'::pg_catalog.json END)
		  FROM told o
		  JOIN tree r ON r.run_id OPERATOR(pg_catalog.=) o.trace_run_id
		 WHERE o.source OPERATOR(pg_catalog.=) ANY ('{request,decision,execution}'::pg_catalog.text[])
		 GROUP BY r.trace_id, r.span_id, o.request_id, o.name, o.system
		 UNION ALL
		SELECT 2, COALESCE(o.started_at, o.at), pg_catalog.json_build_object(
				'traceId', r.trace_id, 'spanId', o.step_id,
				'parentSpanId', COALESCE(o.parent_step,
					pg_catalog."right"(pg_catalog.replace(o.request_id::pg_catalog.uuid::pg_catalog.text, '-', ''), 16), r.span_id),
				'name', pg_catalog.concat_ws(' ', CASE o.kind WHEN 'model_call' THEN 'chat' WHEN 'tool_call' THEN 'execute_tool'
					ELSE o.kind END, o.name), 'kind', 3,
				'startTimeUnixNano', approval.unix_nano(COALESCE(o.started_at, o.at)),
				'endTimeUnixNano', approval.unix_nano(COALESCE(o.started_at OPERATOR(pg_catalog.+) o.duration, o.at)),
				'attributes', approval.otlp_attributes(pg_catalog.jsonb_build_object(
					'gen_ai.operation.name', CASE o.kind WHEN 'model_call' THEN 'chat' WHEN 'tool_call' THEN 'execute_tool' END,
					'gen_ai.provider.name', CASE o.kind WHEN 'model_call' THEN o.system END,
					'gen_ai.request.model', CASE o.kind WHEN 'model_call' THEN o.name END,
					'gen_ai.tool.name', CASE o.kind WHEN 'tool_call' THEN o.name END,
					'gen_ai.usage.input_tokens', o.input_tokens, 'gen_ai.usage.output_tokens', o.output_tokens,
					'approval.cost', o.cost, 'approval.step.kind', o.kind, 'approval.step.system', o.system,
					'approval.request.id', o.request_id::pg_catalog.text, 'approval.iteration', o.iteration,
					'approval.step.detail', o.detail::pg_catalog.text)),
				'links', CASE WHEN o.link IS NULL THEN '[]'::pg_catalog.json
					ELSE pg_catalog.json_build_array(pg_catalog.json_build_object('traceId', pg_catalog.split_part(o.link, '-', 2),
							'spanId', pg_catalog.split_part(o.link, '-', 3))) END,
				'status', CASE WHEN o.error IS NULL THEN pg_catalog.json_build_object('code', 1)
							   ELSE pg_catalog.json_build_object('code', 2, 'message', o.error) END)
		  FROM told o
		  JOIN tree r ON r.run_id OPERATOR(pg_catalog.=) o.trace_run_id
		 WHERE o.source OPERATOR(pg_catalog.=) 'step')
	SELECT pg_catalog.json_build_object('resourceSpans', pg_catalog.json_build_array(pg_catalog.json_build_object(
			'resource', pg_catalog.json_build_object('attributes', approval.otlp_attributes(pg_catalog.jsonb_build_object(
				'service.name', COALESCE(q.agent, 'approval')))),
			'scopeSpans', pg_catalog.json_build_array(pg_catalog.json_build_object(
				'scope', pg_catalog.json_build_object('name', 'approval', 'version',
					(SELECT e.extversion FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'approval')),
				'spans', (SELECT COALESCE(pg_catalog.json_agg(s.span ORDER BY s.since, s.place), '[]'::pg_catalog.json) FROM spans s))))))
	  FROM root q;
END;
REVOKE ALL ON FUNCTION approval.trace_otlp FROM PUBLIC;
COMMENT ON FUNCTION approval.trace_otlp IS
'trace() as OTLP/JSON (OpenTelemetry protocol, JSON encoding of ExportTraceServiceRequest): a span for the run, for each run below it, each request (its events are span events) and each step, under the trace id of the run; names and attributes as of the semantic conventions for generative AI. A run that has not ended ends now. POST it to /v1/traces of a collector. Required: run_id (22004 for NULL). Errors: PT404 not_found, also for a run_id that only proposals bear.';

/*
 * A capability has one owner and one active tool.  A call that went through
 * another tool, another server or no gate at all stands out.
 */
CREATE VIEW approval.capabilities WITH (security_barrier) AS
SELECT c.tenant, c.capability, c.owner, c.server, c.tool, c.class, c.retired_at, p.tenant AS called_in, p.via,
	   p.server AS called_server, p.tool AS called_tool, p.called_by, p.executed_by,
	   COALESCE(p.calls, 0) AS calls, COALESCE(p.executed, 0) AS executed, p.first_at, p.last_at,
	   CASE WHEN p.via OPERATOR(pg_catalog.=) 'step' THEN 'no gate'
			WHEN p.server OPERATOR(pg_catalog.=) c.server AND p.tool OPERATOR(pg_catalog.=) c.tool THEN NULL
			WHEN p.capability OPERATOR(pg_catalog.=) c.capability THEN 'another tool'
			WHEN p.server OPERATOR(pg_catalog.=) c.server THEN 'another tool'
			WHEN p.tool IS NOT NULL THEN 'another server' END AS bypass
  FROM approval.tools c
  LEFT JOIN (
		SELECT g.tenant, 'request' AS via, g.server, g.tool, g.called_by, g.executed_by, g.calls, g.executed, g.first_at, g.last_at,
			   (SELECT t.capability FROM approval.tools t
				 WHERE t.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[g.tenant, '*']) AND t.server OPERATOR(pg_catalog.=) g.server
				   AND t.tool OPERATOR(pg_catalog.=) g.tool AND t.capability IS NOT NULL
				 ORDER BY t.tenant OPERATOR(pg_catalog.=) '*' LIMIT 1) AS capability
		  FROM (SELECT r.tenant, r.server, r.tool, r.requester_login AS called_by, r.executor_login AS executed_by,
					   pg_catalog.count(*) AS calls,
					   pg_catalog.count(*) FILTER (WHERE r.status OPERATOR(pg_catalog.=) 'consumed') AS executed,
					   pg_catalog.min(r.proposed_at) AS first_at, pg_catalog.max(r.proposed_at) AS last_at
				  FROM approval.requests r
				 WHERE r.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
				   AND r.id OPERATOR(pg_catalog.>=) approval.ulid_from(pg_catalog.statement_timestamp()
						OPERATOR(pg_catalog.-) pg_catalog.make_interval(days => COALESCE(NULLIF(pg_catalog.current_setting('approval.capability_days', true), ''), '30')::pg_catalog.int4))
				 GROUP BY r.tenant, r.server, r.tool, r.requester_login, r.executor_login) g
		 UNION ALL
		SELECT s.tenant, 'step', s.system, s.name, s.login, s.login, s.calls, s.calls, s.first_at, s.last_at,
			   (SELECT t.capability FROM approval.tools t
				 WHERE t.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[s.tenant, '*']) AND pg_catalog.lower(t.tool) OPERATOR(pg_catalog.=) pg_catalog.lower(s.name) AND t.capability IS NOT NULL
				 ORDER BY t.server OPERATOR(pg_catalog.=) s.system DESC, t.tenant OPERATOR(pg_catalog.=) '*', t.retired_at DESC NULLS FIRST LIMIT 1)
		  FROM (SELECT u.tenant, u.system, u.name, u.login, pg_catalog.count(*) AS calls,
					   pg_catalog.min(u.at) AS first_at, pg_catalog.max(u.at) AS last_at
				  FROM (SELECT w.*, pg_catalog.row_number() OVER (PARTITION BY w.tenant, w.request_id ORDER BY w.seq) AS nth
						  FROM approval.steps w
						 WHERE w.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants())::pg_catalog.text[])
						   AND w.kind OPERATOR(pg_catalog.=) ANY ('{tool_call,workflow}'::pg_catalog.text[]) AND w.name IS NOT NULL
						   AND w.at OPERATOR(pg_catalog.>=) (pg_catalog.statement_timestamp()
								OPERATOR(pg_catalog.-) pg_catalog.make_interval(days => COALESCE(NULLIF(pg_catalog.current_setting('approval.capability_days', true), ''), '30')::pg_catalog.int4))) u
				  LEFT JOIN approval.requests g ON g.tenant OPERATOR(pg_catalog.=) u.tenant AND g.id OPERATOR(pg_catalog.=) u.request_id
				 WHERE (g.status OPERATOR(pg_catalog.=) 'consumed' AND u.nth OPERATOR(pg_catalog.<=) GREATEST(g.attempt, 1)
						AND (g.server OPERATOR(pg_catalog.=) '' OR g.server OPERATOR(pg_catalog.=) u.system)) IS NOT TRUE
				 GROUP BY u.tenant, u.system, u.name, u.login) s) p
	ON (c.tenant OPERATOR(pg_catalog.=) p.tenant
		OR (c.tenant OPERATOR(pg_catalog.=) '*' AND NOT EXISTS (
			SELECT FROM approval.tools o WHERE o.tenant OPERATOR(pg_catalog.=) p.tenant
			   AND o.capability OPERATOR(pg_catalog.=) c.capability AND o.retired_at IS NULL)))
   AND (p.capability OPERATOR(pg_catalog.=) c.capability
		OR (pg_catalog.lower(p.tool) OPERATOR(pg_catalog.=) pg_catalog.lower(c.tool) AND (p.capability IS NULL OR p.server OPERATOR(pg_catalog.=) c.server)))
 WHERE c.tenant OPERATOR(pg_catalog.=) ANY ((SELECT approval.caller_tenants() OPERATOR(pg_catalog.||) '*'::pg_catalog.text)::pg_catalog.text[])
   AND c.capability IS NOT NULL
   AND (c.retired_at IS NULL OR NOT EXISTS (
		SELECT FROM approval.tools o WHERE o.tenant OPERATOR(pg_catalog.=) c.tenant AND o.capability OPERATOR(pg_catalog.=) c.capability
		   AND (o.retired_at IS NULL OR (o.retired_at, o.server, o.tool) OPERATOR(pg_catalog.>) (c.retired_at, c.server, c.tool))));
COMMENT ON VIEW approval.capabilities IS 'For each capability its owner, its one active tool (or the last one, with retired_at) and the class of that, and every path by which it was called in the last approval.capability_days days: one row for each server, tool, proposing and executing login, with the number of calls and of those that were executed. via: request (through the gate), or step, a tool_call or workflow that an agent recorded without a request that was consumed, oftener than that was attempted, or of another system than the server of the request. bypass: NULL for a path through the owner''s tool; no gate, another tool (one that has, or had, this capability), another server (a tool of the same name, in any case, that is not registered with a capability there). A capability that was not called has one row without a path.';

DO $do$
DECLARE
	relation pg_catalog.text;
BEGIN
	FOREACH relation IN ARRAY ARRAY['run_list', 'handle_list', 'run_budgets', 'capabilities']
	LOOP
		EXECUTE pg_catalog.format('ALTER VIEW approval.%I OWNER TO approval_owner', relation);
		EXECUTE pg_catalog.format('REVOKE ALL ON TABLE approval.%I FROM PUBLIC', relation);
	END LOOP;
END
$do$;
