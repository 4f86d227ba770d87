/*-------------------------------------------------------------------------
 *
 * errors.c
 *	  Why the gate says no: DETAIL as one line of JSON, and approval.errors().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "clock.h"
#include "errors.h"

typedef struct ReasonRow
{
	const char *word;
	int			http;
	const char *message;
	const char *hint;
} ReasonRow;

#define REASON_ROW(symbol, word, http, message, hint) {word, http, message, hint},
static const ReasonRow reasons[REASON_COUNT] = {
	{"none", 0, "", ""},
	APPROVAL_REASONS(REASON_ROW)
};
#undef REASON_ROW

PG_FUNCTION_INFO_V1(approval_errors);

const char *
errors_reason(Reason reason)
{
	return reasons[reason].word;
}

int
errors_http(Reason reason)
{
	return reasons[reason].http;
}

static int
reason_sqlstate(Reason reason)
{
	int			http = reasons[reason].http;

	return MAKE_SQLSTATE('P', 'T', '0' + http / 100, '0' + http / 10 % 10, '0' + http % 10);
}

static void
append_utf16(StringInfo out, pg_wchar c)
{
	if (c >= 0x10000)
	{
		c -= 0x10000;
		appendStringInfo(out, "\\u%04x\\u%04x",
						 0xD800 + (unsigned int) (c >> 10),
						 0xDC00 + (unsigned int) (c & 0x3FF));
	}
	else
		appendStringInfo(out, "\\u%04x", (unsigned int) c);
}

/*
 * A JSON string in which no phrase of the text survives for a client that
 * greps the error, while every JSON reader still gets the text back.
 */
void
errors_escape(StringInfo out, const char *text)
{
	const unsigned char *p = (const unsigned char *) text;

	appendStringInfoChar(out, '"');
	while (*p)
	{
		unsigned char c = *p;

		if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			(c >= '0' && c <= '9') ||
			c == ':' || c == '.' || c == '@' || c == '-')
		{
			appendStringInfoChar(out, c);
			p++;
		}
		else
		{
			append_utf16(out, utf8_to_unicode(p));
			p += pg_utf_mblen(p);
		}
	}
	appendStringInfoChar(out, '"');
}

static StringInfo
refusal_extra(Refusal *refusal)
{
	if (refusal->extra == NULL)
		refusal->extra = makeStringInfo();
	return refusal->extra;
}

/* Adds a member whose JSON value is at hand; the key is a constant of ours. */
void
errors_member_raw(Refusal *refusal, const char *key, const char *json)
{
	appendStringInfo(refusal_extra(refusal), ",\"%s\":%s", key, json);
}

/* Adds a text of ours, readable as it stands; one that has quotes in it is escaped. */
void
errors_member_constant(Refusal *refusal, const char *key, const char *value)
{
	if (strpbrk(value, "\"\\"))
		errors_member(refusal, key, value);
	else
		errors_member_raw(refusal, key, psprintf("\"%s\"", value));
}

/* Adds a string that came from anybody, or null. */
void
errors_member(Refusal *refusal, const char *key, const char *value)
{
	StringInfo	extra = refusal_extra(refusal);

	appendStringInfo(extra, ",\"%s\":", key);
	if (value == NULL)
		appendStringInfoString(extra, "null");
	else
		errors_escape(extra, value);
}

void
errors_member_time(Refusal *refusal, const char *key, TimestampTz value)
{
	char		text[CLOCK_TEXT_LEN];

	clock_text(value, text);
	errors_member(refusal, key, text);
}

/* The whole DETAIL: one JSON object on one line. */
char *
errors_detail(const Refusal *refusal)
{
	const ReasonRow *row = &reasons[refusal->reason];
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "{\"sqlstate\":\"%s\",\"reason\":\"%s\",\"http\":%d",
					 unpack_sql_state(reason_sqlstate(refusal->reason)),
					 row->word, row->http);
	if (refusal->has_id)
	{
		char		id[ULID_TEXT_LEN + 1];

		ulid_to_text(&refusal->id, id);
		appendStringInfo(&out, ",\"id\":\"%s\"", id);
	}
	else
		appendStringInfoString(&out, ",\"id\":null");
	if (refusal->status)
		appendStringInfo(&out, ",\"status\":\"%s\"", refusal->status);
	else
		appendStringInfoString(&out, ",\"status\":null");
	if (refusal->extra)
		appendBinaryStringInfo(&out, refusal->extra->data, refusal->extra->len);
	appendStringInfo(&out, ",\"hint\":\"%s\"}", row->hint);
	return out.data;
}

void
errors_raise(const Refusal *refusal)
{
	const ReasonRow *row = &reasons[refusal->reason];

	ereport(ERROR,
			(errcode(reason_sqlstate(refusal->reason)),
			 errmsg_internal("%s", row->message),
			 errdetail_internal("%s", errors_detail(refusal)),
			 errhint("%s", row->hint)));
	pg_unreachable();
}

void
errors_not_canonical(Refusal *refusal, const CanonicalError *error)
{
	refusal->reason = REASON_NOT_CANONICAL;
	errors_member(refusal, "problem", error->reason);
	errors_member(refusal, "path", error->path);
}

void
errors_raise_not_canonical(const CanonicalError *error)
{
	Refusal		refusal = {0};

	errors_not_canonical(&refusal, error);
	errors_raise(&refusal);
}

/* "why" is a word of ours. */
void
errors_raise_bad_arguments(const char *why)
{
	Refusal		refusal = {.reason = REASON_BAD_ARGUMENTS};

	errors_member(&refusal, "problem", why);
	errors_raise(&refusal);
}

/*
 * A standard error with the DETAIL of ours.  All texts are constants of ours,
 * without a quote in them; "extra" is further members, each ",\"k\":v".
 */
void
errors_raise_standard(int sqlstate, const char *message, const char *reason, int http,
					  const char *extra, const char *hint)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg_internal("%s", message),
			 errdetail_internal("{\"sqlstate\":\"%s\",\"reason\":\"%s\",\"http\":%d,\"id\":null,\"status\":null%s,\"hint\":\"%s\"}",
								unpack_sql_state(sqlstate), reason, http, extra, hint),
			 errhint("%s", hint)));
	pg_unreachable();
}

/* The argument's name is a constant of ours. */
void
errors_raise_null(const char *argument)
{
	errors_raise_standard(ERRCODE_NULL_VALUE_NOT_ALLOWED,
						  psprintf("argument \"%s\" must not be null", argument), "null_argument", 400,
						  psprintf(",\"argument\":\"%s\"", argument),
						  "Pass a value for this argument.");
}

/* In core's words, which frameworks know how to retry. */
void
errors_raise_serialization(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update")));
	pg_unreachable();
}

/* approval.errors(): the table above, for people and for tests */
Datum
approval_errors(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 1; i < REASON_COUNT; i++)
	{
		Datum		values[5];
		bool		nulls[5] = {0};

		values[0] = CStringGetTextDatum(unpack_sql_state(reason_sqlstate(i)));
		values[1] = CStringGetTextDatum(reasons[i].word);
		values[2] = Int32GetDatum(reasons[i].http);
		values[3] = CStringGetTextDatum(reasons[i].message);
		values[4] = CStringGetTextDatum(reasons[i].hint);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
