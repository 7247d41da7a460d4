// Observations whose elements are packed into 32-bit words, the first in the lowest bits; each observation begins with a new word.
layout(constant_id = 30) const uint ELEMENT = 0; // one of the following
const uint ELEMENT_FLOATS = 0u;
const uint ELEMENT_BYTES = 1u; // the nearest of 0, 1/255 ... 1
const uint ELEMENT_BITS = 2u;  // whether an element is not 0
const uint ELEMENTS = ELEMENT == ELEMENT_BITS ? 32u : ELEMENT == ELEMENT_BYTES ? 4u : 1u; // of a word

uint element_words(uint features) { return (features + ELEMENTS - 1u) / ELEMENTS; }

// Element f of an observation, extracted from its word f / ELEMENTS.
float element_value(uint word, uint f) {
    if (ELEMENT == ELEMENT_BITS) return float(word >> (f % 32u) & 1u);
    if (ELEMENT == ELEMENT_BYTES) return float(word >> (f % 4u * 8u) & 0xFFu) * (1.0 / 255.0);
    return uintBitsToFloat(word);
}

// The quads of an observation, of four elements each, that a word has, one or a part of one; floats lie in words of their own.
const uint ELEMENT_QUADS = ELEMENTS / 4u + (ELEMENT == ELEMENT_FLOATS ? 1u : 0u);

// Elements 4 q to 4 q + 3 of an observation of packed elements, extracted from their word, q / ELEMENT_QUADS.
vec4 element_four(uint word, uint q) {
    if (ELEMENT == ELEMENT_BITS) {
        uint four = word >> (q % 8u * 4u);
        return vec4(four & 1u, four >> 1u & 1u, four >> 2u & 1u, four >> 3u & 1u);
    }
    return vec4(word & 0xFFu, word >> 8u & 0xFFu, word >> 16u & 0xFFu, word >> 24u) * (1.0 / 255.0);
}

// Elements 4 q to 4 q + 3 of the observation that begins with word `from` of a buffer `uvec4 x[]` and its texels. Floats begin at multiples of four.
#define ELEMENT_LOAD4(x, texels, from, q)                                                      \
    (ELEMENT == ELEMENT_FLOATS ? uintBitsToFloat(LOAD4(x, texels, (from) / 4u + (q)))          \
                               : element_four(LOAD1(x, texels, (from) + (q) / ELEMENT_QUADS), q))

// Element f as the bits that it adds to its word.
uint element_bits(float x, uint f) {
    if (ELEMENT == ELEMENT_BITS) return x != 0.0 ? 1u << (f % 32u) : 0u;
    if (ELEMENT == ELEMENT_BYTES) return uint(clamp(x, 0.0, 1.0) * 255.0 + 0.5) << (f % 4u * 8u);
    return floatBitsToUint(x);
}

// For LOAD of words (engine/load.glsl).
uint load_pick(uvec4 v, uint i) {
    uvec2 pair = (i & 2u) == 0u ? v.xy : v.zw;
    return (i & 1u) == 0u ? pair.x : pair.y;
}
