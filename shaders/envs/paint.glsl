// Environments that paint their observations: a function of the state gives one word of the observation, so that no invocation holds all of them. Beside
// what envs/bits.glsl asks for, but without env_observe, such an environment defines ENV_WORD and
//
//     uint env_word(const float s[STATE_SIZE], uint w);
//
// Word w has the elements of the observation from w * ELEMENTS on (engine/nn/element.glsl), the first in the lowest bits: 4 bytes, each 255 times the
// element, or 32 bits. Elements after the last are 0.

#include "engine/nn/element.glsl"
#include "envs/transfer.glsl"

// Writes word w of observation i, or its elements as floats.
#define PAINT_STORE(packed, word, to, i, w)                                                                                                  \
    if (packed) {                                                                                                                            \
        to[(i) * OBS_WORDS + w] = word;                                                                                                      \
    } else {                                                                                                                                 \
        [[dont_unroll]] for (uint paint_k = (w) * ELEMENTS; paint_k < min(((w) + 1u) * ELEMENTS, uint(OBS_SIZE)); paint_k++) {               \
            to[(i) * OBS_SIZE + paint_k] = floatBitsToUint(element_value(word, paint_k));                                                    \
        }                                                                                                                                    \
    }
