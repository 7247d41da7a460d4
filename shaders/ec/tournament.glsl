// Tournament selection (D. E. Goldberg, K. Deb, 1991) among n candidates ordered by rank: the best of `size` drawn
// with replacement is the smallest index.

#include "ec/draw.glsl"
#include "engine/permutation.glsl"

uint tournament(uvec2 key, uvec3 counter, uint n, uint size) {
    uint winner = n - 1u;
    uvec4 words = uvec4(0u);
    for (uint k = 0u; k < size; k++) {
        if ((k & 3u) == 0u) words = philox(key, uvec4(counter, k >> 2));
        winner = min(winner, below(words.x, n));
        words = words.yzwx;
    }
    return winner;
}

// The same without replacement: tournament p takes the next `size` of all candidates in shuffled order, and after all
// of them a new shuffle begins, so that each candidate takes part equally often. counter: (search, generation).
uint shuffled_tournament(uvec2 key, uvec2 counter, uint p, uint n, uint size) {
    uint winner = n - 1u, shuffle = 0xFFFFFFFFu;
    uvec4 words = uvec4(0u);
    for (uint k = 0u; k < size; k++) {
        uint draw = p * size + k;
        if (draw / n != shuffle) {
            shuffle = draw / n;
            words = philox(key, uvec4(counter.x, shuffle, counter.y, 0xFFFFFFFFu));
        }
        winner = min(winner, permute(draw % n, n, words));
    }
    return winner;
}
