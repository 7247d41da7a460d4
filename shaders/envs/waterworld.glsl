// environment: WaterWorld-v0
//
// WaterWorld (A. Karpathy, REINFORCEjs; EvoJAX 0.2.17): an agent in a pool of 600 x 600 eats food and avoids poison, which drift about and are reflected
// by the walls. 30 rays tell the agent what is near: a ray's five numbers are the distances of a wall, of food and of poison, and a velocity. y points down.
//
// The state is the agent's x, y, vx, vy, then kind (1 food, -1 poison, twice that once it is gone), x, y, vx, vy of each item.
//
// What EvoJAX's rules have and CORRECTED has not:
//   - rays are 6.28 / 30 apart, not 2 pi / 30;
//   - where a ray meets a disc is reckoned with the disc's distance from the ray on a fixed side of it: for discs on the other side, twice their distance
//     from the ray off it;
//   - of a ray that meets nothing, the first item is still seen once it is gone, by its velocity.
//
// env_step, env_reset and env_observe read the state with variable indices, so that it is in memory on GPUs, and not in registers; then loops of single
// elements transfer it best. No function but these takes the state, of which drivers would make copies. What a ray meets is kept in registers, and
// written once.

#define STATE_SIZE 254
#define OBS_SIZE 152
#define ACTION_SIZE 4
#define DISCRETE 1

#include "engine/math.glsl"
#include "engine/rng.glsl"
#include "envs/options.glsl"
#include "envs/transfer.glsl"

#undef TRANSFER_LOAD
#undef TRANSFER_STORE
#define TRANSFER_LOAD(to, k, n, from) \
    { [[dont_unroll]] for (uint k = 0u; k < (n); k++) to[k] = from; }
#define TRANSFER_STORE(k, n, from, store) \
    { [[dont_unroll]] for (uint k = 0u; k < (n); k++) { float carried = from; store; } }

#define CORRECTED (OPTION_0 != 0.0) // corrected: without EvoJAX's mistakes

const uint WW_RAYS = 30u, WW_CHANNELS = 5u;   // CHANNELS numbers a ray
const uint WW_ITEMS = 50u, WW_TOGETHER = 8u; // items are tested eight at once
const uint WW_ITEM = 4u;                     // where they begin
const float WW_SIZE = 600.0, WW_LOW = 1.0, WW_HIGH = 599.0;
const float WW_RADIUS = 10.0; // of discs; what is nearer than twice that is touched
const float WW_RANGE = 120.0; // of rays
const float START_LOW = 20.0, START_HIGH = 580.0;

vec2 ww_direction(uint ray) {
    float angle = float(ray) * (CORRECTED ? 6.28318530717958648 / 30.0 : 6.28 / 30.0);
    return vec2(m_cos(angle), m_sin(angle));
}

// Up, down, left, right: an impulse, and then the water slows. An agent is its x, y, vx, vy.
vec4 ww_swim(vec4 agent, uint action) {
    precise vec2 velocity = agent.zw;
    if (action == 0u) velocity.y -= 1.0;
    if (action == 1u) velocity.y += 1.0;
    if (action == 2u) velocity.x -= 1.0;
    if (action == 3u) velocity.x += 1.0;
    velocity *= 0.95;
    precise vec2 place = agent.xy + velocity, inside = clamp(place, WW_LOW, WW_HIGH);
    return vec4(inside, place != inside ? vec2(0.0) : velocity); // a wall stops both components
}

// An item drifts on, also one that is gone, as the first of them may still be seen. It is its x, y, vx, vy, too.
vec4 ww_drift(vec4 item) {
    precise vec2 place = item.xy + item.zw, inside = clamp(place, WW_LOW, WW_HIGH);
    return vec4(inside, place.x != inside.x ? -item.z : item.z, place.y != inside.y ? -item.w : item.w);
}

bool ww_touches(vec2 agent, vec2 item) {
    precise vec2 apart = agent - item;
    precise float squared = apart.x * apart.x + apart.y * apart.y;
    return squared < 4.0 * WW_RADIUS * WW_RADIUS;
}

#define WW_MOVING(at) vec4(s[at], s[(at) + 1u], s[(at) + 2u], s[(at) + 3u])
#define WW_MOVE(at, to) \
    { \
        vec4 ww_moved = to; \
        s[at] = ww_moved.x; \
        s[(at) + 1u] = ww_moved.y; \
        s[(at) + 2u] = ww_moved.z; \
        s[(at) + 3u] = ww_moved.w; \
    }

// The distance at which a ray from the origin meets a disc; more than any range if it does not.
float ww_meet(vec2 ray, vec2 centre) {
    float side = centre.x * ray.y - centre.y * ray.x;
    if (CORRECTED) {
        float along = dot(ray, centre);
        return abs(side) <= WW_RADIUS && along > 0.0 && along < WW_RANGE ? along : M_INFINITY;
    }
    vec2 point = centre + vec2(ray.y, -ray.x) * abs(side);
    float along = abs(ray.x) > abs(ray.y) ? point.x / ray.x : point.y / ray.y;
    return abs(side) <= WW_RADIUS && along > 0.0 && along < WW_RANGE ? length(point) : M_INFINITY;
}

