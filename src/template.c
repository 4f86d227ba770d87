/*-------------------------------------------------------------------------
 *
 * template.c
 *	  Sentences that an administrator writes, with arguments in them.
 *
 *	  text         {{ and }} stand for braces
 *	  placeholder  { name, then .name or [index] as often as needed }
 *	  name         letters, digits, _ and -, or any JSON string
 *
 * What is inserted is canonical JSON and never read as a template: a string
 * keeps its quotes, so it cannot pass for the text around it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"

#include "canonical.h"
#include "template.h"
#include "visible.h"

#define TEXT_LIMIT 4000			/* bytes */
#define PLACEHOLDER_LIMIT 100
#define INDEX_DIGITS 9			/* of them any number is an int */

#define TOO_LONG "the text is longer than 4000 bytes"
#define TOO_MANY "there are more than 100 placeholders"
#define NO_TEXT "the text is empty"
#define UNBALANCED "a brace has no partner and is not doubled"
#define NO_PATH "a placeholder is empty"
#define BAD_NAME "a name is missing, or has characters that need a JSON string"
#define BAD_INDEX "an index is not a whole number in brackets"

/* A member's name as it stands in canonical text, or, without one, an index. */
typedef struct Step
{
	const char *key;
	int			key_len;
	int			index;
} Step;

/* Text to be copied, or, with a path, the place of a value. */
typedef struct Piece
{
	const char *text;			/* of a placeholder: NULL until it is found */
	int			len;
	List	   *path;
} Piece;

struct Template
{
	List	   *pieces;
	int			placeholders;
};

typedef struct Reader
{
	const char *next;
	const char *problem;		/* or NULL */
} Reader;

/* How long the JSON string that starts here is; 0 if it is none. */
static int
json_string_len(const char *s)
{
	const char *p;

	for (p = s + 1; *p != '"'; p++)
	{
		if ((unsigned char) *p < ' ')
			return 0;
		if (*p != '\\')
			continue;
		p++;
		if (*p == 'u')
		{
			if (strspn(p + 1, "0123456789abcdefABCDEF") < 4)
				return 0;
			p += 4;
		}
		else if (*p == '\0' || strchr("\"\\/bfnrt", *p) == NULL)
			return 0;
	}
	return p + 1 - s;
}

/* Keys are compared in their canonical form, in which escapes make no difference. */
static void
read_name(Reader *reader, Step *step)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	CanonicalError error;
	StringInfoData key;
	int			len;

	initStringInfo(&key);
	if (*reader->next == '"')
	{
		len = json_string_len(reader->next);
		if (len == 0 || !canonical_append(&key, reader->next, len, CANONICAL_STRICT, &error))
			reader->problem = BAD_NAME;
	}
	else
	{
		len = strspn(reader->next, plain);
		if (len == 0)
			reader->problem = BAD_NAME;
		canonical_append_string(&key, reader->next, len);
	}
	step->key = key.data;
	step->key_len = key.len;
	reader->next += len;
}

/* One way to write each index: without leading zeros. */
static void
read_index(Reader *reader, Step *step)
{
	const char *digits = reader->next + 1;
	size_t		len = strspn(digits, "0123456789");

	if (len == 0 || len > INDEX_DIGITS || (*digits == '0' && len > 1) || digits[len] != ']')
	{
		reader->problem = BAD_INDEX;
		return;
	}
	step->index = atoi(digits);
	reader->next = digits + len + 1;
}

/* A path and the brace that ends it. */
static List *
read_path(Reader *reader)
{
	List	   *path = NIL;

	while (reader->problem == NULL)
	{
		Step	   *step = palloc0(sizeof(Step));

		if (path != NIL && *reader->next == '[')
			read_index(reader, step);
		else
		{
			if (path != NIL)
				reader->next++;
			read_name(reader, step);
		}
		path = lappend(path, step);
		if (reader->problem != NULL)
			break;
		if (*reader->next == '}')
		{
			reader->next++;
			break;
		}
		if (*reader->next == '\0')
			reader->problem = UNBALANCED;
		else if (*reader->next != '.' && *reader->next != '[')
			reader->problem = BAD_NAME;
	}
	return path;
}

