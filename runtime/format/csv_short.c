/* CSV, short rows: a row lies in two registers. The places of its cells' ends are compressed into
 * one register; from there the last eight characters of eight cells are fetched at a time. What is
 * then done to them is what decimal_short.h does to one: digits end in the highest byte of a word,
 * the point is taken out, neighbours are put together three times, and the number is divided by the
 * one whose only digit is a 1 where the point stood. */
#include "runtime/format/csv_short.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define NEWER                                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2," \
                          "popcnt,lzcnt")))
#define INLINED_NEWER NEWER static inline __attribute__((always_inline))

/* The 128 bytes from a row's start on. */
typedef struct Bytes {
    __m512i low, high;
} Bytes;

/* Where cells begin and end, by their numbers; begins are a byte too early. */
typedef struct Bounds {
    __m512i before, ends;
} Bounds;

INLINED_NEWER __m512i count_up(void) {
    return _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928,
                            0x2726252423222120, 0x1f1e1d1c1b1a1918, 0x1716151413121110,
                            0x0f0e0d0c0b0a0908, 0x0706050403020100);
}

/* 0 to 7 in each word. */
INLINED_NEWER __m512i in_words(void) {
    return _mm512_set1_epi64(0x0706050403020100);
}

INLINED_NEWER uint64_t find(__m512i bytes, char byte) {
    return _cvtmask64_u64(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte)));
}

/* Through the lowest bit of those; all when there is none. */
INLINED_NEWER uint64_t through(uint64_t bits) {
    return bits ^ (bits - 1);
}

INLINED_NEWER bool find_bounds(const CsvForm *form, const char *text, const Bytes *bytes, int cells,
                               Bounds *bounds) {
    uint64_t low_lines = find(bytes->low, '\n'), high_lines = find(bytes->high, '\n');
    if (!(low_lines | high_lines)) return false;
    uint64_t low_all = low_lines ? through(low_lines) : ~UINT64_C(0);
    uint64_t high_all = low_lines ? 0 : through(high_lines);
    if ((find(bytes->low, '"') & low_all) | (find(bytes->high, '"') & high_all)) return false;
    uint64_t low = (find(bytes->low, form->separator) | low_lines) & low_all;
    uint64_t high = (find(bytes->high, form->separator) | high_lines) & high_all;
    int length = (int)(low_lines ? _tzcnt_u64(low_lines) : 64 + _tzcnt_u64(high_lines));
    if (length && text[length - 1] == '\r') {
        if (length == 64) return false;
        if (low_lines) low ^= UINT64_C(3) << (length - 1);
        else high ^= UINT64_C(3) << (length - 65);
    }
    int in_low = (int)_mm_popcnt_u64(low);
    if (in_low + (int)_mm_popcnt_u64(high) != cells) return false;
    __m512i up = count_up(), above = _mm512_add_epi8(up, _mm512_set1_epi8(64));
    __m512i ends = _mm512_maskz_compress_epi8(low, up);
    bounds->ends = _mm512_mask_expand_epi8(ends, ~UINT64_C(0) << in_low,
                                           _mm512_maskz_compress_epi8(high, above));
    bounds->before = _mm512_mask_permutexvar_epi8(
        _mm512_set1_epi8(-1), ~UINT64_C(1), _mm512_sub_epi8(up, _mm512_set1_epi8(1)), bounds->ends);
    return true;
}

/* What eight digits say, in each word. */
INLINED_NEWER __m512d join(__m512i digits) {
    __m512i pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010a));
    __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00010064));
    fours = _mm512_or_si512(fours, _mm512_srli_epi64(fours, 16));
    return _mm512_cvtepi64_pd(_mm512_madd_epi16(fours, _mm512_set1_epi64(0x00012710)));
}

