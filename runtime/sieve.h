/* Sieve: the positions of a feed's records that meet a condition: those that are not forgotten.
 * Adding and forgetting are one thread's at a time; asking is thread-safe. */
#ifndef FLOW_SIEVE_H
#define FLOW_SIEVE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Sieve Sieve;

Sieve *sieve_new(void); /* NULL: no memory */
void sieve_free(Sieve *sieve);

/* The next position; passes: its record does. False: no memory. */
bool sieve_add(Sieve *sieve, bool passes);

int64_t sieve_seen(Sieve *sieve);  /* positions that were added */
int64_t sieve_count(Sieve *sieve); /* that pass */

/* The position of the passing record with that number. */
int64_t sieve_at(Sieve *sieve, int64_t number);

/* Passing records before this one are not asked for any more. Returns the position that all others
 * stand at or behind. */
int64_t sieve_forget(Sieve *sieve, int64_t before);

#endif
