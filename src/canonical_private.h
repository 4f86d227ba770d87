/*
 * canonical_private.h
 *	  What canonical.c (reading), canonical_string.c and canonical_order.c
 *	  (sorting members) share.
 */
#ifndef APPROVAL_CANONICAL_PRIVATE_H
#define APPROVAL_CANONICAL_PRIVATE_H

#include "canonical.h"

/* Offsets are relative to where the document starts in the output. */
typedef struct Member
{
	uint64		prefix;			/* the first eight bytes of the key, as a
								 * number */
	int32		start;			/* the opening quote of the key */
	int32		key_len;		/* without the quotes */
	int32		end;			/* behind the value */
	int32		first_shuffle;	/* the shuffles [first, last) are in the value */
	int32		last_shuffle;
	bool		unusual;		/* bytes do not compare as UTF-16 does */
} Member;

/* An object whose members were written in another order than the right one. */
typedef struct Shuffle
{
	int32		start;			/* the first key */
	int32		end;			/* the closing brace */
	int32		first_shuffle;	/* [first, itself) are inside */
	int32		first_member;	/* in "sorted" */
	int32		members;
} Shuffle;

/* Where we are: one step for each open container, on the C stack. */
typedef struct PathStep
{
	const struct PathStep *parent;
	int32		key;			/* offset of the key's opening quote, or -1 */
	int32		key_len;
	int32		index;			/* in an array */
} PathStep;

#define FEW_MEMBERS 48

/*
 * One run over one document.  The text is written in source order, straight
 * into the output; objects found to be out of order are noted as shuffles and
 * put right at the end, all of them in one copy.
 *
 * Nothing but a number can be longer in canonical form.  So there is always
 * room for the rest of the input, and only numbers have to ask for more.
 */
typedef struct Canonical
{
	const char *next;			/* of the input */
	const char *end;
	char	   *write;			/* of the output */
	StringInfo	out;
	int			base;			/* where the document starts in the output */
	CanonicalMode mode;
	const char *const *omitted; /* members of the outermost object to leave
								 * out */
	CanonicalError *error;
	const PathStep *path;

	Member	   *members;		/* of all open objects, used as a stack */
	int			member_count;
	int			member_room;
	Shuffle    *shuffles;
	int			shuffle_count;
	int			shuffle_room;
	Member	   *sorted;			/* those of the shuffles */
	int			sorted_count;
	int			sorted_room;
	Member		few_members[FEW_MEMBERS];
} Canonical;

static inline char *
canonical_text(const Canonical *state, int32 offset)
{
	return state->out->data + state->base + offset;
}

static inline int32
canonical_offset(const Canonical *state)
{
	return (int32) (state->write - state->out->data) - state->base;
}

extern bool canonical_refuse(Canonical *state, const char *reason);
extern bool canonical_malformed(void);

/* canonical_string.c */
extern bool canonical_read_string(Canonical *state, bool *unusual);

/* canonical_order.c */
extern void member_set_key(const Canonical *state, Member *member);
extern int	member_compare(const Canonical *state, const Member *a, const Member *b);
extern const Member *members_sort(const Canonical *state, Member *members, int count);
extern void shuffle_note(Canonical *state, int first_member, int first_shuffle);
extern void shuffles_apply(Canonical *state);
extern void *canonical_grow(void *array, int *room, int need, Size element);

/* canonical_path.c */
extern char *canonical_path(const Canonical *state);

#endif							/* APPROVAL_CANONICAL_PRIVATE_H */
