/*-------------------------------------------------------------------------
 *
 * trace_context.h
 *	  W3C Trace Context: trace and span ids, and the header traceparent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_TRACE_CONTEXT_H
#define APPROVAL_TRACE_CONTEXT_H

#include "fmgr.h"

#define TRACE_ID_LEN 32
#define SPAN_ID_LEN 16
#define TRACE_FLAGS_LEN 2
#define TRACEPARENT_LEN 55

typedef struct TraceParent
{
	char		trace_id[TRACE_ID_LEN + 1];
	char		span_id[SPAN_ID_LEN + 1];
	char		flags[TRACE_FLAGS_LEN + 1];
} TraceParent;

extern bool trace_argument(FunctionCallInfo fcinfo, int n, TraceParent *out);
extern bool trace_parse(const char *header, TraceParent *out);
extern char *trace_header(const char *trace_id, const char *span_id, const char *flags);
extern void trace_new_id(char *out, int len);
extern void trace_step_span(const char *run_span, int64 seq, char out[SPAN_ID_LEN + 1]);
extern bool trace_span_step(const char *run_span, const char *span, int64 *seq);

#endif							/* APPROVAL_TRACE_CONTEXT_H */
