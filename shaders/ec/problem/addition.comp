#version 450

// Draws questions of addition and their answers, as tokens: digits 0 to 9, '+' 10, '=' 11, EOS 14. A question has FIRST digits, '+', SECOND digits and
// EOS; its answer as many digits as the longer operand has, of the sum modulo the power of ten that they can show, and EOS. Operands are
// uniform, and have leading zeros. Question b of a batch is drawn from the words of philox((seed, stream), (member, b, batch, 0)).
//
// Groups: x = ceil(M * B / local size).

#include "engine/rng.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool APART = false; // members draw questions of their own; else all draw the same

const uint PLUS = 10u, EOS = 14u;

layout(std430, set = 0, binding = 0) readonly buffer Batch { uint batch[]; };          // [0]: the number of the batch
layout(std430, set = 0, binding = 1) writeonly buffer Questions { uint questions[]; }; // [FIRST + 1 + SECOND + 1, M, B]
layout(std430, set = 0, binding = 2) writeonly buffer Answers { uint answers[]; };     // [max(FIRST, SECOND) + 1, M, B]

layout(push_constant) uniform Push {
    uint members;
    uint rows; // B
    uint first_digits;
    uint second_digits;
    uint seed;
    uint stream;
};

// A number below 10^digits: the high word of its product with a random word.
uint below(uint word, uint digits) {
    uint n = 1u, high, low;
    for (uint i = 0u; i < digits; i++) n *= 10u;
    umulExtended(word, n, high, low);
    return high;
}

void main() {
    uint i = gl_GlobalInvocationID.x, all = members * rows;
    if (i >= all) return;
    uvec4 words = philox(uvec2(seed, stream), uvec4(APART ? i / rows : 0u, i % rows, batch[0], 0u));
    uint first = below(words.x, first_digits), second = below(words.y, second_digits), sum = first + second;
    uint longer = max(first_digits, second_digits), last = first_digits + 1u + second_digits;
    for (uint d = first_digits; d-- > 0u; first /= 10u) questions[d * all + i] = first % 10u;
    questions[first_digits * all + i] = PLUS;
    for (uint d = last; d-- > first_digits + 1u; second /= 10u) questions[d * all + i] = second % 10u;
    questions[last * all + i] = EOS;
    for (uint d = longer; d-- > 0u; sum /= 10u) answers[d * all + i] = sum % 10u;
    answers[longer * all + i] = EOS;
}
