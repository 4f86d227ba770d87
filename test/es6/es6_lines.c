/*
 * es6_lines.c
 *	  The public ES6 number file, made with number.c and hashed as it grows.
 *
 * usage: es6_lines LINES static_u64.txt        prints "lines sha256" at every
 *                                              power of ten reached
 *        es6_lines LINES static_u64.txt print  prints the lines themselves
 *
 * Each text is also read back, which must give the same bits.
 */
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/number.h"

#define CONSECUTIVE_FIRST UINT64_C(0x0010000000000000)
#define CONSECUTIVE_COUNT 2000

static EVP_MD_CTX * whole;
static bool printing;
static long lines;

static void
fail(const char *why)
{
	fprintf(stderr, "es6_lines: %s\n", why);
	exit(2);
}

static void
report(void)
{
	EVP_MD_CTX *copy = EVP_MD_CTX_new();
	unsigned char digest[32];
	int			i;

	EVP_MD_CTX_copy_ex(copy, whole);
	EVP_DigestFinal_ex(copy, digest, NULL);
	EVP_MD_CTX_free(copy);
	printf("%ld ", lines);
	for (i = 0; i < 32; i++)
		printf("%02x", digest[i]);
	printf("\n");
	fflush(stdout);
}

static void
one_line(uint64_t bits)
{
	char		string[NUMBER_TEXT_SIZE];
	char		line[64];
	double		value;
	double		back;
	int			len;
	long		power = 1;

	memcpy(&value, &bits, sizeof(value));
	len = number_to_text(value, string);
	if (!number_of_text(string, len, &back) ||
		(value == 0 ? back != 0 : memcmp(&value, &back, sizeof(value)) != 0))
	{
		fprintf(stderr, "%llx does not survive %s\n", (unsigned long long) bits, string);
		exit(1);
	}
	len = snprintf(line, sizeof(line), "%llx,%s\n", (unsigned long long) bits, string);
	lines++;
	if (printing)
	{
		fwrite(line, 1, len, stdout);
		return;
	}
	EVP_DigestUpdate(whole, line, len);
	while (power < lines)
		power *= 10;
	if (power == lines && lines >= 1000)
		report();
}

static void
random_lines(long want)
{
	unsigned char block[32] = {0};
	int			i;

	while (lines < want)
	{
		EVP_Digest(block, sizeof(block), block, NULL, EVP_sha256(), NULL);
		for (i = 0; i < 32 && lines < want; i += 8)
		{
			uint64_t	bits = 0;
			int			j;

			for (j = 7; j >= 0; j--)
				bits = bits << 8 | block[i + j];
			if (bits != 0 && ((bits >> 52) & 0x7ff) != 0x7ff)
				one_line(bits);
		}
	}
}

int
main(int argc, char **argv)
{
	long		want;
	FILE	   *file;
	unsigned long long bits;
	int			i;

	if (argc < 3)
		fail("usage: es6_lines LINES static_u64.txt [print]");
	want = atol(argv[1]);
	printing = argc > 3;
	file = fopen(argv[2], "r");
	if (file == NULL)
		fail("cannot open the list of fixed patterns");
	whole = EVP_MD_CTX_new();
	EVP_DigestInit_ex(whole, EVP_sha256(), NULL);
	while (lines < want && fscanf(file, "%llx", &bits) == 1)
		one_line(bits);
	fclose(file);
	for (i = 0; i < CONSECUTIVE_COUNT && lines < want; i++)
		one_line(CONSECUTIVE_FIRST + i);
	random_lines(want);
	return 0;
}
