/* Peak: what the arithmetic of this machine can do. */
#ifndef FLOW_PEAK_H
#define FLOW_PEAK_H

/* Operations a second, f32, of so many threads that multiply and add in registers, with the widest
 * vectors that processors.h knows: measured, in about 50 ms. */
double peak_operations(int threads);

#endif
