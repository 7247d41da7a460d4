// What Humanoid-v5 and HumanoidStandup-v5 share: a state of positions, velocities, accelerations, LAG values of the
// environment's own, and what the last forward pass computed of the 13 bodies, all of which is observed. The includer has
// included the model and the dynamics, and defined STATE_SIZE, OBS_SIZE, POSITIONS, LAG, RESET_NOISE and Z_REFERENCE.

const int S_Z = 2;
const int S_LAG = NQ + 2 * NV;
const int S_SEEN = S_LAG + LAG, SEEN = 208; // inertia and velocity of the 13 bodies, in the last forward pass
const int S_MOTORS = S_SEEN + SEEN; // the actuators' forces on the 17 joints
const int S_FORCES = S_MOTORS + NU, FORCES = 78; // torque and force of the contacts on each body

// Stores the senses of a forward pass in the state; the first LAG are the environment's own.
void remember(inout float s[STATE_SIZE], const float sensed[SENSES], const float force[NU]) {
    [[unroll]] for (uint i = 0u; i < SEEN; i++) s[S_SEEN + i] = sensed[LAG + i];
    [[unroll]] for (uint i = 0u; i < NU; i++) s[S_MOTORS + i] = 0.0;
    [[unroll]] for (uint i = 0u; i < NU; i++) s[S_MOTORS + physics_motor[i] - 6u] = force[i];
    [[unroll]] for (uint i = 0u; i < FORCES; i++) s[S_FORCES + i] = sensed[LAG + SEEN + i];
}

// Begins an episode and gives what the first forward pass computes.
void begin(out float s[STATE_SIZE], inout Rng rng, out float sensed[SENSES]) {
    [[unroll]] for (uint i = 0u; i < NQ + NV; i++) s[i] = rng_uniform(rng, -RESET_NOISE, RESET_NOISE);
    [[unroll]] for (uint i = 0u; i < NV; i++) s[NQ + NV + i] = 0.0;
    s[S_Z] += Z_REFERENCE;
    s[3] += 1.0; // the quaternion's real part
    float q[NQ], v[NV], force[NU];
    [[unroll]] for (uint i = 0u; i < NQ; i++) q[i] = i < TRAVEL ? 0.0 : s[i];
    [[unroll]] for (uint i = 0u; i < NV; i++) v[i] = s[NQ + i];
    [[unroll]] for (uint i = 0u; i < NU; i++) force[i] = 0.0;
    physics_sense(q, v, sensed); // contact forces are zero here; MuJoCo computes them only in steps
    remember(s, sensed, force);
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    const uint first = POSITIONS == 1 ? 0u : 2u;
    [[unroll]] for (uint i = first; i < NQ + NV; i++) obs[i - first] = s[i];
    [[unroll]] for (uint i = 0u; i < SEEN + NU + FORCES; i++) obs[NQ + NV - first + i] = s[S_SEEN + i];
}
