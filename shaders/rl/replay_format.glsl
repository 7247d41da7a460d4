// Observations are stored as 32-bit words; every observation begins with a new word. A ring's rows may be in several
// parts, since no binding holds them all: a kernel reads or writes one part.
layout(constant_id = 20) const uint REPLAY_FORMAT = 0; // one of the following
const uint REPLAY_FLOAT32 = 0u;
const uint REPLAY_FLOAT16 = 1u; // two a word, the first low; rounded to nearest, to even, and to the largest there is
const uint REPLAY_BITS = 2u;    // 32 a word, the first lowest: whether a feature is not 0
const uint REPLAY_FEATURES = REPLAY_FORMAT == REPLAY_BITS ? 32u : REPLAY_FORMAT == REPLAY_FLOAT16 ? 2u : 1u; // of a word

uint replay_words(uint features) { return (features + REPLAY_FEATURES - 1u) / REPLAY_FEATURES; }

// The bits of the float16 nearest to x; the rounding of packHalf2x16 depends on the device.
uint replay_half(float x) {
    float size = min(abs(x), 65504.0);
    uint bits = floatBitsToUint(size), half_bits = (bits + 0xFFFu + ((bits >> 13) & 1u)) >> 13;
    half_bits = size < 6.103515625e-5 ? uint(roundEven(size * 16777216.0)) : half_bits - (112u << 10); // the former without a leading one
    return (floatBitsToUint(x) >> 16 & 0x8000u) | half_bits;
}

// A feature as feature n of its word.
uint replay_packed(float x, uint n) {
    if (REPLAY_FORMAT == REPLAY_BITS) return x != 0.0 ? 1u << n : 0u;
    if (REPLAY_FORMAT == REPLAY_FLOAT16) return replay_half(x) << (16u * n);
    return floatBitsToUint(x);
}

// Feature f of an observation, extracted from its word.
float replay_feature(uint word, uint f) {
    if (REPLAY_FORMAT == REPLAY_BITS) return float(word >> (f % 32u) & 1u);
    if (REPLAY_FORMAT == REPLAY_FLOAT16) return unpackHalf2x16(f % 2u == 0u ? word : word >> 16).x;
    return uintBitsToFloat(word);
}
