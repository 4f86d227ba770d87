/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  explain: what would happen to a proposal, and why, storing nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "admission.h"
#include "args.h"
#include "condition.h"
#include "param.h"
#include "subject.h"
#include "summary.h"

PG_FUNCTION_INFO_V1(approval_explain);

#define EXPLAIN_COLUMNS 18

enum
{
	ARG_TOOL, ARG_ARGUMENTS, ARG_SERVER, ARG_RESOURCE, ARG_DEFINITION, ARG_REQUESTER,
	ARG_REQUESTED_BY, ARG_ON_BEHALF_OF, ARG_AT_LEAST, ARG_TENANT
};

static Statement select_roles = {
	.sql = "SELECT l.roles, l.actor FROM approval.logins l WHERE l.login OPERATOR(pg_catalog.=) $1",
	.nparams = 1,
	.types = {TEXTOID},
};

/* The call as that login would make it: for grants, cool-downs and roles. */
static void
impersonate(Call *call, const char *login, Subject *subject, Proposer *proposer)
{
	Caller	   *other = palloc(sizeof(Caller));
	Datum		values[1];
	Datum	   *elements;
	bool		isnull;
	int			i;

	*other = *call->caller;
	other->login = login;
	call->caller = other;
	subject->nroles = 0;
	values[0] = CStringGetTextDatum(login);
	if (proposer->requested_by == NULL)
		proposer->requested_by = psprintf("login:%s", login);
	if (store_run(&select_roles, values, NULL, SPI_OK_SELECT, 1) == 0)
		return;
	deconstruct_array(DatumGetArrayTypePCopy(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)),
					  TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL, &subject->nroles);
	subject->roles = palloc(sizeof(char *) * (subject->nroles + 1));
	for (i = 0; i < subject->nroles; i++)
		subject->roles[i] = TextDatumGetCString(elements[i]);
}

/* False with a refusal for arguments that have no canonical form. */
static bool
take_action(Call *call, Action *action, Subject *subject)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	text	   *arguments = args_required_json(fcinfo, ARG_ARGUMENTS, "arguments");
	text	   *json = args_json(fcinfo, ARG_DEFINITION);
	Digest	   *digests = palloc(sizeof(Digest) * 2);

	memset(action, 0, sizeof(*action));
	action->tenant = call->tenant;
	action->tool = args_required(fcinfo, ARG_TOOL, "tool", ARGS_KEY_LIMIT);
	action->server = args_text(fcinfo, ARG_SERVER, "server", ARGS_KEY_LIMIT);
	if (action->server == NULL)
		action->server = "";
	action->resource = args_text(fcinfo, ARG_RESOURCE, "resource", ARGS_ADDRESS_LIMIT);
	if (json)
	{
		if (!subject_definition(call, json, &digests[0]))
			return false;
		action->definition = &digests[0];
		subject->defined_name = subject_defined_name(json);
		if (hash_definition_shape(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), &digests[1]))
			subject->shape = &digests[1];
	}
	action->arguments = subject_arguments(call, arguments, &action->arguments_len);
	return action->arguments != NULL;
}

/* The rules that were looked at, in order, as JSON. */
static char *
trace_json(const Policy *policy)
{
	static const char *const truths[] = {
		[TRUTH_FALSE] = "false",[TRUTH_TRUE] = "true",[TRUTH_UNKNOWN] = "null"
	};
	StringInfoData out;
	ListCell   *cell;

	initStringInfo(&out);
	foreach(cell, policy->trace)
	{
		const RuleTrace *line = lfirst(cell);

		appendStringInfo(&out, "%s{\"tenant\":", out.len ? "," : "[");
		canonical_append_string(&out, line->tenant, strlen(line->tenant));
		appendStringInfo(&out, ",\"position\":%d,\"condition\":", line->position);
		if (line->text)
			canonical_append_string(&out, line->text, strlen(line->text));
		else
			appendStringInfoString(&out, "null");
		appendStringInfo(&out, ",\"mode\":\"%s\",\"matches\":%s}", policy_mode_word(line->mode), truths[line->truth]);
	}
	appendStringInfoString(&out, out.len ? "]" : "[]");
	return out.data;
}

