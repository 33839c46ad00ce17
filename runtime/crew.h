/* Crew: work that every processor takes part in while a pipeline is opened. */
#ifndef FLOW_CREW_H
#define FLOW_CREW_H

#include <stdint.h>

/* Runs `work` on as many threads as there are processors, `most` at most: the caller is one of
 * them. Who comes takes what is left, so it does not matter how many there are. */
void crew_run(void *(*work)(void *), void *argument, int64_t most);

#endif
