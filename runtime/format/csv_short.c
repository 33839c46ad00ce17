/* CSV, short rows: a row lies in two registers. The places of its cells' ends are compressed into
 * one register; from there the last eight characters of eight cells are fetched at a time. What is
 * then done to them is nearly what decimal_short.h does to one: digits end in the highest byte of a
 * word, the point is taken out, and neighbours are put together three times.
 *
 * The f64 that they are is multiplied by a power of ten; both that and the product are rounded, by
 * 2^-53 each. It is rounded again to the right f32: a number d / 10^k of eight characters, and one
 * half way between two f32, which is m / 2^s with m < 2^25, are the same or differ by 1 / (m 10^k),
 * more than 2^-49 of them; and they are the same only where k is 0, so that nothing was rounded.
 *
 * A step waits long for the one before it, so two times eight cells take the steps in turn. */
#include "runtime/format/csv_short.h"

#include <string.h>

#if defined(__x86_64__)

#include <immintrin.h>

#define NEWER                                                                       \
    __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi," \
                          "avx512vbmi2,bmi,bmi2,popcnt,lzcnt")))
#define INLINED_NEWER NEWER static inline __attribute__((always_inline))

/* The 128 bytes from a row's start on. */
typedef struct Bytes {
    __m512i low, high;
} Bytes;

/* Of cells by number: where they end, and -1 behind the last; do they begin with a minus? */
typedef struct Bounds {
    __m512i ends, minus;
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

/* low, high: where cells end. */
INLINED_NEWER Bounds bounds_of(const Bytes *bytes, uint64_t low, uint64_t high) {
    __m512i up = count_up(), above = _mm512_add_epi8(up, _mm512_set1_epi8(64));
    __m512i first = _mm512_maskz_compress_epi8(low, up);
    __m512i more = _mm512_mask_compress_epi8(_mm512_set1_epi8(-1), high, above);
    uint64_t low_begins = low << 1 | 1, high_begins = high << 1 | low >> 63;
    uint64_t minus = _pext_u64(find(bytes->low, '-'), low_begins) |
                     _pext_u64(find(bytes->high, '-'), high_begins)
                         << 1 << _mm_popcnt_u64(low << 1);
    uint64_t behind_first = ~UINT64_C(0) << _mm_popcnt_u64(low);
    return (Bounds){_mm512_mask_expand_epi8(first, behind_first, more), _mm512_movm_epi8(minus)};
}

INLINED_NEWER bool find_bounds(const CsvForm *form, const char *text, const Bytes *bytes, int cells,
                               Bounds *bounds) {
    uint64_t low_lines = find(bytes->low, '\n'), high_lines = find(bytes->high, '\n');
    if (!(low_lines | high_lines)) return false;
    uint64_t low_all = through(low_lines), high_all = low_lines ? 0 : through(high_lines);
    if ((find(bytes->low, '"') & low_all) | (find(bytes->high, '"') & high_all)) return false;
    uint64_t low = (find(bytes->low, form->separator) | low_lines) & low_all;
    uint64_t high = (find(bytes->high, form->separator) | high_lines) & high_all;
    int length = (int)(_mm_popcnt_u64(low_all) + _mm_popcnt_u64(high_all)) - 1;
    if (length && text[length - 1] == '\r') {
        if (length == 64) return false;
        if (low_lines) low ^= UINT64_C(3) << (length - 1);
        else high ^= UINT64_C(3) << (length - 65);
    }
    if ((int)(_mm_popcnt_u64(low) + _mm_popcnt_u64(high)) != cells) return false;
    *bounds = bounds_of(bytes, low, high);
    return true;
}

/* Eight cells, a word each. */
typedef struct Eight {
    __m512i minus;  /* is there one? */
    __m512i size;   /* of what follows it, and 1 more, in each byte */
    __m512i digits; /* at first its last characters */
    __m512i point;  /* the lowest bit of the byte where it stood */
    __mmask8 bad;   /* it is no number, or a longer one */
} Eight;

INLINED_NEWER void fetch(const Bytes *bytes, const Bounds *bounds, const uint8_t (*places)[8],
                         Eight *eight) {
    __m512i each = _mm512_loadu_si512(places);
    __m512i end = _mm512_permutexvar_epi8(each, bounds->ends);
    __m512i before = _mm512_sub_epi8(each, _mm512_set1_epi8(1)); /* in 64: of the first the last */
    before = _mm512_permutexvar_epi8(before, bounds->ends);
    __m512i last = _mm512_add_epi8(end, _mm512_sub_epi8(in_words(), _mm512_set1_epi8(8)));
    eight->minus = _mm512_permutexvar_epi8(each, bounds->minus);
    eight->size = _mm512_add_epi8(_mm512_sub_epi8(end, before), eight->minus);
    eight->digits = _mm512_permutex2var_epi8(bytes->low, last, bytes->high);
}

INLINED_NEWER void take_out_points(Eight *eight) {
    __mmask64 own =
        _mm512_cmpge_epu8_mask(_mm512_add_epi8(eight->size, in_words()), _mm512_set1_epi8(9));
    __mmask64 is_point = own & _mm512_cmpeq_epi8_mask(eight->digits, _mm512_set1_epi8('.'));
    __m512i digits = _mm512_maskz_sub_epi8(own & ~is_point, eight->digits, _mm512_set1_epi8('0'));
    __m512i points = _mm512_maskz_set1_epi8(is_point, 1);
    __mmask8 has_point = _mm512_test_epi64_mask(points, points);
    __m512i point = _mm512_and_si512(points, _mm512_sub_epi64(_mm512_setzero_si512(), points));
    __m512i before = _mm512_maskz_sub_epi64(has_point, point, _mm512_set1_epi64(1));
    __m512i moved = _mm512_slli_epi64(_mm512_and_si512(digits, before), 8);
    eight->digits = _mm512_or_si512(_mm512_andnot_si512(before, digits), moved);
    eight->point = point;
    eight->bad = _mm512_cmpneq_epi64_mask(_mm512_min_epu8(digits, _mm512_set1_epi8(9)), digits) |
                 _mm512_cmpneq_epi64_mask(points, point) |
                 _mm512_mask_cmpeq_epi64_mask(has_point, eight->size, _mm512_set1_epi8(2)) |
                 _mm512_cmpge_epu64_mask(_mm512_sub_epi8(eight->size, _mm512_set1_epi8(2)),
                                         _mm512_set1_epi8(8));
}

/* What eight digits say, in each word. */
INLINED_NEWER __m512d join(__m512i digits) {
    __m512i pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010a));
    __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00010064));
    fours = _mm512_or_si512(fours, _mm512_srli_epi64(fours, 16));
    return _mm512_cvtepi64_pd(_mm512_madd_epi16(fours, _mm512_set1_epi64(0x00012710)));
}

