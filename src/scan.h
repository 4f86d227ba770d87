/*-------------------------------------------------------------------------
 *
 * scan.h
 *	  Parts of a canonical JSON text, found without parsing it into a tree.
 *
 * Canonical text has no white space and no duplicate keys, and each string has
 * one spelling: a key is found by its bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef APPROVAL_SCAN_H
#define APPROVAL_SCAN_H

typedef struct Slice
{
	const char *text;
	int			len;
} Slice;

/* The members of an object one after the other; "at" starts as NULL. */
typedef struct MemberScan
{
	const char *at;
	Slice		key;			/* with its quotes */
	Slice		value;
} MemberScan;

extern bool scan_member(const Slice *object, MemberScan *scan);
extern bool scan_find(const Slice *object, const Slice *key, Slice *value);
extern bool scan_element(const Slice *array, int index, Slice *value);

#endif							/* APPROVAL_SCAN_H */
