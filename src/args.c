/*-------------------------------------------------------------------------
 *
 * args.c
 *	  Arguments of verbs: required ones, limits, the common errors.
 *
 * Verbs are not STRICT: a missing argument must be an error, never a NULL that
 * a client takes for an answer.  The names are constants of ours; values never
 * appear in an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "args.h"
#include "clock.h"
#include "errors.h"

/* An argument that cannot be; the message is its name between two texts. */
static void
refuse_argument(const char *before, const char *name, const char *after, const char *reason,
				const char *extra, const char *hint)
{
	errors_raise_standard(ERRCODE_INVALID_PARAMETER_VALUE,
						  psprintf("%sargument \"%s\"%s", before, name, after), reason, 400,
						  psprintf(",\"argument\":\"%s\"%s", name, extra), hint);
}

void
args_bad_value(const char *name, const char *hint)
{
	refuse_argument("invalid value for ", name, "", "invalid_argument", "", hint);
	pg_unreachable();
}

void
args_check_length(const char *name, const char *value, int limit)
{
	if (strlen(value) > (size_t) limit)
		refuse_argument("", name, " is too long", "too_long",
						psprintf(",\"limit\":%d", limit),
						psprintf("It may be %d bytes long at most.", limit));
}

/* A name that identifies something: not empty either. */
void
args_check_name(const char *name, const char *value, int limit)
{
	if (value[0] == '\0')
		refuse_argument("", name, " must not be empty", "empty", "",
						"Pass a name of at least one character.");
	args_check_length(name, value, limit);
}

static bool
is_blank(char c)
{
	return (unsigned char) c <= ' ';
}

/* The name of a person or service: a blank at either end would make it another one. */
void
args_check_actor(const char *name, const char *value)
{
	args_check_name(name, value, ARGS_KEY_LIMIT);
	if (is_blank(value[0]) || is_blank(value[strlen(value) - 1]))
		refuse_argument("", name, " begins or ends with a blank", "blank", "",
						"Pass the name as it is registered.");
}

/* An optional text, or NULL. */
char *
args_text(FunctionCallInfo fcinfo, int n, const char *name, int limit)
{
	char	   *value;

	if (PG_ARGISNULL(n))
		return NULL;
	value = text_to_cstring(PG_GETARG_TEXT_PP(n));
	args_check_length(name, value, limit);
	return value;
}

/* An optional name, or NULL; an empty one is an error. */
char *
args_name(FunctionCallInfo fcinfo, int n, const char *name)
{
	char	   *value = args_text(fcinfo, n, name, ARGS_KEY_LIMIT);

	if (value)
		args_check_name(name, value, ARGS_KEY_LIMIT);
	return value;
}

/* An optional name of a person or service, or NULL. */
char *
args_actor(FunctionCallInfo fcinfo, int n, const char *name)
{
	char	   *value = args_text(fcinfo, n, name, ARGS_KEY_LIMIT);

	if (value)
		args_check_actor(name, value);
	return value;
}

/* A text that must be there, and may be empty. */
char *
args_required(FunctionCallInfo fcinfo, int n, const char *name, int limit)
{
	if (PG_ARGISNULL(n))
		errors_raise_null(name);
	return args_text(fcinfo, n, name, limit);
}

const Ulid *
args_id(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		errors_raise_null(name);
	return (const Ulid *) PG_GETARG_POINTER(n);
}

const Digest *
args_digest(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		errors_raise_null(name);
	return (const Digest *) PG_GETARG_POINTER(n);
}

text *
args_json(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : PG_GETARG_TEXT_PP(n);
}

text *
args_required_json(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		errors_raise_null(name);
	return PG_GETARG_TEXT_PP(n);
}

/* A span of time in microseconds, within [least, most]. */
int64
args_span(FunctionCallInfo fcinfo, int n, const char *name,
		  int64 otherwise, int64 least, int64 most)
{
	int64		span;

	if (PG_ARGISNULL(n))
		return otherwise;
	span = clock_span(PG_GETARG_INTERVAL_P(n));
	if (span < least || span > most)
		refuse_argument("", name, " is out of range", "out_of_range",
						psprintf(",\"least_seconds\":%.10g,\"most_seconds\":%.10g",
								 least / (double) USECS_PER_SEC, most / (double) USECS_PER_SEC),
						psprintf("Between %.10g and %.10g seconds.",
								 least / (double) USECS_PER_SEC, most / (double) USECS_PER_SEC));
	return span;
}