// The distance of the wall along a ray; WW_RANGE if it is farther.
float ww_wall(vec2 ray, vec2 place) {
    float x = ray.x > 0.0 ? (WW_SIZE - place.x) / ray.x : ray.x < 0.0 ? -place.x / ray.x : M_INFINITY;
    float y = ray.y > 0.0 ? (WW_SIZE - place.y) / ray.y : ray.y < 0.0 ? -place.y / ray.y : M_INFINITY;
    return min(min(x, y), WW_RANGE);
}

// What the agent sees: each ray shows the nearest thing only, then its own velocity.
void env_observe(const float state[STATE_SIZE], out float obs[OBS_SIZE]) {
    float s[STATE_SIZE] = state; // of an array that is const, compilers make a copy for every element that is read with a variable index
    vec4 agent = WW_MOVING(0u);
    [[dont_unroll]] for (uint ray = 0u; ray < WW_RAYS; ray++) {
        vec2 direction = ww_direction(ray);
        float wall = ww_wall(direction, agent.xy), d = WW_RANGE;
        uint nearest = 0u;
        [[dont_unroll]] for (uint first = 0u; first < WW_ITEMS; first += WW_TOGETHER) {
            [[unroll]] for (uint k = 0u; k < WW_TOGETHER; k++) {
                uint i = min(first + k, WW_ITEMS - 1u), at = WW_ITEM + 5u * i;
                float meets = ww_meet(direction, vec2(s[at + 1u], s[at + 2u]) - agent.xy);
                bool nearer = abs(s[at]) == 1.0 && meets < d;
                d = nearer ? meets : d;
                nearest = nearer ? i : nearest;
            }
        }
        bool item = d < WW_RANGE && d <= wall;
        uint at = WW_ITEM + 5u * nearest, channel = s[at] > 0.0 ? 1u : 2u;
        vec2 velocity = vec2(s[at + 3u], s[at + 4u]);
        // An item that is gone is seen where it is the first that is not met at all, which is the first of all but for what lies at the end of a ray.
        bool ghost = false;
        if (!CORRECTED && !item && wall >= WW_RANGE) {
            bool found = false;
            [[unroll]] for (uint k = 0u; k < 2u; k++) {
                const uint gone = WW_ITEM + 5u * k;
                bool met = ww_meet(direction, vec2(s[gone + 1u], s[gone + 2u]) - agent.xy) < M_INFINITY;
                if (!found && !(abs(s[gone]) == 1.0 && met)) {
                    found = true;
                    ghost = met;
                    velocity = vec2(s[gone + 3u], s[gone + 4u]);
                }
            }
        }
        [[unroll]] for (uint k = 0u; k < WW_CHANNELS - 2u; k++) {
            obs[WW_CHANNELS * ray + k] = item && k == channel ? d / WW_RANGE : !item && k == 0u ? wall / WW_RANGE : 1.0;
        }
        obs[WW_CHANNELS * ray + WW_CHANNELS - 2u] = item || ghost ? velocity.x : 0.0;
        obs[WW_CHANNELS * ray + WW_CHANNELS - 1u] = item || ghost ? velocity.y : 0.0;
    }
    obs[WW_CHANNELS * WW_RAYS] = agent.z;
    obs[WW_CHANNELS * WW_RAYS + 1u] = agent.w;
}

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[0] = rng_uniform(rng, START_LOW, START_HIGH);
    s[1] = rng_uniform(rng, START_LOW, START_HIGH);
    s[2] = s[3] = 0.0;
    [[dont_unroll]] for (uint i = WW_ITEM; i < STATE_SIZE; i += 5u) {
        s[i] = rng_uniform(rng) > 0.5 ? 1.0 : -1.0;
        s[i + 1u] = rng_uniform(rng, START_LOW, START_HIGH);
        s[i + 2u] = rng_uniform(rng, START_LOW, START_HIGH);
        s[i + 3u] = rng_uniform(rng, -2.5, 2.5);
        s[i + 4u] = rng_uniform(rng, -2.5, 2.5);
    }
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    vec4 agent = ww_swim(WW_MOVING(0u), action);
    WW_MOVE(0u, agent)
    reward = 0.0;
    [[dont_unroll]] for (uint i = WW_ITEM; i < STATE_SIZE; i += 5u) {
        vec4 item = ww_drift(WW_MOVING(i + 1u));
        WW_MOVE(i + 1u, item)
        if (abs(s[i]) == 1.0 && ww_touches(agent.xy, item.xy)) {
            reward += s[i];
            s[i] *= 2.0;
        }
    }
    terminated = false;
}
