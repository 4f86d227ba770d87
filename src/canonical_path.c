/*
 * canonical_path.c
 *	  The place in a document that an error is about, as a JSONPath.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "canonical_private.h"

/* A path is for reading: longer ones, and longer keys in them, are clipped. */
#define PATH_LIMIT 1000
#define KEY_LIMIT 200

static bool
is_identifier(const char *s, int len)
{
	int			i;

	for (i = 0; i < len; i++)
	{
		bool		letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';

		if (!letter && (i == 0 || s[i] < '0' || s[i] > '9'))
			return false;
	}
	return len > 0;
}

/* A key stands in the output in its canonical form, which a path can use. */
void
canonical_append_key(StringInfo path, const char *key, int len)
{
	if (len > KEY_LIMIT)
	{
		appendStringInfoString(path, ".\"");
		appendBinaryStringInfo(path, key, pg_mbcliplen(key, len, KEY_LIMIT));
		appendStringInfoString(path, "...\"");
	}
	else if (is_identifier(key, len))
	{
		appendStringInfoChar(path, '.');
		appendBinaryStringInfo(path, key, len);
	}
	else
	{
		appendStringInfoString(path, ".\"");
		appendBinaryStringInfo(path, key, len);
		appendStringInfoChar(path, '"');
	}
}

char *
canonical_path(const Canonical *state)
{
	StringInfoData path;
	const PathStep *step;
	const PathStep **steps;
	int			depth = 0;
	int			i = 0;

	for (step = state->path; step != NULL; step = step->parent)
		depth++;
	steps = palloc(sizeof(PathStep *) * (depth + 1));
	for (step = state->path; step != NULL; step = step->parent)
		steps[i++] = step;

	initStringInfo(&path);
	appendStringInfoChar(&path, '$');
	while (i-- > 0)
	{
		step = steps[i];
		if (path.len > PATH_LIMIT)
		{
			appendStringInfoString(&path, "...");
			break;
		}
		if (step->index >= 0)
			appendStringInfo(&path, "[%d]", step->index);
		else if (step->key >= 0)
			canonical_append_key(&path, canonical_text(state, step->key) + 1, step->key_len);
	}
	pfree(steps);
	return path.data;
}
