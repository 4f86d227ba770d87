/*-------------------------------------------------------------------------
 *
 * template.h
 *	  An administrator's sentence over the arguments of a tool.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_TEMPLATE_H
#define APPROVAL_TEMPLATE_H

#include "lib/stringinfo.h"

#include "scan.h"

typedef struct Template Template;

extern Template *template_parse(const char *text, const char **problem);
extern bool template_sound(const char *text, const char **problem);
extern void template_render(const Template *template, const Slice *arguments, StringInfo out);
extern bool template_shows(const Template *template, const Slice *key);

#endif							/* APPROVAL_TEMPLATE_H */
