/*-------------------------------------------------------------------------
 *
 * register.c
 *	  register_tool, update_tool, set_rules, review_tool and retire_tool: the
 *	  administrator's verbs over the registry.
 *
 * Each merges what is stored with what is asked for, checks the whole as one
 * document, stores it under a new version, and writes one event with both.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "args.h"
#include "change.h"
#include "param.h"
#include "seen.h"
#include "tool.h"

PG_FUNCTION_INFO_V1(approval_register_tool);
PG_FUNCTION_INFO_V1(approval_update_tool);
PG_FUNCTION_INFO_V1(approval_set_rules);
PG_FUNCTION_INFO_V1(approval_review_tool);
PG_FUNCTION_INFO_V1(approval_retire_tool);

/* Columns of approval.tools that are no options. */
#define NOT_OPTIONS "'{tenant,server,tool,policy_version,definition_digest,shape,reviewed_by,reviewed_at," \
	"retired_at,retired_by,replaced_by}'::pg_catalog.text[]"

#define THIS_TOOL(alias) " WHERE " alias ".tenant OPERATOR(pg_catalog.=) $1 AND " alias \
	".server OPERATOR(pg_catalog.=) $2 AND " alias ".tool OPERATOR(pg_catalog.=) $3"

/* The options of a tool with its rules, and whether it is retired. */
static Statement select_options = {
	.sql = "SELECT pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(t) OPERATOR(pg_catalog.-) " NOT_OPTIONS
	" OPERATOR(pg_catalog.-) '{definition,annotations}'::pg_catalog.text[])"
	" OPERATOR(pg_catalog.||) CASE WHEN t.definition IS NULL THEN '{}'::pg_catalog.jsonb"
	" ELSE pg_catalog.jsonb_build_object('definition', t.definition) END"
	" OPERATOR(pg_catalog.||) CASE WHEN t.annotations IS NULL THEN '{}'::pg_catalog.jsonb"
	" ELSE pg_catalog.jsonb_build_object('annotations', t.annotations) END"
	" OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object('rules', COALESCE((SELECT pg_catalog.jsonb_agg("
	"pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(r) OPERATOR(pg_catalog.-) '{tenant,server,tool}'::pg_catalog.text[])"
	" ORDER BY r.position) FROM approval.rules r" THIS_TOOL("r") "), '[]'::pg_catalog.jsonb)),"
	" t.retired_at IS NOT NULL FROM approval.tools t" THIS_TOOL("t"),
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

/* $1 over $2; what is null in $1 goes. */
static Statement merge_options = {
	.sql = "SELECT $2::pg_catalog.jsonb OPERATOR(pg_catalog.||) $1::pg_catalog.jsonb",
	.nparams = 2,
	.types = {JSONBOID, JSONBOID},
};

static Statement delete_tool = {
	.sql = "DELETE FROM approval.tools t" THIS_TOOL("t"),
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

/* $4 over the defaults; $5 are the columns that are no options. */
static Statement insert_tool = {
	.sql = "INSERT INTO approval.tools SELECT p.* FROM pg_catalog.jsonb_populate_record(NULL::approval.tools,"
	" '{\"risk\":\"high\",\"effect\":\"external\",\"idempotent\":false,\"max_attempts\":1,\"edits\":\"free\","
	"\"owner_may_confirm\":false,\"approvals_needed\":1,\"rejections_needed\":1}'::pg_catalog.jsonb"
	" OPERATOR(pg_catalog.||) $4 OPERATOR(pg_catalog.||) $5"
	" OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object('tenant', $1, 'server', $2, 'tool', $3)) p",
	.nparams = 5,
	.types = {TEXTOID, TEXTOID, TEXTOID, JSONBOID, JSONBOID},
};

static Statement select_meta = {
	.sql = "SELECT COALESCE((SELECT pg_catalog.jsonb_build_object('definition_digest', t.definition_digest,"
	" 'shape', t.shape, 'reviewed_by', t.reviewed_by, 'reviewed_at', t.reviewed_at)"
	" FROM approval.tools t" THIS_TOOL("t") "), '{}'::pg_catalog.jsonb)",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

static Statement make_meta = {
	.sql = "SELECT pg_catalog.jsonb_build_object('definition_digest', $1, 'shape', $2,"
	" 'reviewed_by', $3, 'reviewed_at', pg_catalog.clock_timestamp())",
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

static Statement add_version = {
	.sql = "SELECT $1 OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object('policy_version', $2)",
	.nparams = 2,
	.types = {JSONBOID, INT4OID},
};

static Statement delete_rules = {
	.sql = "DELETE FROM approval.rules r" THIS_TOOL("r"),
	.nparams = 3,
	.types = {TEXTOID, TEXTOID, TEXTOID},
};

/* $4 are the members as they were written, $5 the position. */
static Statement insert_rule = {
	.sql = "INSERT INTO approval.rules SELECT p.* FROM pg_catalog.jsonb_populate_record(NULL::approval.rules,"
	" $4 OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object('tenant', $1, 'server', $2, 'tool', $3, 'position', $5)) p",
	.nparams = 5,
	.types = {TEXTOID, TEXTOID, TEXTOID, JSONBOID, INT4OID},
};

/* Other active tools with the capability $4, wherever this one would meet them. */
static Statement select_claimants = {
	.sql = "SELECT t.server, t.tool FROM approval.tools t WHERE t.capability OPERATOR(pg_catalog.=) $4"
	" AND t.retired_at IS NULL AND (t.tenant OPERATOR(pg_catalog.=) ANY (ARRAY[$1, '*']) OR $1 OPERATOR(pg_catalog.=) '*')"
	" AND NOT (t.server OPERATOR(pg_catalog.=) $2 AND t.tool OPERATOR(pg_catalog.=) $3)",
	.nparams = 4,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID},
};

static Statement update_retired = {
	.sql = "UPDATE approval.tools t SET retired_at = pg_catalog.clock_timestamp(), retired_by = $4,"
	" replaced_by = $5, policy_version = $6" THIS_TOOL("t") " AND t.retired_at IS NULL",
	.nparams = 6,
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT4OID},
};

/* What is being made of a tool. */
typedef struct Draft
{
	Jsonb	   *options;		/* as asked for */
	Jsonb	   *stored;			/* options and rules as they are, or NULL */
	bool		was_retired;
	Jsonb	   *merged;
	Tool		tool;
} Draft;

static void
tool_params(const Change *change, Datum *values, char *nulls)
{
	param_text(values, nulls, 0, change->call.tenant);
	param_text(values, nulls, 1, change->server);
	param_text(values, nulls, 2, change->tool);
}

static Jsonb *
jsonb_result(void)
{
	bool		isnull;

	return DatumGetJsonbPCopy(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
}

static Jsonb *
jsonb_of(const char *json)
{
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json)));
}

