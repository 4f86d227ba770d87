/*
 * canonical.c
 *	  Canonical JSON, RFC 8785, from JSON text.
 *
 * The text comes from PostgreSQL's json type and so has been checked; anything
 * it would not have let through is an error here, never a wrong read.  It must
 * not come from jsonb, which has dropped duplicate keys and rounded nothing
 * that we could still see.
 *
 * Duplicate keys and lone surrogates are refused in both modes: RFC 8785 takes
 * I-JSON (RFC 7493) only, and any way of accepting them makes two documents
 * that mean different things hash the same.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "canonical_private.h"
#include "number.h"

/* Room beyond the rest of the input: a number and a copy that overshoots. */
#define SLACK 64

/* Integers of at most this many digits are canonical as they stand. */
#define PLAIN_DIGITS 15

static bool read_value(Canonical *state);

/* Fill in the error for the place where we are. */
bool
canonical_refuse(Canonical *state, const char *reason)
{
	state->error->reason = reason;
	state->error->path = canonical_path(state);
	return false;
}

/* For what the json type should not have accepted. */
bool
canonical_malformed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s", "json")));
	return false;
}

static inline bool
is_white(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The next byte that is not white space, not yet taken; 0 at the end. */
static inline char
peek(Canonical *state)
{
	while (state->next < state->end && is_white(*state->next))
		state->next++;
	return state->next < state->end ? *state->next : '\0';
}

/* After something that grew: room for the rest of the input again. */
static void
ensure_room(Canonical *state)
{
	StringInfo	out = state->out;
	Size		need = (state->end - state->next) + SLACK;

	if (out->data + out->maxlen - state->write >= (ptrdiff_t) need)
		return;
	out->len = state->write - out->data;
	enlargeStringInfo(out, (int) need);
	state->write = out->data + out->len;
}

static bool
read_literal(Canonical *state, const char *literal, int len)
{
	if (state->end - state->next < len || memcmp(state->next, literal, len) != 0)
		return canonical_malformed();
	memcpy(state->write, literal, len);
	state->next += len;
	state->write += len;
	return true;
}

/* A number that may have to be written differently. */
static bool
read_decimal(Canonical *state, const char *end)
{
	NumberFit	fit;
	int			len = 0;

	while (end < state->end &&
		   (is_digit(*end) || *end == '.' || *end == 'e' || *end == 'E' ||
			*end == '+' || *end == '-'))
		end++;
	fit = number_convert(state->next, (int) (end - state->next), state->write, &len);
	if (fit == NUMBER_MALFORMED)
		return canonical_malformed();
	if (fit == NUMBER_OVERFLOW ||
		(fit == NUMBER_UNDERFLOW && state->mode == CANONICAL_STRICT))
		return canonical_refuse(state, "number_out_of_range");
	if (fit == NUMBER_ROUNDED && state->mode == CANONICAL_STRICT)
		return canonical_refuse(state, "number_not_exact");
	state->next = end;
	state->write += len;
	ensure_room(state);
	return true;
}

/* Short integers are copied; everything else goes through number.c. */
static bool
read_number(Canonical *state)
{
	const char *p = state->next;
	const char *digits;
	int			len;

	if (*p == '-')
		p++;
	digits = p;
	while (p < state->end && is_digit(*p))
		p++;
	if (p == digits || p - digits > PLAIN_DIGITS || *digits == '0' ||
		(p < state->end && (*p == '.' || *p == 'e' || *p == 'E')))
		return read_decimal(state, p);

	len = (int) (p - state->next);
	memcpy(state->write, state->next, len);
	state->next = p;
	state->write += len;
	return true;
}

static bool
read_array(Canonical *state)
{
	PathStep	step = {state->path, -1, 0, 0};
	char		c;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	state->path = &step;
	state->next++;
	*state->write++ = '[';
	if (peek(state) == ']')
		state->next++;
	else
	{
		for (;; step.index++)
		{
			if (!read_value(state))
				return false;
			c = peek(state);
			if (c != ',' && c != ']')
				return canonical_malformed();
			state->next++;
			if (c == ']')
				break;
			*state->write++ = ',';
			if ((step.index & 0xfff) == 0)
				CHECK_FOR_INTERRUPTS();
		}
	}
	*state->write++ = ']';
	state->path = step.parent;
	return true;
}

/* Is the key just read one of those to leave out? */
static bool
is_omitted(const Canonical *state, int32 key, int32 key_len)
{
	const char *const *name = state->omitted;

	if (name == NULL || state->path->parent != NULL)
		return false;
	for (; *name != NULL; name++)
	{
		if (strlen(*name) == (size_t) key_len &&
			memcmp(canonical_text(state, key) + 1, *name, key_len) == 0)
			return true;
	}
	return false;
}

/* Past a string, from its opening quote. */
static const char *
skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
	{
		if (*p == '\\')
			p++;
	}
	return p < end ? p + 1 : end;
}

