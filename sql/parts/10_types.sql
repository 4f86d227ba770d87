
/*
 * Types: digest and ulid.
 *
 * Their comparison operators live in pg_catalog: an operator is looked up by
 * search_path, and WHERE id = '...' has to work for clients that do not have
 * approval in theirs, as well as under a pinned one.  They are for our own
 * types only and can shadow nothing.
 */
CREATE TYPE approval.digest;
CREATE FUNCTION approval.digest_in(pg_catalog.cstring) RETURNS approval.digest
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_in';
COMMENT ON FUNCTION approval.digest_in(pg_catalog.cstring) IS
'Text form to digest: 64 hexadecimal digits, any case; anything else is an error (22P02). NULL gives NULL.';
CREATE FUNCTION approval.digest_out(approval.digest) RETURNS pg_catalog.cstring
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_out';
COMMENT ON FUNCTION approval.digest_out(approval.digest) IS
'Digest to text form: 64 hexadecimal digits, lower case. NULL gives NULL.';
CREATE FUNCTION approval.digest_recv(pg_catalog.internal) RETURNS approval.digest
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_recv';
COMMENT ON FUNCTION approval.digest_recv(pg_catalog.internal) IS
'Binary form to digest: exactly 32 bytes, otherwise an error (22P03). NULL gives NULL.';
CREATE FUNCTION approval.digest_send(approval.digest) RETURNS pg_catalog.bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_send';
COMMENT ON FUNCTION approval.digest_send(approval.digest) IS
'Digest to binary form: its 32 bytes. NULL gives NULL.';

CREATE TYPE approval.digest (
	INPUT = approval.digest_in,
	OUTPUT = approval.digest_out,
	RECEIVE = approval.digest_recv,
	SEND = approval.digest_send,
	INTERNALLENGTH = 32,
	ALIGNMENT = char,
	STORAGE = plain
);
COMMENT ON TYPE approval.digest IS
'A SHA-256 digest (FIPS 180-4), 32 bytes. Text form: 64 hexadecimal digits, any case in, lower case out; binary form: the 32 bytes. Input errors (22P02, 22P03) do not repeat the value. Converts implicitly from text and varchar.';

CREATE FUNCTION approval.digest_lt(approval.digest, approval.digest) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_lt';
COMMENT ON FUNCTION approval.digest_lt(approval.digest, approval.digest) IS
'Whether the first is less than the second; behind the operator <. NULL gives NULL.';
CREATE FUNCTION approval.digest_le(approval.digest, approval.digest) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_le';
COMMENT ON FUNCTION approval.digest_le(approval.digest, approval.digest) IS
'Whether the first is less than or equal to the second; behind the operator <=. NULL gives NULL.';
CREATE FUNCTION approval.digest_eq(approval.digest, approval.digest) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_eq';
COMMENT ON FUNCTION approval.digest_eq(approval.digest, approval.digest) IS
'Whether the first is equal to the second; behind the operator =. NULL gives NULL.';
CREATE FUNCTION approval.digest_ge(approval.digest, approval.digest) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_ge';
COMMENT ON FUNCTION approval.digest_ge(approval.digest, approval.digest) IS
'Whether the first is greater than or equal to the second; behind the operator >=. NULL gives NULL.';
CREATE FUNCTION approval.digest_gt(approval.digest, approval.digest) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_gt';
COMMENT ON FUNCTION approval.digest_gt(approval.digest, approval.digest) IS
'Whether the first is greater than the second; behind the operator >. NULL gives NULL.';
CREATE FUNCTION approval.digest_ne(approval.digest, approval.digest) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_ne';
COMMENT ON FUNCTION approval.digest_ne(approval.digest, approval.digest) IS
'Whether the first is not equal to the second; behind the operator <>. NULL gives NULL.';
CREATE FUNCTION approval.digest_cmp(approval.digest, approval.digest) RETURNS pg_catalog.int4
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_cmp';
COMMENT ON FUNCTION approval.digest_cmp(approval.digest, approval.digest) IS
'Less than, equal to or greater than 0 as the first sorts before, with or after the second, byte by byte, unsigned; for btree. NULL gives NULL.';
CREATE FUNCTION approval.digest_sortsupport(pg_catalog.internal) RETURNS pg_catalog.void
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_sortsupport';
COMMENT ON FUNCTION approval.digest_sortsupport(pg_catalog.internal) IS
'Sorts without a call per comparison; for btree.';
CREATE FUNCTION approval.digest_hash(approval.digest) RETURNS pg_catalog.int4
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_hash';
COMMENT ON FUNCTION approval.digest_hash(approval.digest) IS
'A 32-bit hash; for hash indexes, joins and aggregates. NULL gives NULL.';
CREATE FUNCTION approval.digest_hash_extended(approval.digest, pg_catalog.int8) RETURNS pg_catalog.int8
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_hash_extended';
COMMENT ON FUNCTION approval.digest_hash_extended(approval.digest, pg_catalog.int8) IS
'A 64-bit hash with a seed; for hash partitions. NULL gives NULL.';

