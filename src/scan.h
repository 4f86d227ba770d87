/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Finding the way in canonical JSON text, without reading it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SCAN_H
#define APPROVAL_SCAN_H

/* A member of an object, where it stands; the key with its quotes. */
typedef struct MemberText
{
	const char *key;
	int			key_len;
	const char *value;
	int			value_len;
} MemberText;

extern const char *scan_string(const char *p, const char *end);
extern const char *scan_value(const char *p, const char *end);
extern bool scan_member(const char **next, const char *end, MemberText *member);

#endif							/* APPROVAL_SCAN_H */
