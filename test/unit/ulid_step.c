/*
 * ulid_step.c
 *	  The generator's step where no clock can be made to go: standing still,
 *	  backwards, and out of random bits.  Prints TAP.
 */
#include "postgres_fe.h"

#undef printf

#include "../../src/ulid.h"

static int	count = 0;
static int	failed = 0;

static void
ok(bool good, const char *what)
{
	if (!good)
		failed++;
	printf("%s %d - ulid_step: %s\n", good ? "ok" : "not ok", ++count, what);
}

static bool
reads(const Ulid *ulid, const char *expected)
{
	char		string[ULID_TEXT_LEN + 1];

	ulid_to_text(ulid, string);
	return strcmp(string, expected) == 0;
}

static void
set(Ulid *ulid, const char *string)
{
	if (!ulid_from_text(string, (int) strlen(string), ulid))
		ok(false, string);
}

static void
test_step(void)
{
	Ulid		ulid;
	Ulid		before;

	memset(&ulid, 0, sizeof(ulid));
	ok(ulid_step(&ulid, 1469918176385), "the first one draws its random part");
	ok(reads(&ulid, "01ARYZ6S410000000000000000"), "and has the time of the specification's example");
	ok(ulid_time(&ulid) == 1469918176385, "which reads back");

	set(&ulid, "01ARYZ6S41TSV4RRFFQ69G5FAV");
	before = ulid;
	ok(!ulid_step(&ulid, 1469918176385), "within one millisecond nothing is drawn");
	ok(reads(&ulid, "01ARYZ6S41TSV4RRFFQ69G5FAW"), "but the random part counts up");
	ok(memcmp(&before, &ulid, ULID_SIZE) < 0, "and sorts behind the last one");
	ok(!ulid_step(&ulid, 1000), "a clock set back draws nothing");
	ok(reads(&ulid, "01ARYZ6S41TSV4RRFFQ69G5FAX"), "it keeps the last time and counts up");
	ok(ulid_step(&ulid, 1469918176386), "a new millisecond draws again");

	set(&ulid, "01ARYZ6S41TSV4RRFFZZZZZZZZ");
	ok(!ulid_step(&ulid, 0) && reads(&ulid, "01ARYZ6S41TSV4RRFG00000000"), "a carry goes through");
	set(&ulid, "01ARYZ6S41ZZZZZZZZZZZZZZZZ");
	before = ulid;
	ok(ulid_step(&ulid, 1469918176385), "a full random part is drawn again");
	ok(ulid_time(&ulid) == 1469918176386, "in the next millisecond");
	ok(memcmp(&before, &ulid, ULID_SIZE) < 0, "and still sorts behind");
}

static void
test_text(void)
{
	static const char *const bad[] = {
		"", "0", "01ARYZ6S41TSV4RRFFQ69G5FA", "01ARYZ6S41TSV4RRFFQ69G5FAVV", "81ARYZ6S41TSV4RRFFQ69G5FAV",
		"U1ARYZ6S41TSV4RRFFQ69G5FAV", "01ARYZ6S41TSV4RRFFQ69G5FA!", "01ARYZ6S41TSV4RRFFQ69G5FA\xff", "01ARYZ6S41-SV4RRFFQ69G5FAV"
	};
	Ulid		ulid;
	size_t		i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!ulid_from_text(bad[i], (int) strlen(bad[i]), &ulid), "a malformed text is refused");
	set(&ulid, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
	ok(ulid.bytes[0] == 0xff && ulid.bytes[15] == 0xff, "the largest one has all bits");
	set(&ulid, "oil0abcdefghjkmnpqrstvwxyz");
	ok(reads(&ulid, "0110ABCDEFGHJKMNPQRSTVWXYZ"), "any case, O as 0, I and L as 1");
}

int
main(void)
{
	test_step();
	test_text();
	printf("1..%d\n", count);
	return failed ? 1 : 0;
}