/* Text up to the next brace, one brace of a doubled one, or a placeholder. */
static Piece *
read_piece(Reader *reader)
{
	Piece	   *piece = palloc0(sizeof(Piece));
	char		c = *reader->next;

	piece->text = reader->next;
	piece->len = strcspn(reader->next, "{}");
	if (piece->len > 0)
		reader->next += piece->len;
	else if (reader->next[1] == c)
	{
		piece->len = 1;
		reader->next += 2;
	}
	else if (c == '}' || reader->next[1] == '\0')
		reader->problem = UNBALANCED;
	else if (reader->next[1] == '}')
		reader->problem = NO_PATH;
	else
	{
		reader->next++;
		piece->text = NULL;
		piece->path = read_path(reader);
	}
	return piece;
}

/*
 * A template ready for the members of one object, or NULL with what is wrong
 * with the text, which has to stay.
 */
Template *
template_read(const char *text, const char **problem)
{
	Template   *template = palloc0(sizeof(Template));
	Reader		reader = {text, NULL};

	if (strnlen(text, TEXT_LIMIT + 1) > TEXT_LIMIT)
		reader.problem = TOO_LONG;
	else if (*text == '\0')
		reader.problem = NO_TEXT;
	while (reader.problem == NULL && *reader.next != '\0')
	{
		Piece	   *piece = read_piece(&reader);

		template->pieces = lappend(template->pieces, piece);
		if (piece->path != NIL && ++template->placeholders > PLACEHOLDER_LIMIT)
			reader.problem = TOO_MANY;
	}
	*problem = reader.problem;
	return reader.problem == NULL ? template : NULL;
}

/* Can it be used?  If not, *problem says why: a constant. */
bool
template_sound(const char *template, const char **problem)
{
	return template_read(template, problem) != NULL;
}

static bool
is_key(const Step *step, const char *key, int len)
{
	return step->key != NULL && step->key_len == len && memcmp(step->key, key, len) == 0;
}

/*
 * Where one step into the value at p leads, or NULL.  Its end is not looked
 * for, so that a long path does not read the same text again and again.
 */
static const char *
enter(const char *p, const char *end, const Step *step)
{
	int			i;

	if (p >= end || *p != (step->key == NULL ? '[' : '{'))
		return NULL;
	p++;
	for (i = 0; p < end && *p != ']' && *p != '}'; i++)
	{
		bool		found = step->key == NULL && i == step->index;

		CHECK_FOR_INTERRUPTS();
		if (step->key != NULL)
		{
			const char *key = p;

			p = scan_string(p, end);
			found = is_key(step, key, p - key);
			p++;
		}
		if (found)
			return p < end ? p : NULL;
		p = scan_value(p, end);
		if (p < end && *p == ',')
			p++;
	}
	return NULL;
}

/* The value at the end of a path of which the first step led to the member. */
static void
find(Piece *piece, const MemberText *member)
{
	const char *p = member->value;
	const char *end = member->value + member->value_len;
	int			i;

	for (i = 1; i < list_length(piece->path) && p != NULL; i++)
		p = enter(p, end, list_nth(piece->path, i));
	piece->text = p;
	if (p != NULL)
		piece->len = scan_value(p, end) - p;
}

/*
 * Gives the template the next member of the object.  True if it shows the
 * whole of it: showing every part that a path names is not enough, as there
 * may be others.
 */
bool
template_take(Template *template, const MemberText *member)
{
	bool		whole = false;
	ListCell   *cell;

	foreach(cell, template->pieces)
	{
		Piece	   *piece = lfirst(cell);

		if (piece->path == NIL || !is_key(linitial(piece->path), member->key, member->key_len))
			continue;
		find(piece, member);
		if (list_length(piece->path) == 1)
			whole = true;
	}
	return whole;
}

/* The sentence, after all members were taken. */
void
template_append(StringInfo out, const Template *template)
{
	ListCell   *cell;

	foreach(cell, template->pieces)
	{
		const Piece *piece = lfirst(cell);

		if (piece->path == NIL)
			visible_append(out, piece->text, piece->len);
		else if (piece->text == NULL)
			appendStringInfoString(out, "(missing)");
		else
			visible_append_clipped(out, piece->text, piece->len);
	}
}
