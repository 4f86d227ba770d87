/*
 * ulid.h
 *	  Identifiers that sort by the time they were made: the ULID specification
 *	  (github.com/ulid/spec), 48 bits of milliseconds since 1970 and 80 random
 *	  ones, the most significant byte first, laid out as a uuid is.
 */
#ifndef APPROVAL_ULID_H
#define APPROVAL_ULID_H

#define ULID_SIZE 16
#define ULID_TIME_SIZE 6
#define ULID_TEXT_LEN 26
#define ULID_LAST_TIME (((uint64) 1 << 48) - 1)

typedef struct Ulid
{
	uint8		bytes[ULID_SIZE];
} Ulid;

#define DatumGetUlidP(datum) ((Ulid *) DatumGetPointer(datum))
#define UlidPGetDatum(ulid) PointerGetDatum(ulid)
#define PG_GETARG_ULID_P(n) DatumGetUlidP(PG_GETARG_DATUM(n))
#define PG_RETURN_ULID_P(ulid) return UlidPGetDatum(ulid)

extern void ulid_generate(Ulid *out);
extern void ulid_floor(int64 milliseconds, Ulid *out);

/* ulid_step.c: free of the backend, so that test/unit can link it alone */
extern bool ulid_step(Ulid *ulid, uint64 now);
extern uint64 ulid_time(const Ulid *ulid);
extern void ulid_to_text(const Ulid *ulid, char string[ULID_TEXT_LEN + 1]);
extern bool ulid_from_text(const char *string, int len, Ulid *out);

#endif							/* APPROVAL_ULID_H */