CREATE OPERATOR pg_catalog.< (
	LEFTARG = approval.digest, RIGHTARG = approval.digest, FUNCTION = approval.digest_lt,
	COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
	RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel
);
CREATE OPERATOR pg_catalog.<= (
	LEFTARG = approval.digest, RIGHTARG = approval.digest, FUNCTION = approval.digest_le,
	COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
	RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel
);
CREATE OPERATOR pg_catalog.= (
	LEFTARG = approval.digest, RIGHTARG = approval.digest, FUNCTION = approval.digest_eq,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES
);
CREATE OPERATOR pg_catalog.>= (
	LEFTARG = approval.digest, RIGHTARG = approval.digest, FUNCTION = approval.digest_ge,
	COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
	RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel
);
CREATE OPERATOR pg_catalog.> (
	LEFTARG = approval.digest, RIGHTARG = approval.digest, FUNCTION = approval.digest_gt,
	COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
	RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel
);
CREATE OPERATOR pg_catalog.<> (
	LEFTARG = approval.digest, RIGHTARG = approval.digest, FUNCTION = approval.digest_ne,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel
);
COMMENT ON OPERATOR pg_catalog.< (approval.digest, approval.digest) IS
'Whether a digest is less than another, byte by byte, unsigned. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.<= (approval.digest, approval.digest) IS
'Whether a digest is less than or equal to another, byte by byte, unsigned. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.= (approval.digest, approval.digest) IS
'Whether a digest is equal to another, all bytes compared. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.>= (approval.digest, approval.digest) IS
'Whether a digest is greater than or equal to another, byte by byte, unsigned. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.> (approval.digest, approval.digest) IS
'Whether a digest is greater than another, byte by byte, unsigned. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.<> (approval.digest, approval.digest) IS
'Whether a digest is not equal to another, all bytes compared. NULL gives NULL.';

CREATE OPERATOR CLASS approval.digest_ops DEFAULT FOR TYPE approval.digest USING btree AS
	OPERATOR 1 pg_catalog.<,
	OPERATOR 2 pg_catalog.<=,
	OPERATOR 3 pg_catalog.=,
	OPERATOR 4 pg_catalog.>=,
	OPERATOR 5 pg_catalog.>,
	FUNCTION 1 approval.digest_cmp(approval.digest, approval.digest),
	FUNCTION 2 approval.digest_sortsupport(pg_catalog.internal),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid);
CREATE OPERATOR CLASS approval.digest_ops DEFAULT FOR TYPE approval.digest USING hash AS
	OPERATOR 1 pg_catalog.=,
	FUNCTION 1 approval.digest_hash(approval.digest),
	FUNCTION 2 approval.digest_hash_extended(approval.digest, pg_catalog.int8);
COMMENT ON OPERATOR CLASS approval.digest_ops USING btree IS
'Order of digests, byte by byte, unsigned; the default.';
COMMENT ON OPERATOR CLASS approval.digest_ops USING hash IS
'Hashing of digests; the default.';
COMMENT ON OPERATOR FAMILY approval.digest_ops USING btree IS
'Order of digests, byte by byte, unsigned.';
COMMENT ON OPERATOR FAMILY approval.digest_ops USING hash IS
'Hashing of digests.';

CREATE FUNCTION approval.digest_to_bytea(approval.digest) RETURNS pg_catalog.bytea
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_digest_to_bytea';
COMMENT ON FUNCTION approval.digest_to_bytea(approval.digest) IS
'The 32 bytes of a digest; behind the cast digest::bytea. NULL gives NULL.';
CREATE FUNCTION approval.bytea_to_digest(pg_catalog.bytea) RETURNS approval.digest
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_bytea_to_digest';
COMMENT ON FUNCTION approval.bytea_to_digest(pg_catalog.bytea) IS
'A digest of 32 bytes; behind the cast bytea::approval.digest. NULL gives NULL; any other length is an error (22P03).';

