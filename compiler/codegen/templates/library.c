/* library.c: how an instance of a deployed library is made and ended. LIBRARY_HANDLE,
 * LIBRARY_CREATE and LIBRARY_DESTROY are its public names, LIBRARY_GUEST what opens GPUs. */
#ifndef LIBRARY_HANDLE
typedef struct Example Example;
#define LIBRARY_HANDLE Example
#define LIBRARY_CREATE example_create
#define LIBRARY_DESTROY example_destroy
#define LIBRARY_GUEST NULL
LIBRARY_HANDLE *LIBRARY_CREATE(const char *weights, char *message, __SIZE_TYPE__ size);
void LIBRARY_DESTROY(LIBRARY_HANDLE *instance);
#endif

#include "flow.h"

const FlowProgram *flow_dispatch(void); /* dispatch.c */

LIBRARY_HANDLE *LIBRARY_CREATE(const char *weights, char *message, size_t size) {
    FlowLibrary *library;
    FlowStatus status = flow_library_create(flow_dispatch(), LIBRARY_GUEST, weights, &library);
    if (status.exit == FLOW_EXIT_ok) return (LIBRARY_HANDLE *)library;
    if (message && size) {
        size_t length = __builtin_strlen(status.text);
        if (length >= size) length = size - 1;
        __builtin_memcpy(message, status.text, length);
        message[length] = 0;
    }
    return NULL;
}

void LIBRARY_DESTROY(LIBRARY_HANDLE *instance) {
    flow_library_destroy((FlowLibrary *)instance);
}