INLINED_NEWER void write_numbers(const Eight *eight, float *numbers) {
    const __m512d powers = _mm512_setr_pd(1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7);
    __m512i behind = _mm512_srli_epi64(_mm512_lzcnt_epi64(eight->point), 3); /* 8 is 0 */
    __m512i sign = _mm512_and_si512(eight->minus, _mm512_set1_epi64(INT64_MIN));
    __m512i power = _mm512_castpd_si512(_mm512_permutexvar_pd(behind, powers));
    power = _mm512_xor_si512(power, sign);
    __m512d number = _mm512_mul_pd(join(eight->digits), _mm512_castsi512_pd(power));
    _mm256_storeu_ps(numbers, _mm512_cvtpd_ps(number));
}

/* Which are bad. */
INLINED_NEWER uint64_t read_eight(const Bytes *bytes, const Bounds *bounds,
                                  const uint8_t (*places)[8], float *numbers) {
    Eight eight;
    fetch(bytes, bounds, places, &eight);
    take_out_points(&eight);
    write_numbers(&eight, numbers);
    return eight.bad;
}

INLINED_NEWER uint64_t read_sixteen(const Bytes *bytes, const Bounds *bounds,
                                    const uint8_t (*places)[8], float *numbers) {
    Eight first, second;
    fetch(bytes, bounds, places, &first);
    fetch(bytes, bounds, places + 8, &second);
    take_out_points(&first);
    take_out_points(&second);
    write_numbers(&first, numbers);
    write_numbers(&second, numbers + 8);
    return first.bad | (uint64_t)second.bad << 8;
}

NEWER static bool read_row(const CsvForm *form, const char *text, int cells,
                           const CsvNumbers *numbers, CsvShortRow *row) {
    Bytes bytes = {_mm512_loadu_si512(text), _mm512_loadu_si512(text + 64)};
    Bounds bounds;
    int i = 0;
    if (!find_bounds(form, text, &bytes, cells, &bounds)) return false;
    _mm512_storeu_si512(row->ends, bounds.ends);
    row->bad = 0;
    for (; i + 8 < numbers->count; i += 16)
        row->bad |= read_sixteen(&bytes, &bounds, numbers->places + i, row->numbers + i) << i;
    if (i < numbers->count)
        row->bad |= read_eight(&bytes, &bounds, numbers->places + i, row->numbers + i) << i;
    row->bad &= (UINT64_C(1) << numbers->count) - 1;
    return true;
}

bool csv_short_is_possible(void) {
    return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi2");
}

bool csv_read_short(const CsvForm *form, const char *text, const char *end, int cells,
                    const CsvNumbers *numbers, CsvShortRow *row) {
    return end - text >= CSV_SHORT && read_row(form, text, cells, numbers, row);
}

#else

bool csv_short_is_possible(void) {
    return false;
}

bool csv_read_short(const CsvForm *form, const char *text, const char *end, int cells,
                    const CsvNumbers *numbers, CsvShortRow *row) {
    (void)form, (void)text, (void)end, (void)cells, (void)numbers, (void)row;
    return false;
}

#endif

void csv_add_number(CsvNumbers *numbers, int place) {
    memset(numbers->places[numbers->count++], place, sizeof *numbers->places);
}
