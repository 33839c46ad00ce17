#include "runtime/crew.h"

#include "runtime/cpus.h"

#include <pthread.h>

enum { CREW_LIMIT = 64 };

void crew_run(void *(*work)(void *), void *argument, int64_t most) {
    pthread_t threads[CREW_LIMIT];
    int wanted = cpus_available() - 1, started = 0;
    if (wanted > CREW_LIMIT) wanted = CREW_LIMIT;
    if (wanted >= most) wanted = (int)most - 1;
    while (started < wanted && !pthread_create(&threads[started], NULL, work, argument)) started++;
    work(argument);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}
