/*-------------------------------------------------------------------------
 *
 * summary.c
 *	  What the gate itself says will happen.
 *
 * The person decides on this text, so it must not be possible to hide anything
 * in it, or to make it read like another action: names are quoted unless they
 * are plain, every argument is listed, long values are clipped one by one, and
 * characters that cannot be seen are written out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "summary.h"
#include "template.h"
#include "visible.h"

/* A name as it is if it is plain, else quoted as JSON, so that it ends where it ends. */
static void
append_name(StringInfo out, const char *name)
{
	static const char plain[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@-";
	StringInfoData quoted;

	if (strspn(name, plain) == strlen(name))
	{
		appendStringInfoString(out, name);
		return;
	}
	initStringInfo(&quoted);
	canonical_append_string(&quoted, name, strlen(name));
	visible_append_clipped(out, quoted.data, quoted.len);
	pfree(quoted.data);
}

/* Every member that the template does not show whole, key and value each clipped by itself. */
static void
append_members(StringInfo out, const Action *action, Template *template)
{
	const char *next = action->arguments + 1;
	const char *end = action->arguments + action->arguments_len;
	MemberText	member;

	while (scan_member(&next, end, &member))
	{
		CHECK_FOR_INTERRUPTS();
		if (template != NULL && template_take(template, &member))
			continue;
		if (out->len > 0)
			appendStringInfoChar(out, ',');
		visible_append_clipped(out, member.key, member.key_len);
		appendStringInfoChar(out, ':');
		visible_append_clipped(out, member.value, member.value_len);
	}
}

/* Tool and resource as in server/tool on resource. */
static void
append_names(StringInfo out, const Action *action)
{
	if (action->server[0] != '\0')
	{
		append_name(out, action->server);
		appendStringInfoChar(out, '/');
	}
	append_name(out, action->tool);
	if (action->resource)
	{
		appendStringInfoString(out, " on ");
		append_name(out, action->resource);
	}
}

/*
 * From hashed members only: server/tool on resource with {arguments}.  With a
 * template: server/tool on resource: its text, with {arguments that it leaves
 * out}.  One that is not sound is not used.
 */
char *
summary_of(const Action *action, const char *template)
{
	const char *problem;
	Template   *text = template == NULL ? NULL : template_read(template, &problem);
	StringInfoData out;
	StringInfoData members;

	initStringInfo(&members);
	append_members(&members, action, text);

	initStringInfo(&out);
	append_names(&out, action);
	if (text != NULL)
	{
		appendStringInfoString(&out, ": ");
		template_append(&out, text);
	}
	if (text == NULL || members.len > 0)
	{
		appendStringInfoString(&out, " with {");
		appendBinaryStringInfo(&out, members.data, members.len);
		appendStringInfoChar(&out, '}');
	}
	pfree(members.data);
	return out.data;
}