-- Implicit, because JDBC and Npgsql send parameters as varchar or text.
CREATE CAST (pg_catalog.text AS approval.digest) WITH INOUT AS IMPLICIT;
CREATE CAST (pg_catalog.varchar AS approval.digest) WITH INOUT AS IMPLICIT;
CREATE CAST (approval.digest AS pg_catalog.text) WITH INOUT AS ASSIGNMENT;
CREATE CAST (approval.digest AS pg_catalog.bytea) WITH FUNCTION approval.digest_to_bytea(approval.digest);
CREATE CAST (pg_catalog.bytea AS approval.digest) WITH FUNCTION approval.bytea_to_digest(pg_catalog.bytea);
COMMENT ON CAST (pg_catalog.text AS approval.digest) IS
'Implicit: 64 hexadecimal digits, any case; anything else is an error (22P02). NULL gives NULL.';
COMMENT ON CAST (pg_catalog.varchar AS approval.digest) IS
'Implicit: 64 hexadecimal digits, any case; anything else is an error (22P02). NULL gives NULL.';
COMMENT ON CAST (approval.digest AS pg_catalog.text) IS
'On assignment: 64 hexadecimal digits, lower case. NULL gives NULL.';
COMMENT ON CAST (approval.digest AS pg_catalog.bytea) IS
'Explicit: the 32 bytes. NULL gives NULL.';
COMMENT ON CAST (pg_catalog.bytea AS approval.digest) IS
'Explicit: 32 bytes; any other length is an error (22P03). NULL gives NULL.';

CREATE TYPE approval.ulid;
CREATE FUNCTION approval.ulid_in(pg_catalog.cstring) RETURNS approval.ulid
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_in';
COMMENT ON FUNCTION approval.ulid_in(pg_catalog.cstring) IS
'Text form to ulid: 26 characters of Crockford''s base 32 (github.com/ulid/spec), any case; anything else is an error (22P02). NULL gives NULL.';
CREATE FUNCTION approval.ulid_out(approval.ulid) RETURNS pg_catalog.cstring
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_out';
COMMENT ON FUNCTION approval.ulid_out(approval.ulid) IS
'Ulid to text form: 26 characters of Crockford''s base 32 (github.com/ulid/spec), upper case. NULL gives NULL.';
CREATE FUNCTION approval.ulid_recv(pg_catalog.internal) RETURNS approval.ulid
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_recv';
COMMENT ON FUNCTION approval.ulid_recv(pg_catalog.internal) IS
'Binary form to ulid: 16 bytes, as of a uuid. NULL gives NULL.';
CREATE FUNCTION approval.ulid_send(approval.ulid) RETURNS pg_catalog.bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_send';
COMMENT ON FUNCTION approval.ulid_send(approval.ulid) IS
'Ulid to binary form: its 16 bytes, as of a uuid. NULL gives NULL.';

CREATE TYPE approval.ulid (
	INPUT = approval.ulid_in,
	OUTPUT = approval.ulid_out,
	RECEIVE = approval.ulid_recv,
	SEND = approval.ulid_send,
	INTERNALLENGTH = 16,
	ALIGNMENT = char,
	STORAGE = plain
);
COMMENT ON TYPE approval.ulid IS
'An identifier that sorts by the millisecond it was made in (github.com/ulid/spec), 16 bytes. Text form: 26 characters of Crockford''s base 32, any case in (I and L read as 1, O as 0), upper case out; binary form: the 16 bytes, as of a uuid. Input errors (22P02) do not repeat the value. Converts implicitly from text and varchar, and to and from uuid and to timestamptz by cast.';

