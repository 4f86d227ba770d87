/*-------------------------------------------------------------------------
 *
 * trace_context.c
 *	  W3C Trace Context: trace and span ids, and the header traceparent.
 *
 * The recommendation is "Trace Context" of the W3C, section 3.2.  A run has a
 * random trace id and span id.  The span id of a step follows from the run's and
 * the step's number, one to one, so that a step is found again by the span id
 * that another system sends back, without an index over span ids.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <inttypes.h>

#include "args.h"
#include "trace_context.h"

/* An odd number and its inverse modulo 2^64. */
#define SPREAD UINT64CONST(0x9E3779B97F4A7C15)
#define SPREAD_BACK UINT64CONST(0xF1DE83E19937733D)

static bool
is_hex(const char *text, int len)
{
	return strspn(text, "0123456789abcdef") >= (size_t) len;
}

static bool
all_zero(const char *text, int len)
{
	return strspn(text, "0") >= (size_t) len;
}

/*
 * Section 3.2.2: version, trace-id, parent-id and trace-flags in lower case.  Of
 * a version above 00, what follows after another dash is passed over; version
 * ff and ids of zeros are invalid.
 */
bool
trace_parse(const char *header, TraceParent *out)
{
	size_t		len = strlen(header);

	if (len < TRACEPARENT_LEN || !is_hex(header, 2) || header[2] != '-' ||
		!is_hex(header + 3, TRACE_ID_LEN) || header[35] != '-' ||
		!is_hex(header + 36, SPAN_ID_LEN) || header[52] != '-' ||
		!is_hex(header + 53, TRACE_FLAGS_LEN))
		return false;
	if (strncmp(header, "ff", 2) == 0 ||
		all_zero(header + 3, TRACE_ID_LEN) || all_zero(header + 36, SPAN_ID_LEN))
		return false;
	if (len > TRACEPARENT_LEN &&
		(strncmp(header, "00", 2) == 0 || header[TRACEPARENT_LEN] != '-'))
		return false;
	strlcpy(out->trace_id, header + 3, sizeof(out->trace_id));
	strlcpy(out->span_id, header + 36, sizeof(out->span_id));
	strlcpy(out->flags, header + 53, sizeof(out->flags));
	return true;
}

/* The argument traceparent; false for NULL, an error for what is no such header. */
bool
trace_argument(FunctionCallInfo fcinfo, int n, TraceParent *out)
{
	const char *header = args_text(fcinfo, n, "traceparent", ARGS_KEY_LIMIT);

	if (header == NULL)
		return false;
	if (!trace_parse(header, out))
		args_bad_value("traceparent", "A header of W3C Trace Context: 00-<32 hexadecimal digits>-<16 of them>-<2 of them>, in lower case.");
	return true;
}

/* The header to send on, in version 00. */
char *
trace_header(const char *trace_id, const char *span_id, const char *flags)
{
	return psprintf("00-%s-%s-%s", trace_id, span_id, flags);
}

/* A random id of so many hexadecimal digits, not all of them zero. */
void
trace_new_id(char *out, int len)
{
	unsigned char bytes[TRACE_ID_LEN / 2];
	int			i;

	do
	{
		if (!pg_strong_random(bytes, len / 2))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate a random trace id")));
		for (i = 0; i < len / 2; i++)
			sprintf(out + 2 * i, "%02x", bytes[i]);
	} while (all_zero(out, len));
}

static uint64
span_number(const char *span)
{
	return strtou64(span, NULL, 16);
}

void
trace_step_span(const char *run_span, int64 seq, char out[SPAN_ID_LEN + 1])
{
	snprintf(out, SPAN_ID_LEN + 1, "%016" PRIx64,
			 (uint64_t) (span_number(run_span) + (uint64) seq * SPREAD));
}

/* The number of the step that the span would be of; false if there can be none. */
bool
trace_span_step(const char *run_span, const char *span, int64 *seq)
{
	if (strlen(span) != SPAN_ID_LEN || !is_hex(span, SPAN_ID_LEN))
		return false;
	*seq = (int64) ((span_number(span) - span_number(run_span)) * SPREAD_BACK);
	return *seq > 0;
}
