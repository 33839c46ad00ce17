/* Cpus: how many processors this process may use. */
#ifndef FLOW_CPUS_H
#define FLOW_CPUS_H

/* What affinity and control groups left when it was first asked, at least 1. */
int cpus_available(void);

/* The same as it is now, of the calling thread. */
int cpus_now(void);

#endif