CREATE FUNCTION approval.ulid_lt(approval.ulid, approval.ulid) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_lt';
COMMENT ON FUNCTION approval.ulid_lt(approval.ulid, approval.ulid) IS
'Whether the first is less than the second; behind the operator <. NULL gives NULL.';
CREATE FUNCTION approval.ulid_le(approval.ulid, approval.ulid) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_le';
COMMENT ON FUNCTION approval.ulid_le(approval.ulid, approval.ulid) IS
'Whether the first is less than or equal to the second; behind the operator <=. NULL gives NULL.';
CREATE FUNCTION approval.ulid_eq(approval.ulid, approval.ulid) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_eq';
COMMENT ON FUNCTION approval.ulid_eq(approval.ulid, approval.ulid) IS
'Whether the first is equal to the second; behind the operator =. NULL gives NULL.';
CREATE FUNCTION approval.ulid_ge(approval.ulid, approval.ulid) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_ge';
COMMENT ON FUNCTION approval.ulid_ge(approval.ulid, approval.ulid) IS
'Whether the first is greater than or equal to the second; behind the operator >=. NULL gives NULL.';
CREATE FUNCTION approval.ulid_gt(approval.ulid, approval.ulid) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_gt';
COMMENT ON FUNCTION approval.ulid_gt(approval.ulid, approval.ulid) IS
'Whether the first is greater than the second; behind the operator >. NULL gives NULL.';
CREATE FUNCTION approval.ulid_ne(approval.ulid, approval.ulid) RETURNS pg_catalog.bool
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_ne';
COMMENT ON FUNCTION approval.ulid_ne(approval.ulid, approval.ulid) IS
'Whether the first is not equal to the second; behind the operator <>. NULL gives NULL.';
CREATE FUNCTION approval.ulid_cmp(approval.ulid, approval.ulid) RETURNS pg_catalog.int4
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_cmp';
COMMENT ON FUNCTION approval.ulid_cmp(approval.ulid, approval.ulid) IS
'Less than, equal to or greater than 0 as the first sorts before, with or after the second, by the millisecond of creation, then by the random bits; for btree. NULL gives NULL.';
CREATE FUNCTION approval.ulid_sortsupport(pg_catalog.internal) RETURNS pg_catalog.void
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_sortsupport';
COMMENT ON FUNCTION approval.ulid_sortsupport(pg_catalog.internal) IS
'Sorts without a call per comparison; for btree.';
CREATE FUNCTION approval.ulid_hash(approval.ulid) RETURNS pg_catalog.int4
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_hash';
COMMENT ON FUNCTION approval.ulid_hash(approval.ulid) IS
'A 32-bit hash; for hash indexes, joins and aggregates. NULL gives NULL.';
CREATE FUNCTION approval.ulid_hash_extended(approval.ulid, pg_catalog.int8) RETURNS pg_catalog.int8
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_hash_extended';
COMMENT ON FUNCTION approval.ulid_hash_extended(approval.ulid, pg_catalog.int8) IS
'A 64-bit hash with a seed; for hash partitions. NULL gives NULL.';

CREATE OPERATOR pg_catalog.< (
	LEFTARG = approval.ulid, RIGHTARG = approval.ulid, FUNCTION = approval.ulid_lt,
	COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
	RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel
);
CREATE OPERATOR pg_catalog.<= (
	LEFTARG = approval.ulid, RIGHTARG = approval.ulid, FUNCTION = approval.ulid_le,
	COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
	RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel
);
CREATE OPERATOR pg_catalog.= (
	LEFTARG = approval.ulid, RIGHTARG = approval.ulid, FUNCTION = approval.ulid_eq,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES
);
CREATE OPERATOR pg_catalog.>= (
	LEFTARG = approval.ulid, RIGHTARG = approval.ulid, FUNCTION = approval.ulid_ge,
	COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
	RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel
);
CREATE OPERATOR pg_catalog.> (
	LEFTARG = approval.ulid, RIGHTARG = approval.ulid, FUNCTION = approval.ulid_gt,
	COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
	RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel
);
CREATE OPERATOR pg_catalog.<> (
	LEFTARG = approval.ulid, RIGHTARG = approval.ulid, FUNCTION = approval.ulid_ne,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel
);
COMMENT ON OPERATOR pg_catalog.< (approval.ulid, approval.ulid) IS
'Whether a ulid is less than another, by the millisecond of creation, then by the random bits. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.<= (approval.ulid, approval.ulid) IS
'Whether a ulid is less than or equal to another, by the millisecond of creation, then by the random bits. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.= (approval.ulid, approval.ulid) IS
'Whether a ulid is equal to another, all bytes compared. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.>= (approval.ulid, approval.ulid) IS
'Whether a ulid is greater than or equal to another, by the millisecond of creation, then by the random bits. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.> (approval.ulid, approval.ulid) IS
'Whether a ulid is greater than another, by the millisecond of creation, then by the random bits. NULL gives NULL.';
COMMENT ON OPERATOR pg_catalog.<> (approval.ulid, approval.ulid) IS
'Whether a ulid is not equal to another, all bytes compared. NULL gives NULL.';

