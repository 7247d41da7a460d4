#include "host.h"

enum { CHAINS = 12 };

// One loop per vector width. The chains are variables, not an array, so that they stay in registers at any optimization level of cgo.
#define FMA_LOOP(name, attributes, width)                                                            \
  typedef float name##_vector __attribute__((vector_size(4 * width)));                               \
  attributes static float name(long rounds) {                                                        \
    const name##_vector x = 0.999f - (name##_vector){0}, y = 1e-3f - (name##_vector){0};             \
    name##_vector a = y, b = a + y, c = b + y, d = c + y, e = d + y, f = e + y;                      \
    name##_vector g = f + y, h = g + y, i = h + y, j = i + y, k = j + y, l = k + y;                  \
    for (long r = 0; r < rounds; r++) {                                                              \
      a = a * x + y; b = b * x + y; c = c * x + y; d = d * x + y; e = e * x + y; f = f * x + y;      \
      g = g * x + y; h = h * x + y; i = i * x + y; j = j * x + y; k = k * x + y; l = l * x + y;      \
    }                                                                                                \
    a += b + c + d + e + f + g + h + i + j + k + l;                                                  \
    return a[0] + a[width - 1];                                                                      \
  }

#if defined(__x86_64__)
FMA_LOOP(loop4, , 4)
FMA_LOOP(loop8, __attribute__((target("avx2,fma"))), 8)
FMA_LOOP(loop16, __attribute__((target("avx512f"))), 16)

static int width(void) {
  if (__builtin_cpu_supports("avx512f")) return 16;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 8 : 4;
}

float evorl_fma(long rounds) {
  switch (width()) {
  case 16: return loop16(rounds);
  case 8: return loop8(rounds);
  }
  return loop4(rounds);
}
#else
FMA_LOOP(loop4, , 4)

static int width(void) { return 4; }

float evorl_fma(long rounds) { return loop4(rounds); }
#endif

int evorl_fma_floats(void) { return CHAINS * width(); }
