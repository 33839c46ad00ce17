/* Fifo: what is written to may be a FIFO that nobody reads yet; a signal ends the wait for its
 * reader. */
#ifndef FLOW_FIFO_H
#define FLOW_FIFO_H

/* As open, for O_WRONLY and more flags; -1 with EINTR: the run is asked to stop. */
int fifo_open(const char *path, int flags);

#endif
