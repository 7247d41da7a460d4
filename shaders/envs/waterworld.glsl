// WaterWorld (A. Karpathy, REINFORCEjs; EvoJAX 0.2.17): agents in a pool of 600 x 600 eat food and avoid poison, which drift about and are reflected
// by the walls. 30 rays tell an agent what is near. y points down.
//
// The includer defines STATE_SIZE, OBS_SIZE and AGENTS, if there are several, and before the include
//
//     #define WW_AGENTS 1u     // x, y, vx, vy each, at the beginning of the state
//     #define WW_ITEMS 50u     // then kind (1 food, -1 poison, twice that once it is gone), x, y, vx, vy of each
//     #define WW_RADIUS 10.0   // of discs; agents touch at twice that
//     #define WW_RANGE 120.0   // of rays
//     #define WW_CHANNELS 5u   // of a ray: distance of a wall, of food, of poison [, of another agent], vx, vy
//
// What EvoJAX's rules have and CORRECTED has not:
//   - rays are 6.28 / 30 apart, not 2 pi / 30;
//   - where a ray meets a disc is reckoned with the disc's distance from the ray on a fixed side of it: for discs on the other side, twice their distance
//     from the ray off it;
//   - of a ray that meets nothing, the first item is still seen once it is gone, by its velocity;
//   - other agents are looked up among the items, and seen as the last one of these, with its kind and velocity.
//
// The includer's env_step and env_reset, and env_observe here, read the state with variable indices, so that it is in memory on GPUs, and not in registers;
// then loops of single elements transfer it best. No function but these takes the state, of which drivers would make copies. What a ray meets is kept in
// registers, and written once.

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

const uint WW_RAYS = 30u, WW_TOGETHER = 8u; // things are tested eight at once
const uint WW_ITEM = 4u * WW_AGENTS;         // where the items begin
const float WW_SIZE = 600.0, WW_LOW = 1.0, WW_HIGH = 599.0;

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

// What an agent sees: each ray shows the nearest thing only, then its own velocity.
#ifdef AGENTS
void env_observe(const float state[STATE_SIZE], uint seat, out float obs[OBS_SIZE]) {
#else
void env_observe(const float state[STATE_SIZE], out float obs[OBS_SIZE]) {
    const uint seat = 0u;
#endif
    float s[STATE_SIZE] = state; // of an array that is const, compilers make a copy for every element that is read with a variable index
    vec4 agent = WW_MOVING(4u * seat);
    [[dont_unroll]] for (uint ray = 0u; ray < WW_RAYS; ray++) {
        vec2 direction = ww_direction(ray);
        float wall = ww_wall(direction, agent.xy), d = WW_RANGE;
        uint nearest = 0u;
        [[dont_unroll]] for (uint first = 0u; first < WW_ITEMS + WW_AGENTS; first += WW_TOGETHER) {
            [[unroll]] for (uint k = 0u; k < WW_TOGETHER; k++) {
                uint i = min(first + k, WW_ITEMS + WW_AGENTS - 1u); // an item, or after all of them an agent
                uint at = i < WW_ITEMS ? WW_ITEM + 1u + 5u * i : 4u * (i - WW_ITEMS);
                float kind = s[i < WW_ITEMS ? at - 1u : 0u];
                bool there = i < WW_ITEMS ? abs(kind) == 1.0 : i - WW_ITEMS != seat;
                float meets = ww_meet(direction, vec2(s[at], s[at + 1u]) - agent.xy);
                bool nearer = there && meets < d;
                d = nearer ? meets : d;
                nearest = nearer ? i : nearest;
            }
        }
        bool item = d < WW_RANGE && d <= wall;
        uint at = WW_ITEM + 5u * min(nearest, WW_ITEMS - 1u), channel = s[at] > 0.0 ? 1u : 2u;
        vec2 velocity = vec2(s[at + 3u], s[at + 4u]);
        if (CORRECTED && nearest >= WW_ITEMS) {
            at = 4u * (nearest - WW_ITEMS);
            channel = WW_CHANNELS - 3u;
            velocity = vec2(s[at + 2u], s[at + 3u]);
        }
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
