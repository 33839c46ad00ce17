/* half.h: how products of bf16 are added up (codegen/templates/half.h). */
#ifndef FLOW_HALF_H
#define FLOW_HALF_H

enum { FLOW_HALF_vectors, FLOW_HALF_pairs, FLOW_HALF_tiles };

/* The best that the processor has and the system lets this process use. Any thread may ask. */
int flow_half_means(void);

#endif
