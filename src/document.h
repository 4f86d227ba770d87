/*-------------------------------------------------------------------------
 *
 * document.h
 *	  Members of a JSON document that an administrator wrote, checked.
 *
 * Each function is false, with a problem, for a member of another type or
 * outside its limits; a member that is absent or null leaves *out as it is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_DOCUMENT_H
#define APPROVAL_DOCUMENT_H

#include "utils/jsonb.h"

#include "canonical.h"

/* Where a document is not acceptable, and why. */
typedef struct Problem
{
	const char *place;			/* $.rules[1].condition */
	const char *problem;
} Problem;

typedef struct Names
{
	int			count;
	char	  **names;
} Names;

extern Jsonb *document_read(const text *json, char **canonical, CanonicalError *error);
extern Jsonb *document_loose(const text *json);
extern bool document_problem(Problem *problem, const char *place, const char *text);
extern char *document_place(const char *parent, const char *member);
extern JsonbValue *document_member(JsonbContainer *object, const char *name);
extern bool document_known(JsonbContainer *object, const char *const *names, int count,
						   const char *place, Problem *problem);
extern bool document_text(JsonbContainer *object, const char *name, const char *place,
						  int limit, const char **out, Problem *problem);
extern bool document_word(JsonbContainer *object, const char *name, const char *place,
						  const char *words, const char **out, Problem *problem);
extern bool document_int(JsonbContainer *object, const char *name, const char *place,
						 int least, int most, int *out, Problem *problem);
extern bool document_bool(JsonbContainer *object, const char *name, const char *place,
						  bool *out, Problem *problem);
extern bool document_span(JsonbContainer *object, const char *name, const char *place,
						  int64 *out, Problem *problem);
extern bool document_names(JsonbContainer *object, const char *name, const char *place,
						   Names *out, Problem *problem);
extern bool document_names_has(const Names *names, const char *name);
extern bool document_container(JsonbContainer *object, const char *name, const char *place,
							   bool array, JsonbContainer **out, Problem *problem);

#endif							/* APPROVAL_DOCUMENT_H */