/* Eight numbers. Returns which are good. */
INLINED_NEWER __mmask8 read_eight(const Bytes *bytes, const Bounds *bounds, const uint8_t *places,
                                  float *numbers) {
    const __m512i one_digit = _mm512_set1_epi64(INT64_C(1) << 56);
    __m512i each =
        _mm512_shuffle_epi8(_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)places)),
                            _mm512_broadcast_i32x4(_mm_set_epi64x(0x0808080808080808, 0)));
    __m512i end = _mm512_permutexvar_epi8(each, bounds->ends);
    __m512i before = _mm512_permutexvar_epi8(each, bounds->before);
    __m512i begin = _mm512_add_epi8(before, _mm512_set1_epi8(1));
    __m512i first = _mm512_permutex2var_epi8(bytes->low, begin, bytes->high);
    __mmask64 negative = _mm512_cmpeq_epi8_mask(first, _mm512_set1_epi8('-'));
    __m512i size = _mm512_sub_epi8(end, begin);
    size = _mm512_mask_sub_epi8(size, negative, size, _mm512_set1_epi8(1));
    __m512i last = _mm512_add_epi8(end, _mm512_sub_epi8(in_words(), _mm512_set1_epi8(8)));
    __m512i text = _mm512_permutex2var_epi8(bytes->low, last, bytes->high);
    __mmask64 own = _mm512_cmpge_epu8_mask(_mm512_add_epi8(size, in_words()), _mm512_set1_epi8(8));
    __m512i digits = _mm512_maskz_sub_epi8(own, text, _mm512_set1_epi8('0'));
    __mmask64 is_point = _mm512_cmpeq_epi8_mask(digits, _mm512_set1_epi8('.' - '0'));
    __m512i point = _mm512_maskz_set1_epi8(is_point, 1);
    point = _mm512_and_si512(point, _mm512_sub_epi64(_mm512_setzero_si512(), point));
    __mmask8 has_point = _mm512_test_epi64_mask(point, point);
    __m512i upper = _mm512_sub_epi64(point, _mm512_set1_epi64(1));
    __m512i gap = _mm512_sub_epi64(_mm512_slli_epi64(point, 8), point);
    __m512i moved = _mm512_or_si512(_mm512_slli_epi64(_mm512_and_si512(digits, upper), 8),
                                    _mm512_andnot_si512(_mm512_or_si512(upper, gap), digits));
    digits = _mm512_mask_mov_epi64(digits, has_point, moved);
    __mmask64 odd = _mm512_cmpgt_epu8_mask(digits, _mm512_set1_epi8(9));
    __m512i odd_bytes = _mm512_movm_epi8(odd);
    __m512i length = _mm512_and_si512(size, _mm512_set1_epi64(0xff));
    __mmask8 good = _mm512_cmplt_epu64_mask(_mm512_sub_epi64(length, _mm512_set1_epi64(1)),
                                            _mm512_set1_epi64(8));
    __mmask8 lone = _mm512_mask_cmpeq_epi64_mask(has_point, length, _mm512_set1_epi64(1));
    good &= (__mmask8) ~(lone | _mm512_test_epi64_mask(odd_bytes, odd_bytes));
    __m512d quotient =
        _mm512_div_pd(join(digits), join(_mm512_mask_mov_epi64(one_digit, has_point, point)));
    __m512i sign = _mm512_maskz_set1_epi8(negative, -128);
    sign = _mm512_and_si512(sign, _mm512_set1_epi64(INT64_MIN));
    __m512i bits = _mm512_or_si512(_mm512_castpd_si512(quotient), sign);
    __mmask8 tied = _mm512_cmpeq_epi64_mask(_mm512_and_si512(bits, _mm512_set1_epi64(0x1fffffff)),
                                            _mm512_set1_epi64(0x10000000));
    _mm256_storeu_ps(numbers, _mm512_cvtpd_ps(_mm512_castsi512_pd(bits)));
    return good & (__mmask8)~tied;
}

NEWER static bool read_row(const CsvForm *form, const char *text, int cells, const uint8_t *places,
                           int count, CsvShortRow *row) {
    Bytes bytes = {_mm512_loadu_si512(text), _mm512_loadu_si512(text + 64)};
    Bounds bounds;
    if (!find_bounds(form, text, &bytes, cells, &bounds)) return false;
    _mm512_storeu_si512(row->ends, bounds.ends);
    row->good = 0;
    for (int i = 0; i < count; i += 8)
        row->good |= (uint64_t)read_eight(&bytes, &bounds, places + i, row->numbers + i) << i;
    return true;
}

bool csv_short_is_possible(void) {
    return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}

bool csv_read_short(const CsvForm *form, const char *text, const char *end, int cells,
                    const uint8_t *places, int count, CsvShortRow *row) {
    return end - text >= CSV_SHORT && read_row(form, text, cells, places, count, row);
}

#else

bool csv_short_is_possible(void) {
    return false;
}

bool csv_read_short(const CsvForm *form, const char *text, const char *end, int cells,
                    const uint8_t *places, int count, CsvShortRow *row) {
    (void)form, (void)text, (void)end, (void)cells, (void)places, (void)count, (void)row;
    return false;
}

#endif
