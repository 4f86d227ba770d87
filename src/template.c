/*-------------------------------------------------------------------------
 *
 * template.c
 *	  An administrator's sentence over the arguments of a tool.
 *
 * "Refund {amount} to {customer.id}, first of {items[0].sku}".  A name that is
 * not plain is written as a JSON string, {"odd name"."x.y"}; {{ and }} are
 * braces.  What is put in is always canonical JSON: a string keeps its quotes,
 * so that no argument can pass for the administrator's words.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pg_list.h"

#include "canonical.h"
#include "template.h"
#include "visible.h"

#define MAX_PLACEHOLDERS 100
#define MAX_INDEX 99999

/* One step of a path. */
typedef struct Step
{
	Slice		key;			/* quoted; text NULL: an index */
	int			index;
} Step;

/* Words, or a place for a value. */
typedef struct Part
{
	Slice		words;			/* text NULL: a place */
	List	   *steps;
} Part;

struct Template
{
	List	   *parts;
	int			places;
};

/* What is left to read. */
typedef struct Reader
{
	const char *at;
	const char *problem;
} Reader;

static bool
bad(Reader *reader, const char *problem)
{
	reader->problem = problem;
	return false;
}

static bool
plain_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || c == '-' || c == '$' || IS_HIGHBIT_SET(c);
}

/* A name in quotes, as JSON; the slice is its canonical spelling. */
static bool
read_quoted(Reader *reader, Slice *key)
{
	const char *start = reader->at++;
	StringInfoData out;
	CanonicalError error = {0};

	while (*reader->at != '"')
	{
		if (*reader->at == '\\' && reader->at[1] != '\0')
			reader->at++;
		if (*reader->at++ == '\0')
			return bad(reader, "a quoted name does not end");
	}
	reader->at++;
	initStringInfo(&out);
	if (!canonical_append(&out, start, reader->at - start, CANONICAL_STRICT, &error))
		return bad(reader, "a quoted name is not a JSON string");
	key->text = out.data;
	key->len = out.len;
	return true;
}

static bool
read_name(Reader *reader, Slice *key)
{
	const char *start = reader->at;
	StringInfoData out;

	if (*start == '"')
		return read_quoted(reader, key);
	while (plain_char(*reader->at))
		reader->at++;
	if (reader->at == start)
		return bad(reader, "a placeholder needs a name");
	initStringInfo(&out);
	canonical_append_string(&out, start, reader->at - start);
	key->text = out.data;
	key->len = out.len;
	return true;
}

static bool
read_index(Reader *reader, int *index)
{
	const char *start = ++reader->at;

	*index = 0;
	while (*reader->at >= '0' && *reader->at <= '9' && *index <= MAX_INDEX)
		*index = *index * 10 + (*reader->at++ - '0');
	if (reader->at == start || *reader->at != ']' || *index > MAX_INDEX)
		return bad(reader, "an index is a number from 0 to 99999 in brackets");
	reader->at++;
	return true;
}

/* The path between braces: name, then .name or [index]. */
static bool
read_path(Reader *reader, List **steps)
{
	for (;;)
	{
		Step	   *step = palloc0(sizeof(Step));

		if (*reader->at == '[' && *steps != NIL)
		{
			if (!read_index(reader, &step->index))
				return false;
		}
		else if (!read_name(reader, &step->key))
			return false;
		*steps = lappend(*steps, step);
		if (*reader->at == '}')
			break;
		if (*reader->at == '.')
			reader->at++;
		else if (*reader->at != '[')
			return bad(reader, "a placeholder does not end");
	}
	reader->at++;
	return true;
}

static void
add_words(Template *template, const char *text, int len)
{
	Part	   *part = palloc0(sizeof(Part));

	if (len == 0)
		return;
	part->words.text = text;
	part->words.len = len;
	template->parts = lappend(template->parts, part);
}

static bool
add_place(Template *template, Reader *reader)
{
	Part	   *part = palloc0(sizeof(Part));

	reader->at++;
	if (++template->places > MAX_PLACEHOLDERS)
		return bad(reader, "has more than 100 placeholders");
	if (!read_path(reader, &part->steps))
		return false;
	template->parts = lappend(template->parts, part);
	return true;
}

static bool
read_template(Template *template, Reader *reader)
{
	while (*reader->at)
	{
		int			len = strcspn(reader->at, "{}");
		const char *brace = reader->at + len;

		if (*brace && brace[1] == *brace)
		{
			add_words(template, reader->at, len + 1);
			reader->at = brace + 2;
			continue;
		}
		add_words(template, reader->at, len);
		reader->at = brace;
		if (*brace == '}')
			return bad(reader, "has a closing brace without an opening one");
		if (*brace == '{' && !add_place(template, reader))
			return false;
	}
	return true;
}

/* NULL, with a problem, for what is no template.  It points into the text. */
Template *
template_parse(const char *text, const char **problem)
{
	Template   *template = palloc0(sizeof(Template));
	Reader		reader = {text, NULL};

	if (read_template(template, &reader))
		return template;
	*problem = reader.problem;
	return NULL;
}

bool
template_sound(const char *text, const char **problem)
{
	return template_parse(text, problem) != NULL;
}

/* False for a path that leads nowhere. */
static bool
follow(const List *steps, const Slice *arguments, Slice *value)
{
	ListCell   *cell;

	*value = *arguments;
	foreach(cell, steps)
	{
		const Step *step = lfirst(cell);
		Slice		inner;

		if (step->key.text ? !scan_find(value, &step->key, &inner) :
			!scan_element(value, step->index, &inner))
			return false;
		*value = inner;
	}
	return true;
}

void
template_render(const Template *template, const Slice *arguments, StringInfo out)
{
	ListCell   *cell;

	foreach(cell, template->parts)
	{
		const Part *part = lfirst(cell);
		Slice		value;

		if (part->words.text)
			visible_append(out, part->words.text, part->words.len);
		else if (follow(part->steps, arguments, &value))
			visible_append_clipped(out, value.text, value.len);
		else
			appendStringInfoString(out, "(missing)");
	}
}

/* Whether the template shows the whole of a member. */
bool
template_shows(const Template *template, const Slice *key)
{
	ListCell   *cell;

	foreach(cell, template->parts)
	{
		const Part *part = lfirst(cell);
		const Step *step;

		if (part->words.text || list_length(part->steps) != 1)
			continue;
		step = linitial(part->steps);
		if (step->key.len == key->len && memcmp(step->key.text, key->text, key->len) == 0)
			return true;
	}
	return false;
}