static char *
text_of(Jsonb *json)
{
	return JsonbToCString(NULL, &json->root, VARSIZE(json));
}

static Jsonb *
merge(Jsonb *over, Jsonb *under)
{
	Datum		values[2];

	values[0] = JsonbPGetDatum(over);
	values[1] = JsonbPGetDatum(under);
	store_run(&merge_options, values, NULL, SPI_OK_SELECT, 1);
	return jsonb_result();
}

static bool
select_stored(const Change *change)
{
	Datum		values[3];
	char		nulls[3];

	tool_params(change, values, nulls);
	return store_run(&select_options, values, nulls, SPI_OK_SELECT, 1) > 0;
}

static char *
stored_text(const Change *change)
{
	return select_stored(change) ? text_of(jsonb_result()) : NULL;
}

/* What is stored of the tool, if anything. */
static void
load_draft(Change *change, Draft *draft)
{
	bool		isnull;

	if (!select_stored(change))
		return;
	draft->was_retired = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
	draft->stored = jsonb_result();
	change->before = text_of(draft->stored);
}

/* The whole document, or bad_policy with the place. */
static void
check_draft(Change *change, Draft *draft)
{
	Problem		problem = {0};

	draft->merged = merge(draft->options, draft->stored && !draft->was_retired ? draft->stored : jsonb_of("{\"rules\":[]}"));
	if (!tool_parse(draft->merged, true, &draft->tool, &problem))
		change_bad_policy(change, problem.place, problem.problem);
}