/* Past a member's value, without a look at what is in it. */
static bool
skip_value(Canonical *state)
{
	const char *p = state->next;
	int			depth = 0;

	while (p < state->end)
	{
		if (depth == 0 && (*p == ',' || *p == '}' || *p == ']'))
			break;
		if (*p == '"')
		{
			p = skip_string(p, state->end);
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		if (*p == '}' || *p == ']')
			depth--;
		p++;
	}
	state->next = p;
	return true;
}

/* Note a member that is complete, and whether it follows the one before. */
static bool
push_member(Canonical *state, Member *member, int first_member, bool *ordered)
{
	Member	   *slot;
	int			order;

	if (state->member_count == state->member_room)
	{
		bool		first = state->members == state->few_members;
		Member	   *grown = canonical_grow(first ? NULL : state->members, &state->member_room,
										   state->member_count + 1, sizeof(Member));

		if (first)
			memcpy(grown, state->few_members, sizeof(state->few_members));
		state->members = grown;
	}
	member->end = canonical_offset(state);
	member->last_shuffle = state->shuffle_count;
	member_set_key(state, member);
	slot = &state->members[state->member_count++];
	*slot = *member;
	if (!*ordered || state->member_count - 1 == first_member)
		return true;
	order = member_compare(state, slot - 1, slot);
	if (order == 0)
		return canonical_refuse(state, "duplicate_key");
	*ordered = order < 0;
	return true;
}

static bool
read_member(Canonical *state, PathStep *step, int first_member, bool *ordered)
{
	Member		member;
	char	   *comma = state->write;

	step->key = -1;
	if (peek(state) != '"')
		return canonical_malformed();
	if (state->member_count > first_member)
		*state->write++ = ',';
	member.start = canonical_offset(state);
	member.first_shuffle = state->shuffle_count;
	if (!canonical_read_string(state, &member.unusual))
		return false;
	member.key_len = canonical_offset(state) - member.start - 2;
	if (peek(state) != ':')
		return canonical_malformed();
	state->next++;

	if (is_omitted(state, member.start, member.key_len))
	{
		state->write = comma;
		return skip_value(state);
	}
	*state->write++ = ':';
	step->key = member.start;
	step->key_len = member.key_len;
	if (!read_value(state))
		return false;
	return push_member(state, &member, first_member, ordered);
}

/* Sort the members of an object that were not in order. */
static bool
reorder(Canonical *state, PathStep *step, int first_member, int first_shuffle)
{
	const Member *twice;

	twice = members_sort(state, state->members + first_member,
						 state->member_count - first_member);
	if (twice != NULL)
	{
		step->key = twice->start;
		step->key_len = twice->key_len;
		return canonical_refuse(state, "duplicate_key");
	}
	shuffle_note(state, first_member, first_shuffle);
	return true;
}

static bool
read_object(Canonical *state)
{
	PathStep	step = {state->path, -1, 0, -1};
	int			first_member = state->member_count;
	int			first_shuffle = state->shuffle_count;
	bool		ordered = true;
	char		c;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	state->path = &step;
	state->next++;
	*state->write++ = '{';
	if (peek(state) == '}')
		state->next++;
	else
	{
		do
		{
			if (!read_member(state, &step, first_member, &ordered))
				return false;
			c = peek(state);
			if (c != ',' && c != '}')
				return canonical_malformed();
			state->next++;
			if ((state->member_count & 0xfff) == 0)
				CHECK_FOR_INTERRUPTS();
		} while (c == ',');
	}
	if (!ordered && !reorder(state, &step, first_member, first_shuffle))
		return false;
	state->member_count = first_member;
	*state->write++ = '}';
	state->path = step.parent;
	return true;
}

static bool
read_value(Canonical *state)
{
	bool		unusual;

	switch (peek(state))
	{
		case '{':
			return read_object(state);
		case '[':
			return read_array(state);
		case '"':
			return canonical_read_string(state, &unusual);
		case 't':
			return read_literal(state, "true", 4);
		case 'f':
			return read_literal(state, "false", 5);
		case 'n':
			return read_literal(state, "null", 4);
		case '-':
		case '0':
		case '1':
		case '2':
		case '3':
		case '4':
		case '5':
		case '6':
		case '7':
		case '8':
		case '9':
			return read_number(state);
		default:
			return canonical_malformed();
	}
}

/* Everything but the scratch memory, which the caller of this frees. */
static bool
read_document(Canonical *state)
{
	StringInfo	out = state->out;

	if (!read_value(state))
		return false;
	if (peek(state) != '\0' || state->next != state->end)
		return canonical_malformed();
	out->len = state->write - out->data;
	out->data[out->len] = '\0';
	if (state->shuffle_count > 0)
		shuffles_apply(state);
	return true;
}

/*
 * Append the canonical text of a document, without the members of its
 * outermost object that the NULL-terminated list names.  What is in those is
 * not looked at.  False with "error" filled in, and nothing appended, if there
 * is no such text.
 */
bool
canonical_append_without(StringInfo out, const char *json, int len, CanonicalMode mode,
						 const char *const *omitted, CanonicalError *error)
{
	Canonical	state;
	bool		done;

	state.next = json;
	state.end = json + len;
	state.out = out;
	state.base = out->len;
	state.mode = mode;
	state.omitted = omitted;
	state.error = error;
	state.path = NULL;
	state.members = state.few_members;
	state.member_count = 0;
	state.member_room = FEW_MEMBERS;
	state.shuffles = NULL;
	state.shuffle_count = state.shuffle_room = 0;
	state.sorted = NULL;
	state.sorted_count = state.sorted_room = 0;
	enlargeStringInfo(out, len + SLACK);
	state.write = out->data + out->len;

	done = read_document(&state);
	if (!done)
	{
		out->len = state.base;
		out->data[out->len] = '\0';
	}
	if (state.members != state.few_members)
		pfree(state.members);
	if (state.shuffles != NULL)
		pfree(state.shuffles);
	if (state.sorted != NULL)
		pfree(state.sorted);
	return done;
}

bool
canonical_append(StringInfo out, const char *json, int len, CanonicalMode mode,
				 CanonicalError *error)
{
	return canonical_append_without(out, json, len, mode, NULL, error);
}

/* The first byte of the document's value: '{' for an object, and so on. */
char
canonical_kind(const char *json, int len)
{
	const char *end = json + len;

	while (json < end && is_white(*json))
		json++;
	return json < end ? *json : '\0';
}

bool
canonical_is_empty_array(const char *json, int len)
{
	const char *end = json + len;

	if (canonical_kind(json, len) != '[')
		return false;
	json = memchr(json, '[', len);
	json++;
	return canonical_kind(json, (int) (end - json)) == ']';
}
