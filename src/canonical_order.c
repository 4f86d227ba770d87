/*
 * canonical_order.c
 *	  Members of objects in the order of RFC 8785: by the UTF-16 code units of
 *	  their keys.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "canonical_private.h"

/* Up to here insertion beats merging. */
#define FEW 12

/* Keep the first bytes of a key as a number that compares as they do. */
void
member_set_key(const Canonical *state, Member *member)
{
	uint64		word;

	/* there is always room behind the text, so this reads nobody else's */
	memcpy(&word, canonical_text(state, member->start) + 1, sizeof(word));
	word = pg_ntoh64(word);
	if (member->key_len < 8)
		word = member->key_len == 0 ? 0 :
			word & ~(PG_UINT64_MAX >> (8 * member->key_len));
	member->prefix = word;
}

/* The character behind an escape that canonical_string.c wrote. */
static int
unescape(const char *p, int *len)
{
	static const char letters[] = "btnfr";
	static const char controls[] = "\b\t\n\f\r";
	const char *found;

	if (p[1] == 'u')
	{
		*len = 6;
		return (p[4] - '0') * 16 + (p[5] <= '9' ? p[5] - '0' : p[5] - 'a' + 10);
	}
	*len = 2;
	found = strchr(letters, p[1]);
	return found != NULL ? controls[found - letters] : p[1];
}

/*
 * A number for a byte that sorts as UTF-16 does.  Comparing UTF-8 byte by byte
 * is right but for the characters beyond U+FFFF, whose surrogates (U+D800 and
 * up) come before U+E000 .. U+FFFF.
 */
static inline int
utf16_rank(unsigned char c)
{
	if (c >= 0xf0)
		return c - 2;
	if (c >= 0xee)
		return c + 5;
	return c;
}

static int
byte_rank(const char *p, int *len)
{
	if (*p == '\\')
		return unescape(p, len);
	*len = 1;
	return utf16_rank((unsigned char) *p);
}

static int
compare_unusual(const char *a, const char *a_end, const char *b, const char *b_end)
{
	int			a_len;
	int			b_len;

	while (a < a_end && b < b_end)
	{
		int			a_rank = byte_rank(a, &a_len);
		int			b_rank = byte_rank(b, &b_len);

		if (a_rank != b_rank)
			return a_rank < b_rank ? -1 : 1;
		a += a_len;
		b += b_len;
	}
	if (a < a_end)
		return 1;
	return b < b_end ? -1 : 0;
}

/* The order of two keys. */
int
member_compare(const Canonical *state, const Member *a, const Member *b)
{
	const char *a_key = canonical_text(state, a->start) + 1;
	const char *b_key = canonical_text(state, b->start) + 1;
	int			order;

	if (a->unusual || b->unusual)
		return compare_unusual(a_key, a_key + a->key_len, b_key, b_key + b->key_len);
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	order = memcmp(a_key, b_key, Min(a->key_len, b->key_len));
	if (order != 0)
		return order;
	return a->key_len < b->key_len ? -1 : a->key_len > b->key_len;
}

/* The same for keys without escapes, as jsonb has them. */
int
canonical_compare_keys(const char *a, int a_len, const char *b, int b_len)
{
	int			common = Min(a_len, b_len);
	int			i = 0;

	while (i < common && a[i] == b[i])
		i++;
	if (i == common)
		return a_len - b_len;
	return utf16_rank((unsigned char) a[i]) - utf16_rank((unsigned char) b[i]);
}

static void
sort_few(const Canonical *state, Member *members, int count)
{
	int			i;

	for (i = 1; i < count; i++)
	{
		Member		moving = members[i];
		int			j = i;

		for (; j > 0 && member_compare(state, &members[j - 1], &moving) > 0; j--)
			members[j] = members[j - 1];
		members[j] = moving;
	}
}

/*
 * Merge sort, because the keys are somebody else's: quicksort has inputs that
 * make it quadratic.  "spare" has room for half of the members.
 */
