// An environment step of a model that tools/mjcf wrote: FRAME_SKIP time steps of its integrator. The includer has
// included the model and defined STATE_SIZE, and it has const uint FRAME_SKIP. The state begins with NQ positions, NV
// velocities and NV accelerations, those of the last forward pass, where the next one's solver begins.

// Positions that no force depends on (the first TRAVEL of them) are counted from where the environment step begins:
// far out, they would lose the digits that rewards are made of.
const uint TRAVELLED = TRAVEL > 0 ? TRAVEL : 1;

#define ENV_DIVERGES
bool env_diverged = false; // in the last step

// physics_step(s, action, travel, sensed) takes an environment step under an action. travel is how far the first
// positions moved, and sensed what the last forward pass saw, which is not one of the state at the end: MuJoCo's
// fields lag behind in the same way. It returns false, with the state as it was, where the motion left all bounds:
// where a position, velocity or acceleration is no number or beyond 1e10, MuJoCo's bound.
#define physics_step(s, action, travel, sensed) physics_steps(s, action, FRAME_SKIP, travel, sensed)
bool physics_steps(inout float s[STATE_SIZE], const float action[NU], uint steps, out float travel[TRAVELLED], out float sensed[SENSES]) {
    float q[NQ], v[NV], a[NV], force[NU], rate[NV];
    [[unroll]] for (uint i = 0u; i < NQ; i++) q[i] = i < TRAVEL ? 0.0 : s[i];
    [[unroll]] for (uint i = 0u; i < NV; i++) {
        v[i] = s[NQ + i];
        a[i] = s[NQ + NV + i];
    }
    physics_actuate(action, force);
    uint n = 0u;
#if RUNGE_KUTTA
    // The classical method of fourth order, one stage an iteration: x, y are the stage's positions and velocities,
    // v_sum and a_sum the weighted rates.
    float x[NQ], y[NV], v_sum[NV], a_sum[NV];
    x = q;
    y = v;
    [[unroll]] for (uint i = 0u; i < NV; i++) v_sum[i] = a_sum[i] = 0.0;
    [[dont_unroll]] do { // asks after its turn: Mesa's software driver else takes one turn more, with no lane in it
        uint stage = n & 3u;
        physics_forward(x, y, force, a, rate, sensed);
        bool last = stage == 3u;
        float weight = stage == 0u || last ? 1.0 / 6.0 : 1.0 / 3.0;
        float time = stage < 2u ? 0.5 * TIMESTEP : TIMESTEP;
        [[unroll]] for (uint i = 0u; i < NV; i++) {
            v_sum[i] += weight * y[i];
            a_sum[i] += weight * rate[i];
            float speed = last ? v_sum[i] : y[i];
            y[i] = v[i] + time * (last ? a_sum[i] : rate[i]);
            rate[i] = speed;
        }
        x = q;
        physics_move(x, rate, time);
        [[unroll]] for (uint i = 0u; i < NQ; i++) q[i] = last ? x[i] : q[i];
        [[unroll]] for (uint i = 0u; i < NV; i++) {
            v[i] = last ? y[i] : v[i];
            v_sum[i] = last ? 0.0 : v_sum[i];
            a_sum[i] = last ? 0.0 : a_sum[i];
        }
        n++;
    } while (n < 4u * steps);
#else
    // Euler's method, positions moving by the new velocities.
    [[dont_unroll]] do {
        physics_forward(q, v, force, a, rate, sensed);
        [[unroll]] for (uint i = 0u; i < NV; i++) v[i] += TIMESTEP * rate[i];
        physics_move(q, v, TIMESTEP);
        n++;
    } while (n < steps);
#endif
    bool bounded = true;
    [[unroll]] for (uint i = 0u; i < NQ; i++) bounded = bounded && abs(q[i]) <= 1e10;
    [[unroll]] for (uint i = 0u; i < NV; i++) bounded = bounded && abs(v[i]) <= 1e10 && abs(a[i]) <= 1e10;
    travel[0] = 0.0;
    [[unroll]] for (uint i = 0u; i < TRAVEL; i++) travel[i] = bounded ? q[i] : 0.0;
    if (bounded) {
        [[unroll]] for (uint i = 0u; i < NQ; i++) s[i] = i < TRAVEL ? s[i] + q[i] : q[i];
        [[unroll]] for (uint i = 0u; i < NV; i++) {
            s[NQ + i] = v[i];
            s[NQ + NV + i] = a[i];
        }
    }
    env_diverged = !bounded;
    return bounded;
}