static void
put_text(Datum *values, bool *nulls, int n, const char *text)
{
	nulls[n] = (text == NULL);
	values[n] = text ? CStringGetTextDatum(text) : (Datum) 0;
}

static void
put_int(Datum *values, bool *nulls, int n, int number)
{
	nulls[n] = (number == 0);
	values[n] = Int32GetDatum(number);
}

static Datum
span_datum(int64 microseconds)
{
	Interval   *span = palloc0(sizeof(Interval));

	span->time = microseconds;
	return IntervalPGetDatum(span);
}

static Datum
explain_datum(const Call *call, const Action *action, const Admission *admission)
{
	const Policy *policy = &admission->policy;
	TupleDesc	desc;
	Datum		values[EXPLAIN_COLUMNS];
	bool		nulls[EXPLAIN_COLUMNS] = {0};
	char		grant[ULID_TEXT_LEN + 1];

	if (get_call_result_type(call->fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "explain must return a row");
	ulid_to_text(&admission->grant_id, grant);
	put_text(values, nulls, 0, policy->frozen ? "frozen" : policy->retired ? "retired" : policy_mode_word(policy->mode));
	put_text(values, nulls, 1, policy_gate_word(policy->gate_reason));
	put_int(values, nulls, 2, policy->rule);
	put_text(values, nulls, 3, policy->rule_reason);
	put_int(values, nulls, 4, policy->policy_version);
	put_text(values, nulls, 5, policy->class);
	put_text(values, nulls, 6, policy->risk);
	put_text(values, nulls, 7, policy->effect);
	put_text(values, nulls, 8, policy->panel.count == 1 ? policy->panel.seats[0].group : NULL);
	put_text(values, nulls, 9, policy->panel.count == 1 ? NULL : panel_text(&policy->panel));
	put_int(values, nulls, 10, panel_needed(&policy->panel));
	put_int(values, nulls, 11, policy->rejections_needed);
	values[12] = span_datum(policy->decide_within);
	values[13] = span_datum(policy->use_within);
	put_text(values, nulls, 14, admission->denial);
	put_text(values, nulls, 15, admission->granted ? grant : NULL);
	put_text(values, nulls, 16, summary_of(action, policy->summary_template));
	put_text(values, nulls, 17, trace_json(policy));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/*
 * explain(tool, arguments, server, resource, definition, requester,
 * requested_by, on_behalf_of, at_least, tenant)
 */
Datum
approval_explain(PG_FUNCTION_ARGS)
{
	Call		call;
	Action		action;
	Subject		subject = {.nroles = -1,.traced = true};
	Proposer	proposer;
	Admission	admission;
	MemoryContext old;
	const char *requester = args_name(fcinfo, ARG_REQUESTER, "requester");
	const char *at_least = args_name(fcinfo, ARG_AT_LEAST, "at_least");
	Datum		result;

	verb_begin(&call, fcinfo, "explain");
	call_tenant(&call, ARG_TENANT);
	if (at_least && !policy_mode(at_least, &subject.at_least))
		args_bad_value("at_least", "One of inline, auto, review and deny.");
	if (!take_action(&call, &action, &subject))
		errors_raise(&call.refusal);
	subject.action = &action;
	proposer.requested_by = args_name(fcinfo, ARG_REQUESTED_BY, "requested_by");
	proposer.on_behalf_of = args_name(fcinfo, ARG_ON_BEHALF_OF, "on_behalf_of");
	impersonate(&call, requester ? requester : call.caller->login, &subject, &proposer);
	if (requester == NULL)
		subject.nroles = -1;
	admission_weigh(&call, &subject, &proposer, true, &admission);

	old = MemoryContextSwitchTo(call.result_context);
	result = explain_datum(&call, &action, &admission);
	MemoryContextSwitchTo(old);
	verb_end(&call);
	return result;
}
