/*
 * fixed_type.h
 *	  What the fixed-size types (digest, ulid) have in common: bytes that
 *	  compare as memcmp says, and input functions that do not echo the value.
 */
#ifndef APPROVAL_FIXED_TYPE_H
#define APPROVAL_FIXED_TYPE_H

#include "common/hashfn.h"
#include "utils/sortsupport.h"

#include "compat.h"


/* Without the value: it may be a secret, or hold a phrase that somebody matches. */
#define FIXED_TYPE_BAD_INPUT(type) \
	(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), \
	 errmsg("invalid input syntax for type %s", type))

#define FIXED_TYPE_COMPARISON(type, size, name, operator) \
PG_FUNCTION_INFO_V1(approval_##type##_##name); \
Datum \
approval_##type##_##name(PG_FUNCTION_ARGS) \
{ \
	PG_RETURN_BOOL(memcmp(PG_GETARG_POINTER(0), PG_GETARG_POINTER(1), size) operator 0); \
}

/* The functions behind the btree and hash operator classes of a type. */
#define FIXED_TYPE_OPERATORS(type, size) \
FIXED_TYPE_COMPARISON(type, size, lt, <) \
FIXED_TYPE_COMPARISON(type, size, le, <=) \
FIXED_TYPE_COMPARISON(type, size, eq, ==) \
FIXED_TYPE_COMPARISON(type, size, ge, >=) \
FIXED_TYPE_COMPARISON(type, size, gt, >) \
FIXED_TYPE_COMPARISON(type, size, ne, !=) \
\
PG_FUNCTION_INFO_V1(approval_##type##_cmp); \
Datum \
approval_##type##_cmp(PG_FUNCTION_ARGS) \
{ \
	int			order = memcmp(PG_GETARG_POINTER(0), PG_GETARG_POINTER(1), size); \
\
	PG_RETURN_INT32(order < 0 ? -1 : order > 0); \
} \
\
static int \
type##_sort_compare(Datum a, Datum b, SortSupport support) \
{ \
	(void) support; \
	return memcmp(DatumGetPointer(a), DatumGetPointer(b), size); \
} \
\
PG_FUNCTION_INFO_V1(approval_##type##_sortsupport); \
Datum \
approval_##type##_sortsupport(PG_FUNCTION_ARGS) \
{ \
	((SortSupport) PG_GETARG_POINTER(0))->comparator = type##_sort_compare; \
	PG_RETURN_VOID(); \
} \
\
PG_FUNCTION_INFO_V1(approval_##type##_hash); \
Datum \
approval_##type##_hash(PG_FUNCTION_ARGS) \
{ \
	return hash_any((unsigned char *) PG_GETARG_POINTER(0), size); \
} \
\
PG_FUNCTION_INFO_V1(approval_##type##_hash_extended); \
Datum \
approval_##type##_hash_extended(PG_FUNCTION_ARGS) \
{ \
	return hash_any_extended((unsigned char *) PG_GETARG_POINTER(0), size, \
							 PG_GETARG_INT64(1)); \
}

#endif							/* APPROVAL_FIXED_TYPE_H */