/*
 * A capability has one active tool.  Another may take it over only by
 * replacing the one that has it.
 */
static void
check_capability(Change *change, const Tool *tool, const char *replaces, const char *replaces_server)
{
	Datum		values[4];
	char		nulls[4];
	uint64		count;
	uint64		i;

	if (tool->capability == NULL)
		return;
	tool_params(change, values, nulls);
	param_text(values, nulls, 3, tool->capability);
	count = store_run(&select_claimants, values, nulls, SPI_OK_SELECT, 0);
	for (i = 0; i < count; i++)
		if (replaces == NULL ||
			strcmp(SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1), replaces_server) != 0 ||
			strcmp(SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2), replaces) != 0)
			change_bad_policy(change, "$.capability", "another active tool has this capability: replace that tool");
}

/* The columns that follow from the definition; false if there is none. */
static bool
definition_meta(Change *change, Jsonb *options, Jsonb **meta)
{
	JsonbValue *value = document_member(&options->root, "definition");
	CanonicalError error = {0};
	Digest		digest;
	Digest		shape;
	char		hex[2][DIGEST_TEXT_LEN + 1];
	Datum		values[3];
	char		nulls[3];
	bool		is_object = false;
	char	   *text;

	if (value == NULL)
		return false;
	text = JsonbToCString(NULL, value->val.binary.data, value->val.binary.len);
	if (!hash_definition(text, strlen(text), &digest, &error, &is_object) || !is_object ||
		!hash_definition_shape(text, strlen(text), &shape))
		change_bad_policy(change, "$.definition", "has no canonical form");
	digest_to_hex(&digest, hex[0]);
	digest_to_hex(&shape, hex[1]);
	param_text(values, nulls, 0, hex[0]);
	param_text(values, nulls, 1, hex[1]);
	param_text(values, nulls, 2, change->call.actor);
	store_run(&make_meta, values, nulls, SPI_OK_SELECT, 1);
	*meta = jsonb_result();
	return true;
}

/* Whether the options say anything of the definition, be it null. */
static bool
mentions_definition(Jsonb *options)
{
	return getKeyJsonValueFromContainer(&options->root, "definition", strlen("definition"), NULL) != NULL;
}

/* The columns that are no options: kept, made anew, or taken away. */
static Jsonb *
meta_columns(Change *change, const Draft *draft)
{
	Datum		values[3];
	char		nulls[3];
	Jsonb	   *meta = NULL;

	if (definition_meta(change, draft->options, &meta))
		return meta;
	if (mentions_definition(draft->options) || draft->stored == NULL || draft->was_retired)
		return jsonb_of("{}");
	tool_params(change, values, nulls);
	store_run(&select_meta, values, nulls, SPI_OK_SELECT, 1);
	return jsonb_result();
}

static void
store_rules(Change *change, const Draft *draft)
{
	JsonbValue *rules = document_member(&draft->merged->root, "rules");
	Datum		values[5];
	char		nulls[5];
	int			i;

	memset(nulls, ' ', sizeof(nulls));
	tool_params(change, values, nulls);
	store_run(&delete_rules, values, nulls, SPI_OK_DELETE, 0);
	for (i = 0; i < draft->tool.nrules; i++)
	{
		JsonbValue *rule = getIthJsonbValueFromContainer(rules->val.binary.data, i);

		values[3] = JsonbPGetDatum(JsonbValueToJsonb(rule));
		values[4] = Int32GetDatum(draft->tool.rules[i].position);
		store_run(&insert_rule, values, nulls, SPI_OK_INSERT, 0);
	}
}

