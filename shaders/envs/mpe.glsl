// Multi-agent particle environments (R. Lowe et al., "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments", 2017; I. Mordatch and
// P. Abbeel, "Emergence of Grounded Compositional Language in Multi-Agent Populations", 2018), by the rules of the package mpe2: discs of mass 1 in a plane
// without walls, which push each other apart softly. A step takes forces at the old positions, then moves by the old velocities.
//
// An agent's place and velocity are four elements of the state, and actions are 0 none, 1 left, 2 right, 3 down, 4 up.

#include "engine/math.glsl"
#include "engine/rng.glsl"

const float MPE_TIME_STEP = 0.1;
const float MPE_DAMPING = 0.25;         // share of the velocity that a step takes away
const float MPE_CONTACT_FORCE = 100.0;
const float MPE_CONTACT_MARGIN = 0.001; // width of the soft edge of discs

vec2 mpe_direction(uint action) {
    return vec2(action == 2u ? 1.0 : action == 1u ? -1.0 : 0.0, action == 4u ? 1.0 : action == 3u ? -1.0 : 0.0);
}

// The force on a disc that is `apart` from another whose radii sum to `reach`. Where the centres are one point, there is none: the package
// divides by zero.
vec2 mpe_contact(vec2 apart, float reach) {
    float d = sqrt(apart.x * apart.x + apart.y * apart.y), z = (reach - d) / MPE_CONTACT_MARGIN;
    float depth = MPE_CONTACT_MARGIN * (max(z, 0.0) + m_log(1.0 + m_exp(-abs(z)))); // log(1 + exp(z)) without overflow
    return d > 0.0 ? apart * (MPE_CONTACT_FORCE * depth / d) : vec2(0.0);
}

bool mpe_touches(vec2 apart, float reach) { return sqrt(apart.x * apart.x + apart.y * apart.y) < reach; }

// Moves an agent by a force; limit is its highest speed.
void mpe_move(inout vec2 place, inout vec2 velocity, vec2 force, float limit) {
    place += MPE_TIME_STEP * velocity;
    velocity = (1.0 - MPE_DAMPING) * velocity + MPE_TIME_STEP * force;
    float speed = sqrt(velocity.x * velocity.x + velocity.y * velocity.y);
    if (speed > limit) velocity *= limit / speed;
}

vec2 mpe_start(inout Rng rng, float range) {
    float x = rng_uniform(rng, -range, range);
    return vec2(x, rng_uniform(rng, -range, range));
}