CREATE OPERATOR CLASS approval.ulid_ops DEFAULT FOR TYPE approval.ulid USING btree AS
	OPERATOR 1 pg_catalog.<,
	OPERATOR 2 pg_catalog.<=,
	OPERATOR 3 pg_catalog.=,
	OPERATOR 4 pg_catalog.>=,
	OPERATOR 5 pg_catalog.>,
	FUNCTION 1 approval.ulid_cmp(approval.ulid, approval.ulid),
	FUNCTION 2 approval.ulid_sortsupport(pg_catalog.internal),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid);
CREATE OPERATOR CLASS approval.ulid_ops DEFAULT FOR TYPE approval.ulid USING hash AS
	OPERATOR 1 pg_catalog.=,
	FUNCTION 1 approval.ulid_hash(approval.ulid),
	FUNCTION 2 approval.ulid_hash_extended(approval.ulid, pg_catalog.int8);
COMMENT ON OPERATOR CLASS approval.ulid_ops USING btree IS
'Order of ulids, by the millisecond of creation, then by the random bits; the default.';
COMMENT ON OPERATOR CLASS approval.ulid_ops USING hash IS
'Hashing of ulids; the default.';
COMMENT ON OPERATOR FAMILY approval.ulid_ops USING btree IS
'Order of ulids, by the millisecond of creation, then by the random bits.';
COMMENT ON OPERATOR FAMILY approval.ulid_ops USING hash IS
'Hashing of ulids.';

CREATE FUNCTION approval.ulid_to_timestamptz(approval.ulid) RETURNS pg_catalog.timestamptz
	LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_to_timestamptz';
COMMENT ON FUNCTION approval.ulid_to_timestamptz(approval.ulid) IS
'When an identifier was made, in whole milliseconds, by the clock of the server that made it; behind the cast ulid::timestamptz. NULL gives NULL.';

CREATE CAST (pg_catalog.text AS approval.ulid) WITH INOUT AS IMPLICIT;
CREATE CAST (pg_catalog.varchar AS approval.ulid) WITH INOUT AS IMPLICIT;
CREATE CAST (approval.ulid AS pg_catalog.text) WITH INOUT AS ASSIGNMENT;
CREATE CAST (approval.ulid AS pg_catalog.uuid) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (pg_catalog.uuid AS approval.ulid) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (approval.ulid AS pg_catalog.timestamptz) WITH FUNCTION approval.ulid_to_timestamptz(approval.ulid);
COMMENT ON CAST (pg_catalog.text AS approval.ulid) IS
'Implicit: 26 characters of Crockford''s base 32 (github.com/ulid/spec), any case; anything else is an error (22P02). NULL gives NULL.';
COMMENT ON CAST (pg_catalog.varchar AS approval.ulid) IS
'Implicit: 26 characters of Crockford''s base 32 (github.com/ulid/spec), any case; anything else is an error (22P02). NULL gives NULL.';
COMMENT ON CAST (approval.ulid AS pg_catalog.text) IS
'On assignment: 26 characters of Crockford''s base 32 (github.com/ulid/spec), upper case. NULL gives NULL.';
COMMENT ON CAST (approval.ulid AS pg_catalog.uuid) IS
'On assignment: the same 16 bytes; version and variant bits are not those of RFC 9562. NULL gives NULL.';
COMMENT ON CAST (pg_catalog.uuid AS approval.ulid) IS
'On assignment: the same 16 bytes. Only of a uuid that was a ulid, or is of version 7, do they start with a time. NULL gives NULL.';
COMMENT ON CAST (approval.ulid AS pg_catalog.timestamptz) IS
'Explicit: when it was made, in whole milliseconds since 1970, by the clock of the server that made it. NULL gives NULL.';

CREATE FUNCTION approval.new_ulid() RETURNS approval.ulid
	LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'approval_new_ulid';
REVOKE ALL ON FUNCTION approval.new_ulid() FROM PUBLIC;
COMMENT ON FUNCTION approval.new_ulid() IS
'A new identifier, larger than every earlier one of this session, also within one millisecond and after the clock was set back (monotonic ULID, 80 random bits). Never NULL.';

CREATE FUNCTION approval.ulid_from(at pg_catalog.timestamptz) RETURNS approval.ulid
	LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'approval_ulid_from';
REVOKE ALL ON FUNCTION approval.ulid_from(pg_catalog.timestamptz) FROM PUBLIC;
COMMENT ON FUNCTION approval.ulid_from(pg_catalog.timestamptz) IS
'The least identifier that can have been made at that time: id >= approval.ulid_from(at) finds by index what was made since. Required: at (22004 for NULL).';
