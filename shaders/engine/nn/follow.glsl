// Polyak averaging with factor tau (T. P. Lillicrap et al., "Continuous control with deep reinforcement learning",
// 2016, algorithm 1). Exact at tau 0 and 1; precise, so that every kernel gets the same bits.
vec4 follow(vec4 target, vec4 source, float tau) {
    precise vec4 next = (1.0 - tau) * target + tau * source;
    return next;
}
