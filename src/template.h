/*-------------------------------------------------------------------------
 *
 * template.h
 *	  Sentences that an administrator writes, with arguments in them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_TEMPLATE_H
#define APPROVAL_TEMPLATE_H

#include "lib/stringinfo.h"

#include "scan.h"

typedef struct Template Template;

extern bool template_sound(const char *template, const char **problem);
extern Template *template_read(const char *text, const char **problem);
extern bool template_take(Template *template, const MemberText *member);
extern void template_append(StringInfo out, const Template *template);

#endif							/* APPROVAL_TEMPLATE_H */
