/* Upper: the halves of vector registers above those that SSE has. Where code leaves them in use,
 * each instruction of SSE in what runs next takes a hundred times as long on some processors. */
#ifndef TESTS_CODEGEN_UPPER_H
#define TESTS_CODEGEN_UPPER_H

#include <stdbool.h>

/* Of this thread. False as well where the processor doesn't tell. */
bool upper_halves_are_used(void);

#endif
