// Observations are stored as 32-bit words; every observation begins with a new word. A ring's observations may be in several
// parts, since no binding holds them all: a kernel reads or writes one part.
//
// Of observations that are stacks of FRAMES frames along their last axis, oldest first, only the newest frame is stored. The others are those of
// the rows before; before the first row of an episode they are its first frame.
layout(constant_id = 20) const uint REPLAY_FORMAT = 0; // one of the following
const uint REPLAY_FLOAT32 = 0u;
const uint REPLAY_FLOAT16 = 1u; // two a word, the first low; rounded to nearest, to even, and to the largest there is
const uint REPLAY_BITS = 2u;    // 32 a word, the first lowest: whether a feature is not 0
const uint REPLAY_BYTES = 3u;   // four a word, the first lowest: the nearest of 0, 1/255 ... 1
layout(constant_id = 21) const uint FRAMES = 1;

layout(constant_id = 22) const bool REPLAY_PACKED = false; // trajectories have them so already; otherwise they have floats
const uint REPLAY_FEATURES = REPLAY_FORMAT == REPLAY_BITS ? 32u : REPLAY_FORMAT == REPLAY_BYTES ? 4u : REPLAY_FORMAT == REPLAY_FLOAT16 ? 2u : 1u; // of a word

uint replay_words(uint features) { return (features + REPLAY_FEATURES - 1u) / REPLAY_FEATURES; }

// The bits of the float16 nearest to x; the rounding of packHalf2x16 depends on the device.
uint replay_half(float x) {
    float size = min(abs(x), 65504.0);
    uint bits = floatBitsToUint(size), half_bits = (bits + 0xFFFu + ((bits >> 13) & 1u)) >> 13;
    half_bits = size < 6.103515625e-5 ? uint(roundEven(size * 16777216.0)) : half_bits - (112u << 10); // the former without a leading one
    return (floatBitsToUint(x) >> 16 & 0x8000u) | half_bits;
}

// A feature as the bits that are stored.
uint replay_bits(float x) {
    if (REPLAY_FORMAT == REPLAY_BITS) return x != 0.0 ? 1u : 0u;
    if (REPLAY_FORMAT == REPLAY_BYTES) return uint(clamp(x, 0.0, 1.0) * 255.0 + 0.5);
    if (REPLAY_FORMAT == REPLAY_FLOAT16) return replay_half(x);
    return floatBitsToUint(x);
}

// Element f of an observation, as bits, extracted from its word.
uint replay_element_bits(uint word, uint f) {
    if (REPLAY_FORMAT == REPLAY_BITS) return word >> (f % 32u) & 1u;
    if (REPLAY_FORMAT == REPLAY_BYTES) return word >> (f % 4u * 8u) & 0xFFu;
    return word;
}

// Feature f of an observation, as networks see it, extracted from its word.
float replay_feature(uint word, uint f) {
    if (REPLAY_FORMAT == REPLAY_BITS) return float(replay_element_bits(word, f));
    if (REPLAY_FORMAT == REPLAY_BYTES) return float(replay_element_bits(word, f)) * (1.0 / 255.0);
    if (REPLAY_FORMAT == REPLAY_FLOAT16) return unpackHalf2x16(f % 2u == 0u ? word : word >> 16).x;
    return uintBitsToFloat(word);
}

// Declares uint name(uint element, uint w, uint features, uint channels): word w to store of an element's observation of a trajectory, which are words
// of a buffer `uint x[]` and its texels. channels are a frame's.
#define REPLAY_STORED(name, x, texels)                                                                                              \
    uint name(uint element, uint w, uint features, uint channels) {                                                                 \
        uint from = element * (REPLAY_PACKED ? replay_words(features) : features), stored = features / FRAMES, word = 0u;           \
        if (FRAMES == 1u && (REPLAY_PACKED || REPLAY_FORMAT == REPLAY_FLOAT32)) return LOAD(x, texels, from + w);                   \
        for (uint n = 0u; n < REPLAY_FEATURES && w * REPLAY_FEATURES + n < stored; n++) {                                           \
            uint f = w * REPLAY_FEATURES + n;                                                                                       \
            if (FRAMES > 1u) f = f / channels * (FRAMES * channels) + (FRAMES - 1u) * channels + f % channels;                      \
            uint bits = LOAD(x, texels, from + (REPLAY_PACKED ? f / REPLAY_FEATURES : f));                                          \
            bits = REPLAY_PACKED ? replay_element_bits(bits, f) : replay_bits(uintBitsToFloat(bits));                               \
            word |= bits << (32u / REPLAY_FEATURES * n);                                                                            \
        }                                                                                                                           \
        return word;                                                                                                                \
    }

uint load_pick(uvec4 v, uint i) {
    uvec2 pair = (i & 2u) == 0u ? v.xy : v.zw;
    return (i & 1u) == 0u ? pair.x : pair.y;
}
