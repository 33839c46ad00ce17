/* cuda_overloads.h: the names used in ops.def for C++, where the types of operands choose as C's
 * generics do. Comes after kernel.h. */
#ifdef FLOW_EXACT
#define FLOW_CLOSE_NAME(function) flow_##function##_exact_f32
#else
#define FLOW_CLOSE_NAME(function) flow_##function##_f32
#endif

/* What C makes of a sum of both. */
template <typename A, typename B> struct FlowSum { typedef decltype(A() + B()) type; };

#define FLOW_FLOATING(function, name)                   \
    FLOW_INLINE float flow_name_##function(float a) {   \
        return name(a);                                 \
    }                                                   \
    FLOW_INLINE double flow_name_##function(double a) { \
        return flow_##function##_f64(a);                \
    }
FLOW_FLOATING(exp, FLOW_CLOSE_NAME(exp))
FLOW_FLOATING(log, FLOW_CLOSE_NAME(log))
FLOW_FLOATING(tanh, FLOW_CLOSE_NAME(tanh))
FLOW_FLOATING(rsqrt, FLOW_CLOSE_NAME(rsqrt))
FLOW_FLOATING(erf, FLOW_CLOSE_NAME(erf))
FLOW_FLOATING(expm1, FLOW_CLOSE_NAME(expm1))
FLOW_FLOATING(log1p, FLOW_CLOSE_NAME(log1p))
FLOW_FLOATING(sin, FLOW_CLOSE_NAME(sin))
FLOW_FLOATING(cos, FLOW_CLOSE_NAME(cos))
FLOW_FLOATING(sqrt, flow_sqrt_f32)
FLOW_FLOATING(floor, flow_floor_f32)
FLOW_FLOATING(ceil, flow_ceil_f32)
FLOW_FLOATING(trunc, flow_trunc_f32)
FLOW_FLOATING(rint, flow_rint_f32)
#undef FLOW_FLOATING

FLOW_INLINE float flow_name_pow(float a, float b) {
    return FLOW_CLOSE_NAME(pow)(a, b);
}
FLOW_INLINE double flow_name_pow(double a, double b) {
    return flow_pow_f64(a, b);
}

#define FLOW_NUMBER(function, suffix, type)                 \
    FLOW_INLINE type flow_name_##function(type a, type b) { \
        return flow_##function##_##suffix(a, b);            \
    }
#define FLOW_NUMBERS(function)          \
    FLOW_NUMBER(function, f32, float)   \
    FLOW_NUMBER(function, f64, double)  \
    FLOW_NUMBER(function, i32, int32_t) \
    FLOW_NUMBER(function, i64, int64_t)
FLOW_NUMBERS(max)
FLOW_NUMBERS(min)
FLOW_NUMBERS(modulo)
FLOW_NUMBER(quotient, i32, int32_t)
FLOW_NUMBER(quotient, i64, int64_t)
#undef FLOW_NUMBERS
#undef FLOW_NUMBER

#define FLOW_SIZE(suffix, type)               \
    FLOW_INLINE type flow_name_fabs(type a) { \
        return flow_fabs_##suffix(a);         \
    }
FLOW_SIZE(f32, float)
FLOW_SIZE(f64, double)
FLOW_SIZE(i32, int32_t)
FLOW_SIZE(i64, int64_t)
#undef FLOW_SIZE

#define FLOW_BOTH(function)                                                   \
    template <typename A, typename B>                                         \
    FLOW_INLINE typename FlowSum<A, B>::type flow_both_##function(A a, B b) { \
        return flow_name_##function((typename FlowSum<A, B>::type)a,          \
                                    (typename FlowSum<A, B>::type)b);         \
    }
FLOW_BOTH(pow)
FLOW_BOTH(max)
FLOW_BOTH(min)
FLOW_BOTH(modulo)
FLOW_BOTH(quotient)
#undef FLOW_BOTH

#define exp(a) flow_name_exp(a)
#define log(a) flow_name_log(a)
#define tanh(a) flow_name_tanh(a)
#define rsqrt(a) flow_name_rsqrt(a)
#define erf(a) flow_name_erf(a)
#define expm1(a) flow_name_expm1(a)
#define log1p(a) flow_name_log1p(a)
#define sin(a) flow_name_sin(a)
#define cos(a) flow_name_cos(a)
#define sqrt(a) flow_name_sqrt(a)
#define floor(a) flow_name_floor(a)
#define ceil(a) flow_name_ceil(a)
#define trunc(a) flow_name_trunc(a)
#define rint(a) flow_name_rint(a)
#define fabs(a) flow_name_fabs(a)
#define pow(a, b) flow_both_pow(a, b)
#define max(a, b) flow_both_max(a, b)
#define min(a, b) flow_both_min(a, b)
#define modulo(a, b) flow_both_modulo(a, b)
#define quotient(a, b) flow_both_quotient(a, b)
