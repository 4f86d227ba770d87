-- Numbers as ECMAScript writes them: the trap files and a part of the ES6 file.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT plan(5 + 3 + 20);

-- The double of a bit pattern, from exact factors only.
CREATE FUNCTION pg_temp.double_of(bits bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN bits < 0 THEN -1 ELSE 1 END
	 * ((bits & 4503599627370495) + CASE WHEN biased > 0 THEN 4503599627370496 ELSE 0 END)::float8
	 * power(2::float8, CASE WHEN biased > 1 THEN (biased - 1075) / 2 ELSE -1074 END)
	 * CASE WHEN biased > 1 THEN power(2::float8, biased - 1075 - (biased - 1075) / 2) ELSE 1 END
FROM (SELECT (bits >> 52) & 2047 AS biased) AS exponent $$;
CREATE FUNCTION pg_temp.bits_of(hex text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$SELECT ('x' || lpad(hex, 16, '0'))::bit(64)::bigint$$;

-- PostgreSQL's text of a double reads back as that double, whatever its digits.
SET LOCAL extra_float_digits = 1;
\set appendix_b `cat test/es6/appendix_b.csv`
\set pow2 `cat test/es6/pow2_vectors.csv`
\set float8out `cat test/es6/pg_float8out_digit_mismatch.csv`
\set printf_loop `cat test/es6/printf_loop_mismatch.csv`
CREATE TEMP TABLE number AS
SELECT file, pg_temp.bits_of(split_part(line, ',', 1)) AS bits, split_part(line, ',', 2) AS expected
FROM (VALUES ('appendix B', :'appendix_b'), ('powers of two', :'pow2'), ('float8out', :'float8out'), ('printf loop', :'printf_loop')) AS f(file, content),
	 string_to_table(content, E'\n') AS line
WHERE line ~ '^[0-9a-f]+,-?[0-9]';

SELECT is(string_agg(format('%s: %s', to_hex(bits), got), ' ') FILTER (WHERE got <> expected), NULL,
		  format('%s: all %s numbers', file, count(*)))
FROM (SELECT *, approval.jcs(pg_temp.double_of(bits)::text::json) AS got FROM number) AS n GROUP BY file ORDER BY file;
SELECT is(count(*) FILTER (WHERE approval.canonical(expected::json) <> expected), 0::bigint, 'canonical leaves all of them as they are') FROM number;

-- The first 100,000 lines of the public ES6 file, made in SQL.
\set fixed `cat test/es6/static_u64.txt`
CREATE TEMP TABLE pattern (n bigint GENERATED ALWAYS AS IDENTITY, bits bigint);
INSERT INTO pattern (bits) SELECT pg_temp.bits_of(line) FROM string_to_table(:'fixed', E'\n') WITH ORDINALITY AS f(line, o) WHERE line <> '' ORDER BY o;
INSERT INTO pattern (bits) SELECT pg_temp.bits_of('0010000000000000') + i FROM generate_series(0, 1999) AS i ORDER BY i;
WITH RECURSIVE block (i, bytes) AS (
	SELECT 1, sha256(decode(repeat('00', 32), 'hex'))
	UNION ALL SELECT i + 1, sha256(bytes) FROM block WHERE i < 25000
), word AS (
	-- little-endian, eight bytes each
	SELECT i, w, pg_temp.bits_of((SELECT string_agg(lpad(to_hex(get_byte(bytes, 8 * w + 7 - b)), 2, '0'), '' ORDER BY b)
								  FROM generate_series(0, 7) AS b)) AS bits
	FROM block, generate_series(0, 3) AS w
)
INSERT INTO pattern (bits)
SELECT bits FROM word WHERE bits <> 0 AND (bits >> 52) & 2047 <> 2047 ORDER BY i, w;
CREATE TEMP TABLE line AS
SELECT n, to_hex(bits) || ',' || approval.jcs(pg_temp.double_of(bits)::text::json) || E'\n' AS line FROM pattern WHERE n <= 100000;
SELECT is(encode(sha256(convert_to(string_agg(line, '' ORDER BY n), 'UTF8')), 'hex'), sum, format('SHA-256 of %s ES6 lines', lines))
FROM line, (VALUES (1000, 'be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687'),
				   (10000, 'b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892'),
				   (100000, '22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7')) AS s(lines, sum)
WHERE n <= lines GROUP BY lines, sum ORDER BY lines;

-- Reading: ties, many digits, the ends of the range.
SELECT is(approval.jcs(input::json), expected, 'jcs: ' || left(input, 60)) FROM (VALUES
	('9007199254740993', '9007199254740992'),
	('9007199254740993.0000000000000000000000000000001', '9007199254740994'),
	('9007199254740992.9999999999999999999999999999999', '9007199254740992'),
	('9007199254740995', '9007199254740996'),
	('2.4703282292062327208e-324', '0'),
	('2.47032822920623272088284396434110686182e-324', '0'),
	('2.47032822920623272088284396434110686183e-324', '5e-324'),
	('2.2250738585072011e-308', '2.225073858507201e-308'),
	('2.2250738585072012e-308', '2.2250738585072014e-308'),
	('1.7976931348623157e308', '1.7976931348623157e+308'),
	('1.7976931348623158079e308', '1.7976931348623157e+308'),
	('0.' || repeat('0', 500) || '1e501', '1'),
	('1' || repeat('0', 500) || 'e-500', '1'),
	('1.' || repeat('0', 900) || '1', '1'),
	('1.00000000000000011102230246251565404236316680908203125', '1'),
	('1.00000000000000011102230246251565404236316680908203125' || repeat('0', 900) || '1', '1.0000000000000002'),
	('-0.0e5', '0'),
	('0E+7', '0'),
	('100E-2', '1'),
	('1E+2', '100')
) AS t(input, expected);

SELECT * FROM finish();
ROLLBACK;