static void
sort_many(const Canonical *state, Member *members, int count, Member *spare)
{
	int			half = count / 2;
	int			i = 0;
	int			j = half;
	int			k = 0;

	if (count <= FEW)
	{
		sort_few(state, members, count);
		return;
	}
	CHECK_FOR_INTERRUPTS();
	sort_many(state, members, half, spare);
	sort_many(state, members + half, count - half, spare);
	memcpy(spare, members, half * sizeof(Member));
	while (i < half && j < count)
	{
		if (member_compare(state, &spare[i], &members[j]) <= 0)
			members[k++] = spare[i++];
		else
			members[k++] = members[j++];
	}
	memcpy(&members[k], &spare[i], (half - i) * sizeof(Member));
}

/* Sort members; NULL, or one whose key is there twice. */
const Member *
members_sort(const Canonical *state, Member *members, int count)
{
	int			i;

	if (count <= FEW)
		sort_few(state, members, count);
	else
	{
		Member	   *spare = MemoryContextAllocHuge(CurrentMemoryContext,
												   (Size) (count / 2) * sizeof(Member));

		sort_many(state, members, count, spare);
		pfree(spare);
	}
	for (i = 1; i < count; i++)
	{
		if (member_compare(state, &members[i - 1], &members[i]) == 0)
			return &members[i];
	}
	return NULL;
}

/* An array, new or larger, with room for "need" elements, doubled each time. */
void *
canonical_grow(void *array, int *room, int need, Size element)
{
	while (*room < need)
		*room = Max(*room * 2, 16);
	if (array == NULL)
		return MemoryContextAllocHuge(CurrentMemoryContext, *room * element);
	return repalloc_huge(array, *room * element);
}

/* Remember that the object whose sorted members are on top has to be redone. */
void
shuffle_note(Canonical *state, int first_member, int first_shuffle)
{
	int			count = state->member_count - first_member;
	int			need = state->sorted_count + count;
	Shuffle    *shuffle;
	int			i;

	if (need > state->sorted_room)
		state->sorted = canonical_grow(state->sorted, &state->sorted_room, need, sizeof(Member));
	if (state->shuffle_count == state->shuffle_room)
		state->shuffles = canonical_grow(state->shuffles, &state->shuffle_room,
										 state->shuffle_count + 1, sizeof(Shuffle));
	shuffle = &state->shuffles[state->shuffle_count++];
	shuffle->end = canonical_offset(state);
	shuffle->start = shuffle->end;
	shuffle->first_shuffle = first_shuffle;
	shuffle->first_member = state->sorted_count;
	shuffle->members = count;
	memcpy(state->sorted + state->sorted_count, state->members + first_member,
		   count * sizeof(Member));
	state->sorted_count = need;
	for (i = 0; i < count; i++)
		shuffle->start = Min(shuffle->start, state->sorted[shuffle->first_member + i].start);
}

static inline char *
copy_back(char *to, const char *from, int32 len)
{
	to -= len;
	memcpy(to, from, len);
	return to;
}

/*
 * Write source[start, end) with its shuffles [first, last) so that it ends at
 * "to"; returns where it begins.  From the back, because the last shuffle of a
 * range is the one that contains, or follows, all the others.  Every byte is
 * copied once, however deep the objects are nested.
 */
static char *
copy_shuffled(const Canonical *state, const char *source, int32 start, int32 end,
			  int32 first, int32 last, char *to)
{
	check_stack_depth();
	while (last > first)
	{
		const Shuffle *shuffle = &state->shuffles[last - 1];
		const Member *members = &state->sorted[shuffle->first_member];
		int			i;

		to = copy_back(to, source + shuffle->end, end - shuffle->end);
		for (i = shuffle->members - 1; i >= 0; i--)
		{
			to = copy_shuffled(state, source, members[i].start, members[i].end,
							   members[i].first_shuffle, members[i].last_shuffle, to);
			if (i > 0)
				*--to = ',';
		}
		end = shuffle->start;
		last = shuffle->first_shuffle;
	}
	return copy_back(to, source + start, end - start);
}

/* Put all objects into their order; the text has the same length after it. */
void
shuffles_apply(Canonical *state)
{
	StringInfo	out = state->out;
	int32		len = out->len - state->base;
	char	   *source = palloc(len);

	memcpy(source, canonical_text(state, 0), len);
	copy_shuffled(state, source, 0, len, 0, state->shuffle_count, out->data + out->len);
	pfree(source);
}
