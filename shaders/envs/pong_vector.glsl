// Pong as its players see it in numbers. Rules: envs/pong.glsl, which the includer has included. OBS_SIZE is 10.

// A player's own bat and the other one, and the ball's places, seen from its own side.
void pong_observe(const float s[STATE_SIZE], uint player, out float obs[OBS_SIZE]) {
    bool first = player == 0u;
    obs[0] = ((first ? s[S_BAT] : s[S_BAT + 1u]) - TOP) / WIDTH;
    obs[1] = ((first ? s[S_BAT + 1u] : s[S_BAT]) - TOP) / WIDTH;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        obs[2u + 2u * i] = (first ? s[S_X + i] : WIDTH - BALL - s[S_X + i]) / WIDTH;
        obs[3u + 2u * i] = (s[S_Y + i] - TOP) / WIDTH;
    }
}
