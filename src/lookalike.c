/*-------------------------------------------------------------------------
 *
 * lookalike.c
 *	  Keys of one object that a person cannot tell apart.
 *
 * "amount" beside "Amount": the reader sees one, the tool may take the other.
 * Keys are compared after NFC and full case folding (upper, then lower, by
 * ICU's root collation), without invisible characters.  On a server without
 * ICU a key that is not ASCII counts as a look-alike of any other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/unicode_norm.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/formatting.h"

#include "lookalike.h"
#include "visible.h"

/* One key as it compares. */
typedef struct Folded
{
	char	   *text;
	int			len;
} Folded;

/* The keys of one object, gathered. */
typedef struct Keys
{
	Folded	   *keys;
	int			count;
	int			room;
	bool		unsure;			/* one of them could not be folded */
} Keys;

static bool object_has(JsonbContainer *object);

static bool
is_ascii(const char *text, int len)
{
	int			i;

	for (i = 0; i < len; i++)
		if (IS_HIGHBIT_SET(text[i]) || (unsigned char) text[i] < 0x20 || text[i] == 0x7F)
			return false;
	return true;
}

static char *
fold_ascii(const char *text, int len)
{
	char	   *folded = palloc(len + 1);
	int			i;

	for (i = 0; i < len; i++)
		folded[i] = pg_ascii_tolower((unsigned char) text[i]);
	folded[len] = '\0';
	return folded;
}

/* NFC, with what cannot be seen left out. */
static char *
normalize(const char *text, int len)
{
	pg_wchar   *in = palloc(sizeof(pg_wchar) * (len + 1));
	pg_wchar   *normal;
	char	   *out;
	int			count = 0;
	int			i;

	for (i = 0; i < len; i += pg_utf_mblen((const unsigned char *) text + i))
	{
		pg_wchar	c = utf8_to_unicode((const unsigned char *) text + i);

		if (!visible_not(c))
			in[count++] = c;
	}
	in[count] = 0;
	normal = unicode_normalize(UNICODE_NFC, in);
	for (count = 0; normal[count]; count++)
		 /* its length */ ;
	out = palloc(count * MAX_MULTIBYTE_CHAR_LEN + 1);
	len = 0;
	for (i = 0; i < count; i++)
	{
		unicode_to_utf8(normal[i], (unsigned char *) out + len);
		len += pg_utf_mblen((const unsigned char *) out + len);
	}
	out[len] = '\0';
	return out;
}

/* The root collation of ICU, or InvalidOid. */
static Oid
root_collation(void)
{
	return get_collation_oid(list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup("und-x-icu"))), true);
}

/* NULL if this server cannot fold it. */
static char *
fold(const char *text, int len)
{
	Oid			collation;
	char	   *folded;

	if (is_ascii(text, len))
		return fold_ascii(text, len);
	collation = root_collation();
	if (!OidIsValid(collation))
		return NULL;
	folded = normalize(text, len);
	folded = str_toupper(folded, strlen(folded), collation);
	folded = str_tolower(folded, strlen(folded), collation);
	return normalize(folded, strlen(folded));
}

static void
add_key(Keys *keys, const JsonbValue *key)
{
	Folded	   *folded;

	if (keys->count == keys->room)
	{
		keys->room *= 2;
		keys->keys = repalloc(keys->keys, sizeof(Folded) * keys->room);
	}
	folded = &keys->keys[keys->count++];
	folded->text = fold(key->val.string.val, key->val.string.len);
	if (folded->text == NULL)
	{
		keys->unsure = true;
		folded->text = pnstrdup(key->val.string.val, key->val.string.len);
	}
	folded->len = strlen(folded->text);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(((const Folded *) a)->text, ((const Folded *) b)->text);
}

static bool
two_alike(Keys *keys)
{
	int			i;

	if (keys->count < 2)
		return false;
	if (keys->unsure)
		return true;
	qsort(keys->keys, keys->count, sizeof(Folded), compare);
	for (i = 1; i < keys->count; i++)
		if (compare(&keys->keys[i - 1], &keys->keys[i]) == 0)
			return true;
	return false;
}

static bool
container_has(const JsonbValue *value)
{
	JsonbContainer *container;
	uint32		i;

	if (value->type != jbvBinary)
		return false;
	container = value->val.binary.data;
	check_stack_depth();
	if (JsonContainerIsObject(container))
		return object_has(container);
	for (i = 0; i < JsonContainerSize(container); i++)
	{
		JsonbValue *element = getIthJsonbValueFromContainer(container, i);
		bool		has = container_has(element);

		CHECK_FOR_INTERRUPTS();
		pfree(element);
		if (has)
			return true;
	}
	return false;
}

static bool
object_has(JsonbContainer *object)
{
	JsonbIterator *it = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue	value;
	Keys		keys = {0};

	keys.room = Max((int) JsonContainerSize(object), 1);
	keys.keys = palloc(sizeof(Folded) * keys.room);
	while ((token = JsonbIteratorNext(&it, &value, true)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (token == WJB_KEY)
			add_key(&keys, &value);
		else if (token == WJB_VALUE && container_has(&value))
			return true;
	}
	return two_alike(&keys);
}

/* Whether any object in the arguments has two keys that look alike. */
bool
lookalike_keys(Jsonb *arguments)
{
	return object_has(&arguments->root);
}
