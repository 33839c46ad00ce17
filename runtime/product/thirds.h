/* thirds.h: products of floats by the processor's matrix tiles, where it has them.
 *
 * A float's 24 bits are three times eight: it is the sum of three bf16, its thirds. Of the nine
 * products of the thirds of two floats the six largest are added up, in f32; the others are less
 * than 2^-21 of theirs, and about 2^-24 most often, so that results are about as close as those of
 * products of floats. After Henry, Tang, Heinecke: Leveraging the bfloat16 Artificial Intelligence
 * Datatype For Higher-Precision Computations, IEEE ARITH 2019.
 *
 * Tiles take what is below 2^-126 as zero: floats below 2^-103 lose digits, and so do products
 * below about 2^-102. What is not finite gives what it does in f32; but what is infinite only as a
 * product, or the product of two that are, may be NaN. */
#ifndef FLOW_THIRDS_H
#define FLOW_THIRDS_H

#include "runtime/flow.h"
#include "runtime/product/product.h"

#if defined __AVX512F__
#define FLOW_HAS_THIRDS
FlowMultiply flow_multiply_thirds;

/* Has the processor tiles, and a call rows enough for them? */
static inline int flow_fills_tiles(int64_t rows) {
    return rows >= FLOW_THIRDS_FEWEST && FLOW_HALF_MEANS == FLOW_HALF_tiles;
}
#endif

#endif
