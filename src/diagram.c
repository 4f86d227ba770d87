/*-------------------------------------------------------------------------
 *
 * diagram.c
 *	  diagram_text, plain_text and timeline_format, for timeline().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "args.h"
#include "blank.h"
#include "errors.h"

PG_FUNCTION_INFO_V1(approval_diagram_text);
PG_FUNCTION_INFO_V1(approval_plain_text);
PG_FUNCTION_INFO_V1(approval_timeline_format);

static bool
is_plain(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		(c != '\0' && strchr(" _.,@/+-()", c) != NULL);
}

/*
 * diagram_text(text): letters, digits and a few signs as they are, others as
 * character entities (#59;), so that no text ends a statement or is taken for
 * syntax, and what leaves no mark as the replacement character.
 */
Datum
approval_diagram_text(PG_FUNCTION_ARGS)
{
	char	   *content;
	const unsigned char *p;
	StringInfoData out;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	content = text_to_cstring(PG_GETARG_TEXT_PP(0));
	initStringInfo(&out);
	for (p = (const unsigned char *) content; *p; p += pg_utf_mblen(p))
	{
		pg_wchar	c = utf8_to_unicode(p);

		if (is_plain(*p))
			appendStringInfoChar(&out, *p);
		else
			appendStringInfo(&out, "#%u;", blank_char(c) ? 0xFFFD : (unsigned int) c);
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* plain_text(text): on one line, and nothing in it that leaves no mark */
Datum
approval_plain_text(PG_FUNCTION_ARGS)
{
	char	   *content;
	const char *p;
	int			len;
	StringInfoData out;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	content = text_to_cstring(PG_GETARG_TEXT_PP(0));
	initStringInfo(&out);
	for (p = content; *p; p += len)
	{
		len = pg_utf_mblen((const unsigned char *) p);
		if (*p != ' ' && blank_char(utf8_to_unicode((const unsigned char *) p)))
			appendStringInfoString(&out, "\xEF\xBF\xBD");
		else
			appendBinaryStringInfo(&out, p, len);
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* timeline_format(format): the format, or an error */
Datum
approval_timeline_format(PG_FUNCTION_ARGS)
{
	char	   *format = args_required(fcinfo, 0, "format", ARGS_KEY_LIMIT);

	if (strcmp(format, "mermaid") != 0 && strcmp(format, "text") != 0)
		args_bad_value("format", "One of mermaid and text.");
	PG_RETURN_TEXT_P(cstring_to_text(format));
}