static void
store_draft(Change *change, Draft *draft)
{
	Datum		values[5];
	char		nulls[5];
	Jsonb	   *meta = meta_columns(change, draft);

	change_new_version(change);
	values[0] = JsonbPGetDatum(meta);
	values[1] = Int32GetDatum(change->policy_version);
	store_run(&add_version, values, NULL, SPI_OK_SELECT, 1);
	meta = jsonb_result();

	memset(nulls, ' ', sizeof(nulls));
	tool_params(change, values, nulls);
	store_run(&delete_tool, values, nulls, SPI_OK_DELETE, 0);
	values[3] = JsonbPGetDatum(draft->merged);
	values[4] = JsonbPGetDatum(meta);
	store_run(&insert_tool, values, nulls, SPI_OK_INSERT, 0);
	store_rules(change, draft);

	change->after = stored_text(change);
}

static Jsonb *
take_options(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		errors_raise_null(name);
	return PG_GETARG_JSONB_P(n);
}

static void
check_object(Change *change, Jsonb *options)
{
	if (!JB_ROOT_IS_OBJECT(options))
		change_bad_policy(change, "$", "must be an object");
}

/* False if there was no such active tool. */
static bool
retire(Change *change, const char *server, const char *tool, const char *replaced_by)
{
	Datum		values[6];
	char		nulls[6];

	memset(nulls, ' ', sizeof(nulls));
	param_text(values, nulls, 0, change->call.tenant);
	param_text(values, nulls, 1, server);
	param_text(values, nulls, 2, tool);
	param_text(values, nulls, 3, change->call.actor);
	param_text(values, nulls, 4, replaced_by);
	values[5] = Int32GetDatum(change->policy_version);
	return store_run(&update_retired, values, nulls, SPI_OK_UPDATE, 0) > 0;
}

/* register_tool(tool, class, options, server, replaces, replaces_server, tenant) */
Datum
approval_register_tool(PG_FUNCTION_ARGS)
{
	Change		change;
	Draft		draft = {0};
	char	   *class = args_required(fcinfo, 1, "class", ARGS_KEY_LIMIT);
	Jsonb	   *options = take_options(fcinfo, 2, "options");
	const char *replaces = args_name(fcinfo, 4, "replaces");
	const char *replaces_server = args_text(fcinfo, 5, "replaces_server", ARGS_KEY_LIMIT);
	StringInfoData quoted;

	change_begin(&change, fcinfo, "register_tool", CHAIN_POLICY, 6, -1);
	change_tool(&change, 0, 3);
	check_object(&change, options);
	initStringInfo(&quoted);
	canonical_append_string(&quoted, class, strlen(class));
	draft.options = merge(jsonb_of(psprintf("{\"class\":%s}", quoted.data)), options);
	if (replaces && replaces_server == NULL)
		replaces_server = change.server;
	load_draft(&change, &draft);
	if (draft.stored && !draft.was_retired)
		change_bad_policy(&change, "$", "the tool is registered already: use update_tool");
	check_draft(&change, &draft);
	check_capability(&change, &draft.tool, replaces, replaces_server);
	if (replaces)
	{
		change_new_version(&change);
		if (!retire(&change, replaces_server, replaces, change.tool))
			change_bad_policy(&change, "$.replaces", "there is no such active tool");
		change.note = psprintf("replaces %s", replaces);
	}
	store_draft(&change, &draft);
	return change_end(&change);
}

/* The tool has to be there, and not to be retired. */
static void
load_active(Change *change, Draft *draft)
{
	load_draft(change, draft);
	if (draft->stored == NULL)
		change_refuse(change, REASON_NOT_FOUND);
	if (draft->was_retired)
		change_refuse(change, REASON_TOOL_RETIRED);
}

