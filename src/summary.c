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

#include "canonical.h"
#include "scan.h"
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

/* Members of the arguments, key and value each clipped by itself. */
static void
append_members(StringInfo out, const Slice *arguments, const Template *template)
{
	MemberScan	scan = {0};
	bool		first = true;

	appendStringInfoChar(out, '{');
	while (scan_member(arguments, &scan))
	{
		if (template && template_shows(template, &scan.key))
			continue;
		if (!first)
			appendStringInfoChar(out, ',');
		first = false;
		visible_append_clipped(out, scan.key.text, scan.key.len);
		appendStringInfoChar(out, ':');
		visible_append_clipped(out, scan.value.text, scan.value.len);
	}
	appendStringInfoChar(out, '}');
}

/* Whether the template leaves anything out. */
static bool
leaves_out(const Template *template, const Slice *arguments)
{
	MemberScan	scan = {0};

	while (scan_member(arguments, &scan))
		if (!template_shows(template, &scan.key))
			return true;
	return false;
}

/*
 * From hashed members only: server/tool on resource with {arguments}; with a
 * template: server/tool on resource: its words, and with {...} whatever it
 * leaves out.
 */
char *
summary_of(const Action *action, const char *template)
{
	const Slice arguments = {action->arguments, action->arguments_len};
	const char *problem;
	Template   *parsed = template ? template_parse(template, &problem) : NULL;
	StringInfoData out;

	initStringInfo(&out);
	if (action->server[0] != '\0')
	{
		append_name(&out, action->server);
		appendStringInfoChar(&out, '/');
	}
	append_name(&out, action->tool);
	if (action->resource)
	{
		appendStringInfoString(&out, " on ");
		append_name(&out, action->resource);
	}
	if (parsed)
	{
		appendStringInfoString(&out, ": ");
		template_render(parsed, &arguments, &out);
	}
	if (parsed == NULL || leaves_out(parsed, &arguments))
	{
		appendStringInfoString(&out, " with ");
		append_members(&out, &arguments, parsed);
	}
	return out.data;
}
