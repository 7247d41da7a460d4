// Tournament selection (D. E. Goldberg, K. Deb, 1991) among n candidates in the order of their ranks: the best of `size` drawn with
// replacement is the one of the smallest place.

#include "ec/draw.glsl"

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
