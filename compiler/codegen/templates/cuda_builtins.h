/* cuda_builtins.h: gcc's names of what kernel.h needs, in CUDA, which has no headers here. */
#ifndef FLOW_CUDA_BUILTINS_H
#define FLOW_CUDA_BUILTINS_H

#define __builtin_memcpy memcpy
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000)
#define __builtin_nanf(text) __int_as_float(0x7fc00000)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000)
#define __builtin_fabsf fabsf
#define __builtin_fabs fabs
#define __builtin_copysignf copysignf
#define __builtin_sqrtf sqrtf
#define __builtin_sqrt sqrt
#define __builtin_floorf floorf
#define __builtin_floor floor
#define __builtin_ceilf ceilf
#define __builtin_ceil ceil
#define __builtin_truncf truncf
#define __builtin_trunc trunc
#define __builtin_rintf rintf
#define __builtin_rint rint
#define __builtin_exp exp
#define __builtin_log log
#define __builtin_tanh tanh
#define __builtin_erf erf
#define __builtin_expm1 expm1
#define __builtin_log1p log1p
#define __builtin_sin sin
#define __builtin_cos cos
#define __builtin_pow pow
#define __builtin_fmod fmod
#define __builtin_fmaxf fmaxf
#endif