/* update_tool(tool, options, server, tenant): null takes an option away */
Datum
approval_update_tool(PG_FUNCTION_ARGS)
{
	Change		change;
	Draft		draft = {0};

	draft.options = take_options(fcinfo, 1, "options");
	change_begin(&change, fcinfo, "update_tool", CHAIN_POLICY, 3, -1);
	change_tool(&change, 0, 2);
	check_object(&change, draft.options);
	load_active(&change, &draft);
	check_draft(&change, &draft);
	check_capability(&change, &draft.tool, NULL, NULL);
	store_draft(&change, &draft);
	return change_end(&change);
}

/* set_rules(tool, rules, server, tenant): all of them, as one document */
Datum
approval_set_rules(PG_FUNCTION_ARGS)
{
	Change		change;
	Draft		draft = {0};
	Jsonb	   *rules = take_options(fcinfo, 1, "rules");

	change_begin(&change, fcinfo, "set_rules", CHAIN_POLICY, 3, -1);
	change_tool(&change, 0, 2);
	load_active(&change, &draft);
	if (!JB_ROOT_IS_ARRAY(rules) || JB_ROOT_IS_SCALAR(rules))
		change_bad_policy(&change, "$.rules", "must be an array");
	draft.options = jsonb_of(psprintf("{\"rules\":%s}", text_of(rules)));
	check_draft(&change, &draft);
	store_draft(&change, &draft);
	return change_end(&change);
}

/* A definition given must be the one that was seen; else it is looked up. */
static Jsonb *
reviewed_definition(Change *change, const Digest *seen, const text *given)
{
	CanonicalError error = {0};
	Digest		digest;
	bool		is_object = false;
	Jsonb	   *definition;

	if (given == NULL)
	{
		definition = seen_find(change->call.tenant, change->server, change->tool, seen);
		if (definition == NULL)
			change_refuse(change, REASON_NOT_FOUND);
		return definition;
	}
	if (!hash_definition(VARDATA_ANY(given), VARSIZE_ANY_EXHDR(given), &digest, &error, &is_object) || !is_object)
		change_bad_policy(change, "$.definition", is_object ? "has no canonical form" : "must be an object");
	if (memcmp(&digest, seen, sizeof(Digest)) != 0)
		change_refuse(change, REASON_STALE_VIEW);
	return jsonb_of(text_to_cstring(given));
}

/* review_tool(tool, seen, server, definition, note, tenant): pins what was seen */
Datum
approval_review_tool(PG_FUNCTION_ARGS)
{
	Change		change;
	Draft		draft = {0};
	const Digest *seen = args_digest(fcinfo, 1, "seen");
	text	   *given = args_json(fcinfo, 3);
	Jsonb	   *definition;

	change_begin(&change, fcinfo, "review_tool", CHAIN_POLICY, 5, -1);
	change_tool(&change, 0, 2);
	change.note = args_text(fcinfo, 4, "note", ARGS_TEXT_LIMIT);
	load_active(&change, &draft);
	definition = reviewed_definition(&change, seen, given);
	draft.options = jsonb_of(psprintf("{\"definition\":%s}", text_of(definition)));
	check_draft(&change, &draft);
	store_draft(&change, &draft);
	return change_end(&change);
}

/* retire_tool(tool, reason, server, tenant) */
Datum
approval_retire_tool(PG_FUNCTION_ARGS)
{
	Change		change;
	Draft		draft = {0};

	change_begin(&change, fcinfo, "retire_tool", CHAIN_POLICY, 3, -1);
	change_tool(&change, 0, 2);
	change.note = args_text(fcinfo, 1, "reason", ARGS_TEXT_LIMIT);
	load_active(&change, &draft);
	change_new_version(&change);
	(void) retire(&change, change.server, change.tool, NULL);
	return change_end(&change);
}
