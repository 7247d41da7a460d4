// Elementary functions in float32: Vulkan leaves the precision of its functions to the device (sin and cos: absolute
// error 2^-11 within [-pi, pi], nothing outside; tanh: no bound for small arguments; log near 1: absolute 2^-21).
//
// All are branch-free and take a few multiply-adds. Errors, in units in the last place (ulp), were measured against
// float64 (engine/math_test.go checks them). NaN gives NaN. m_sin and m_cos are `precise` throughout, and Vulkan
// rounds sums and products correctly, so they are bit-identical on every device; the others may be contracted to
// fused multiply-adds. Coefficients are minimax for the relative error, fitted for this file by Lawson's iteration.

// pi in three parts; the first two have at most 11 bits, so products with integers and halves below 2^12 are exact.
const float M_PI_HIGH = 3.140625;
const float M_PI_MIDDLE = 9.675025939941406e-4;
const float M_PI_LOW = 1.5099580252808664e-7;
const float M_INVERSE_PI = 0.318309886183790672;

const float M_LN2 = 0.693147180559945309;
// ln 2 in two parts; the first has 15 bits.
const float M_LN2_HIGH = 0.693145751953125;
const float M_LN2_LOW = 1.42860682030941723e-6;
const float M_LOG2_E = 1.44269504088896341;

// 1.5 * 2^23: an integer below 2^22 plus this has the integer as its lowest bits. A conversion would do too, but
// newer software drivers convert lane by lane.
const float M_INTEGER = 12582912.0;

#define M_INFINITY uintBitsToFloat(0x7F800000u)
#define M_NAN uintBitsToFloat(0x7FC00000u)

// sin(x - n pi) for |x - n pi| <= pi/2, negated when turns is odd.
float m_sin_reduced(float x, float n, uint turns) {
    precise float r = ((x - n * M_PI_HIGH) - n * M_PI_MIDDLE) - n * M_PI_LOW;
    precise float z = r * r;
    precise float p = ((2.6056311e-6 * z - 1.9809539e-4) * z + 8.3330655e-3) * z - 0.16666660;
    precise float y = r + r * (z * p);
    return uintBitsToFloat(floatBitsToUint(y) ^ (turns << 31));
}

// Sine for |x| <= 1e4: within 2.2 ulp for |x| <= 100 except near multiples of pi, absolute error within 1.3e-7
// everywhere. Larger arguments lose precision in proportion; beyond 1e6 the result is meaningless and may leave [-1,
// 1].
float m_sin(float x) {
    precise float n = roundEven(x * M_INVERSE_PI);
    return m_sin_reduced(x, n, floatBitsToUint(n + M_INTEGER));
}

// Cosine for |x| <= 1e4, absolute error within 1.3e-7; larger arguments as for m_sin.
float m_cos(float x) {
    // cos x = (-1)^(n+1) sin(x - (n + 1/2) pi)
    precise float n = floor(x * M_INVERSE_PI);
    precise float middle = n + 0.5;
    return m_sin_reduced(x, middle, floatBitsToUint(n + M_INTEGER) + 1u);
}

// exp(r) - 1 for |r| <= ln(2) / 2.
float m_expm1_reduced(float r) {
    float p = (((1.3814433e-3 * r + 8.3687968e-3) * r + 4.1668396e-2) * r + 0.16666520) * r + 0.49999993;
    return r + (r * r) * p;
}

// Exponential function, within 2 ulp; 0 below x = -87.33 (1.2e-38), infinite above 88.37 (2.4e38), so that 2^n is
// normal.
float m_exp(float x) {
    float n = roundEven(x * M_LOG2_E);
    precise float r = (x - n * M_LN2_HIGH) - n * M_LN2_LOW;
    float scale = intBitsToFloat((floatBitsToInt(n + M_INTEGER) << 23) + 0x3F800000); // 2^n
    precise float y = 1.0 + m_expm1_reduced(r);
    y *= scale; // the sum first, so that no product is subnormal, which devices may flush to zero
    y = x < -87.33 ? 0.0 : y;
    return x > 88.37 ? M_INFINITY : y;
}

// Hyperbolic tangent, within 3 ulp and never beyond 1: (e^2x - 1) / (e^2x + 1), the numerator without cancellation.
float m_tanh(float x) {
    float n = roundEven(x * (2.0 * M_LOG2_E));
    float r = (x + x) - n * M_LN2; // one part of ln 2 suffices: for large n the slope is small
    float scale = intBitsToFloat((floatBitsToInt(n + M_INTEGER) << 23) + 0x3F800000); // 2^n
    float numerator = scale * m_expm1_reduced(r) + (scale - 1.0);
    float y = numerator / (numerator + 2.0);
    y = x > 10.0 ? 1.0 : y;
    return x < -10.0 ? -1.0 : y;
}

// m_tanh of four numbers, interleaved step by step: a single one is a chain of dependent operations, and CPU drivers
// keep operations approximately in source order.
vec4 m_tanh(vec4 x) {
    vec4 n = roundEven(x * (2.0 * M_LOG2_E));
    vec4 r = (x + x) - n * M_LN2;
    vec4 scale = intBitsToFloat((floatBitsToInt(n + M_INTEGER) << 23) + 0x3F800000);
    vec4 p = (((1.3814433e-3 * r + 8.3687968e-3) * r + 4.1668396e-2) * r + 0.16666520) * r + 0.49999993; // as m_expm1_reduced
    vec4 numerator = scale * (r + (r * r) * p) + (scale - 1.0);
    vec4 y = numerator / (numerator + 2.0);
    y = mix(y, vec4(1.0), greaterThan(x, vec4(10.0)));
    return mix(y, vec4(-1.0), lessThan(x, vec4(-10.0)));
}

// Natural logarithm, within 2 ulp: -infinity at 0, NaN below. Subnormal numbers count as 0 if the device flushes
// them.
float m_log(float x) {
    bool subnormal = x < 1.17549435e-38;
    uint word = floatBitsToUint(subnormal ? x * 8388608.0 : x); // 2^23
    // x = 2^e m with m in [sqrt(1/2), sqrt(2))
    int e = int(word - 0x3F3504F3u) >> 23;
    float f = uintBitsToFloat(word - (uint(e) << 23)) - 1.0;
    float power = float(subnormal ? e - 23 : e);
    float z = f * f;
    float p = 0.087004359;
    p = p * f - 0.14267487;
    p = p * f + 0.14914768;
    p = p * f - 0.16577585;
    p = p * f + 0.19963064;
    p = p * f - 0.25001337;
    p = p * f + 0.33333911;
    float tail = (f * z) * p - 0.5 * z;
    float y = power * M_LN2_HIGH + (f + (tail + power * M_LN2_LOW));
    y = x < M_INFINITY ? y : x;
    return x > 0.0 ? y : (x == 0.0 ? -M_INFINITY : M_NAN);
}
