/*-------------------------------------------------------------------------
 *
 * lookalike.c
 *	  Keys that a person, or a lenient parser, would take for each other.
 *
 * Two keys of one object look alike if they have the same skeleton: what is
 * left of them without characters that cannot be seen, without a difference
 * of case and of Unicode normalization (NFC).
 *
 * Where that cannot be found out (no ICU, a key of absurd length) keys count
 * as alike: who asks wants to be sure that none are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "common/unicode_norm.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "nodes/value.h"
#include "utils/formatting.h"
#include "utils/memutils.h"

#include "lookalike.h"
#include "visible.h"

/* Room for the keys of most objects. */
#define FEW_KEYS 32

/*
 * Bytes, of keys that are not ASCII only: normalization takes time that grows
 * with the square of a run of combining characters, and cannot be interrupted.
 */
#define KEY_LIMIT 255

/* In the text that the walk keeps, which may move. */
typedef struct Skeleton
{
	uint64		hash;
	int			start;
	int			len;
} Skeleton;

typedef struct Walk
{
	StringInfoData text;		/* skeletons of one object */
	Skeleton   *keys;
	int			room;
	uint64		seed;
	MemoryContext scratch;		/* NULL until there is a key to fold */
	Oid			collation;		/* looked up with it; may not exist */
	Skeleton	few_keys[FEW_KEYS];
} Walk;

/*
 * Appends what can be seen of a key, its ASCII letters in lower case.  True if
 * all of that is ASCII.
 */
static bool
append_seen(StringInfo out, const char *key, int len)
{
	const char *end = key + len;
	bool		ascii = true;

	enlargeStringInfo(out, len);
	while (key < end)
	{
		int			width;

		if (*key >= ' ' && *key < 0x7F)
		{
			out->data[out->len++] = *key >= 'A' && *key <= 'Z' ? *key + ('a' - 'A') : *key;
			key++;
			continue;
		}
		width = pg_utf_mblen((const unsigned char *) key);
		if (visible_character(utf8_to_unicode((const unsigned char *) key)))
		{
			appendBinaryStringInfo(out, key, width);
			ascii = false;
		}
		key += width;
	}
	return ascii;
}

static char *
to_nfc(const char *text)
{
	size_t		len = strlen(text);
	pg_wchar   *wide = palloc(sizeof(pg_wchar) * (len + 1));
	pg_wchar   *p = wide;
	StringInfoData out;

	while (*text != '\0')
	{
		*p++ = utf8_to_unicode((const unsigned char *) text);
		text += pg_utf_mblen((const unsigned char *) text);
	}
	*p = 0;
	initStringInfo(&out);
	for (p = unicode_normalize(UNICODE_NFC, wide); *p != 0; p++)
	{
		unsigned char c[MAX_MULTIBYTE_CHAR_LEN];

		unicode_to_utf8(*p, c);
		appendBinaryStringInfo(&out, (char *) c, pg_utf_mblen(c));
	}
	return out.data;
}

/*
 * No case, in the root locale.  Lower case first, for the capital sharp s:
 * only the small one has upper case SS.
 */
static char *
fold_case(const char *text, Oid collation)
{
	text = str_tolower(text, strlen(text), collation);
	text = str_toupper(text, strlen(text), collation);
	return str_tolower(text, strlen(text), collation);
}

/* Makes a skeleton of what can be seen of a key; false if there is no way to. */
static bool
fold(Walk *walk, int start)
{
	MemoryContext caller;
	char	   *folded;

	if (walk->scratch == NULL)
	{
		List	   *name = list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup("und-x-icu")));

		walk->scratch = AllocSetContextCreate(CurrentMemoryContext, "approval keys", ALLOCSET_SMALL_SIZES);
		walk->collation = get_collation_oid(name, true);
	}
	if (!OidIsValid(walk->collation) || walk->text.len - start > KEY_LIMIT)
		return false;
	CHECK_FOR_INTERRUPTS();
	caller = MemoryContextSwitchTo(walk->scratch);
	folded = to_nfc(fold_case(to_nfc(walk->text.data + start), walk->collation));
	MemoryContextSwitchTo(caller);
	walk->text.len = start;
	appendStringInfoString(&walk->text, folded);
	MemoryContextReset(walk->scratch);
	return true;
}

/*
 * By hash first, with a seed that nobody knows: the order of keys could be
 * chosen such that sorting them takes a time that grows with their square.
 */
static int
compare(const void *a, const void *b, void *arg)
{
	const Skeleton *x = a;
	const Skeleton *y = b;
	const Walk *walk = arg;

	CHECK_FOR_INTERRUPTS();
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return memcmp(walk->text.data + x->start, walk->text.data + y->start, x->len);
}

static bool
add_key(Walk *walk, Skeleton *skeleton, const char *key, int len)
{
	skeleton->start = walk->text.len;
	if (!append_seen(&walk->text, key, len))
	{
		walk->text.data[walk->text.len] = '\0';
		if (!fold(walk, skeleton->start))
			return false;
	}
	skeleton->len = walk->text.len - skeleton->start;
	skeleton->hash = hash_bytes_extended((unsigned char *) walk->text.data + skeleton->start,
										 skeleton->len, walk->seed);
	return true;
}

/* Do two keys of this one object look alike? */
static bool
alike(Walk *walk, const JsonbContainer *object, const char *base)
{
	int			count = JsonContainerSize(object);
	uint32		offset = 0;
	int			i;

	if (count > walk->room)
	{
		if (walk->keys != walk->few_keys)
			pfree(walk->keys);
		walk->keys = palloc(sizeof(Skeleton) * count);
		walk->room = count;
	}
	resetStringInfo(&walk->text);
	for (i = 0; i < count; i++)
	{
		const char *key = base + offset;

		CHECK_FOR_INTERRUPTS();
		JBE_ADVANCE_OFFSET(offset, object->children[i]);
		if (!add_key(walk, &walk->keys[i], key, base + offset - key))
			return true;
	}
	qsort_arg(walk->keys, count, sizeof(Skeleton), compare, walk);
	for (i = 1; i < count; i++)
		if (compare(&walk->keys[i - 1], &walk->keys[i], walk) == 0)
			return true;
	return false;
}

/* In an object the keys come first, then as many values. */
static bool
alike_within(Walk *walk, JsonbContainer *container)
{
	int			count = JsonContainerSize(container);
	int			first = JsonContainerIsObject(container) ? count : 0;
	const char *base = (const char *) &container->children[first + count];
	uint32		offset = 0;
	int			i;

	check_stack_depth();
	if (first > 1 && alike(walk, container, base))
		return true;
	for (i = 0; i < first + count; i++)
	{
		JEntry		entry = container->children[i];

		CHECK_FOR_INTERRUPTS();
		if (JBE_ISCONTAINER(entry) &&
			alike_within(walk, (JsonbContainer *) (base + INTALIGN(offset))))
			return true;
		JBE_ADVANCE_OFFSET(offset, entry);
	}
	return false;
}

/* True if in any object, at any depth, two keys look alike. */
bool
lookalike_keys(Jsonb *arguments)
{
	Walk		walk;
	bool		found;

	initStringInfo(&walk.text);
	walk.keys = walk.few_keys;
	walk.room = FEW_KEYS;
	walk.seed = pg_prng_uint64(&pg_global_prng_state);
	walk.scratch = NULL;
	walk.collation = InvalidOid;
	found = alike_within(&walk, &arguments->root);
	pfree(walk.text.data);
	if (walk.keys != walk.few_keys)
		pfree(walk.keys);
	if (walk.scratch != NULL)
		MemoryContextDelete(walk.scratch);
	return found;
}
