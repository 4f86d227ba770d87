/*-------------------------------------------------------------------------
 *
 * subject.h
 *	  What is decided on: the action, and what a person is shown of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SUBJECT_H
#define APPROVAL_SUBJECT_H

#include "hash.h"
#include "verb.h"

extern bool subject_check_size(Call *call, const char *what, const text *json);
extern char *subject_arguments(Call *call, const text *json, int *len);
extern bool subject_definition(Call *call, const text *json, Digest *out);
extern const char *subject_defined_name(const text *definition);
extern void subject_action(const Request *request, Action *action);
extern void subject_add_to_set(StringInfo set, const Request *request);
extern void subject_bind(Request *request, const Action *action, const char *template);

#endif							/* APPROVAL_SUBJECT_H */
