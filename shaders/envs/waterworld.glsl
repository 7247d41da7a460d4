// WaterWorld (A. Karpathy, REINFORCEjs; EvoJAX 0.2.17): agents in a pool of 600 x 600 eat food and avoid poison, which drift about and are reflected
// by the walls. 30 rays tell an agent what is near. y points down.
//
// The includer defines the sizes, STATE_IN_BUFFER, AGENTS and
//
//     #define WW_ITEMS 50u
//     #define WW_RADIUS 10.0   // of discs; what is nearer than twice that is touched
//     #define WW_RANGE 120.0   // of rays
//     #define WW_CHANNELS 5u   // numbers of a ray: distances of a wall, of food, of poison [, of another agent], then a velocity
//
// The state is x, y, vx, vy of each agent, then kind (1 food, -1 poison, twice that once it is gone), x, y, vx, vy of each item.
//
// What EvoJAX's rules have and CORRECTED has not:
//   - rays are 6.28 / 30 apart, not 2 pi / 30;
//   - where a ray meets a disc is reckoned with the disc's distance from the ray on a fixed side of it: for discs on the other side, twice their distance
//     from the ray off it;
//   - of a ray that meets nothing, the first item is still seen once it is gone, by its velocity;
//   - other agents are looked up among the items, and seen as the last one of these, with its kind and velocity.

#include "engine/math.glsl"
#include "engine/rng.glsl"
#include "envs/options.glsl"
#include "envs/stored.glsl"

#define CORRECTED (OPTION_0 != 0.0) // corrected: without EvoJAX's mistakes

const uint WW_RAYS = 30u;
const uint WW_AGENTS = AGENTS;
const uint WW_ITEM = 4u * WW_AGENTS; // where the items begin
const float WW_SIZE = 600.0, WW_LOW = 1.0, WW_HIGH = 599.0;

vec2 ww_direction(uint ray) {
    float angle = float(ray) * (CORRECTED ? 6.28318530717958648 / 30.0 : 6.28 / 30.0);
    return vec2(m_cos(angle), m_sin(angle));
}

vec2 ww_vector(uint f) { return vec2(state(f), state(f + 1u)); }

// Sets x, y, vx, vy.
void ww_set(uint f, vec2 place, vec2 velocity) {
    set_state(f, place.x);
    set_state(f + 1u, place.y);
    set_state(f + 2u, velocity.x);
    set_state(f + 3u, velocity.y);
}

// Up, down, left, right: an impulse, and then the water slows. Returns where the agent is then.
vec2 ww_swim(uint agent, uint action) {
    precise vec2 velocity = ww_vector(4u * agent + 2u);
    if (action == 0u) velocity.y -= 1.0;
    if (action == 1u) velocity.y += 1.0;
    if (action == 2u) velocity.x -= 1.0;
    if (action == 3u) velocity.x += 1.0;
    velocity *= 0.95;
    precise vec2 place = ww_vector(4u * agent) + velocity, inside = clamp(place, WW_LOW, WW_HIGH);
    ww_set(4u * agent, inside, place != inside ? vec2(0.0) : velocity); // a wall stops both components
    return inside;
}

bool ww_touches(vec2 agent, vec2 item) {
    precise vec2 apart = agent - item;
    precise float squared = apart.x * apart.x + apart.y * apart.y;
    return squared < 4.0 * WW_RADIUS * WW_RADIUS;
}

// Sets an item whose kind is by chance food or poison, with a velocity that is drawn.
void ww_item(uint f, float chance, vec2 place, inout Rng rng) {
    set_state(f, chance > 0.5 ? 1.0 : -1.0);
    float vx = rng_uniform(rng, -2.5, 2.5);
    ww_set(f + 1u, place, vec2(vx, rng_uniform(rng, -2.5, 2.5)));
}

// Agents swim, items drift, and what an agent touches is gone and pays; what several touch at once pays each.
void env_step(const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated) {
    vec2 place[AGENTS];
    [[unroll]] for (uint a = 0u; a < WW_AGENTS; a++) {
        place[a] = ww_swim(a, action[a]);
        reward[a] = 0.0;
    }
    [[dont_unroll]] for (uint f = WW_ITEM; f < WW_ITEM + 5u * WW_ITEMS; f += 5u) {
        // An item drifts on, also one that is gone, as the first of them may still be seen.
        float kind = state(f);
        precise vec2 velocity = ww_vector(f + 3u), to = ww_vector(f + 1u) + velocity, inside = clamp(to, WW_LOW, WW_HIGH);
        set_state(f + 1u, inside.x);
        set_state(f + 2u, inside.y);
        if (to.x != inside.x) set_state(f + 3u, -velocity.x); // seldom: the software driver stores lane by lane
        if (to.y != inside.y) set_state(f + 4u, -velocity.y);
        bool there = abs(kind) == 1.0, touched = false;
        [[unroll]] for (uint a = 0u; a < WW_AGENTS; a++) {
            bool touches = there && ww_touches(place[a], inside);
            reward[a] += touches ? kind : 0.0;
            touched = touched || touches;
        }
        if (touched) set_state(f, 2.0 * kind);
    }
    terminated = false;
}

// The square of the distance at which a ray from the origin meets a disc; more than any range's if it does not.
float ww_meet(vec2 ray, vec2 centre) {
    float side = centre.x * ray.y - centre.y * ray.x;
    if (CORRECTED) {
        float along = dot(ray, centre);
        return abs(side) <= WW_RADIUS && along > 0.0 && along < WW_RANGE ? along * along : M_INFINITY;
    }
    vec2 point = centre + vec2(ray.y, -ray.x) * abs(side);
    float along = abs(ray.x) > abs(ray.y) ? point.x * (1.0 / ray.x) : point.y * (1.0 / ray.y);
    return abs(side) <= WW_RADIUS && along > 0.0 && along < WW_RANGE ? dot(point, point) : M_INFINITY;
}

// The distance of the wall along a ray; WW_RANGE if it is farther.
float ww_wall(vec2 ray, vec2 place) {
    float x = ray.x > 0.0 ? (WW_SIZE - place.x) / ray.x : ray.x < 0.0 ? -place.x / ray.x : M_INFINITY;
    float y = ray.y > 0.0 ? (WW_SIZE - place.y) / ray.y : ray.y < 0.0 ? -place.y / ray.y : M_INFINITY;
    return min(min(x, y), WW_RANGE);
}

// Where the state of thing i begins, an item or an agent: its x.
uint ww_thing(uint i) { return i < WW_ITEMS ? WW_ITEM + 5u * i + 1u : 4u * (i - WW_ITEMS); }

// What an agent sees: each ray shows the nearest thing only, then its own velocity. Of 32 things at a time it is found out first which are in its reach,
// since lanes have worlds of their own: some world has a thing in reach most of the time, but each world has few. Each of these is tested with all rays.
// Distances are in registers, since no loop has variable indices.
void env_observe(uint agent) {
    vec2 place = ww_vector(4u * agent);
    float squares[WW_RAYS]; // of distances
    uint nearest[WW_RAYS];
    [[unroll]] for (uint ray = 0u; ray < WW_RAYS; ray++) {
        squares[ray] = WW_RANGE * WW_RANGE;
        nearest[ray] = 0u;
    }
    const uint things = WW_ITEMS + (WW_AGENTS > 1u ? WW_AGENTS : 0u);
    [[dont_unroll]] for (uint first = 0u; first < things; first += 32u) {
        uint near = 0u; // bit b: thing first + b
        [[dont_unroll]] for (uint i = first; i < min(first + 32u, things); i++) {
            uint f = ww_thing(i);
            vec2 to = ww_vector(f) - place;
            bool there = i < WW_ITEMS ? abs(state(f - 1u)) == 1.0 : i - WW_ITEMS != agent;
            const float reach = WW_RANGE + 2.0 * WW_RADIUS; // a point off the ray may be that far
            near |= there && dot(to, to) <= reach * reach + WW_RADIUS * WW_RADIUS ? 1u << (i - first) : 0u;
        }
        [[dont_unroll]] while (near != 0u) {
            uint i = first + uint(findLSB(near));
            near &= near - 1u;
            vec2 to = ww_vector(ww_thing(i)) - place;
            [[unroll]] for (uint ray = 0u; ray < WW_RAYS; ray++) {
                float square = ww_meet(ww_direction(ray), to);
                bool nearer = square < squares[ray];
                squares[ray] = nearer ? square : squares[ray];
                nearest[ray] = nearer ? i : nearest[ray];
            }
        }
    }
    // The first two items, one of which may still be seen once it is gone.
    float kinds[2];
    vec2 gone[2], velocities[2];
    [[unroll]] for (uint k = 0u; k < 2u; k++) {
        const uint f = WW_ITEM + 5u * k;
        kinds[k] = state(f);
        gone[k] = ww_vector(f + 1u) - place;
        velocities[k] = ww_vector(f + 3u);
    }
    [[dont_unroll]] for (uint ray = 0u; ray < WW_RAYS; ray++) {
        float d = sqrt(squares[0]);
        uint i = nearest[0];
        [[unroll]] for (uint k = 0u; k < WW_RAYS - 1u; k++) { // k + 1u < WW_RAYS would not be unrolled by Mesa's compiler
            squares[k] = squares[k + 1u];
            nearest[k] = nearest[k + 1u];
        }
        vec2 direction = ww_direction(ray);
        float wall = ww_wall(direction, place);
        bool thing = d < WW_RANGE && d <= wall, other = CORRECTED && i >= WW_ITEMS;
        uint f = other ? 4u * (i - WW_ITEMS) : WW_ITEM + 5u * min(i, WW_ITEMS - 1u);
        uint channel = other ? WW_CHANNELS - 3u : state(f) > 0.0 ? 1u : 2u;
        vec2 velocity = ww_vector(f + (other ? 2u : 3u));
        // An item that is gone is seen where it is the first that is not met at all, which is the first of all but for what lies at the end of a ray.
        bool ghost = false;
        if (!CORRECTED && !thing && wall >= WW_RANGE) {
            bool found = false;
            [[unroll]] for (uint k = 0u; k < 2u; k++) {
                bool met = ww_meet(direction, gone[k]) < M_INFINITY;
                if (!found && !(abs(kinds[k]) == 1.0 && met)) {
                    found = true;
                    ghost = met;
                    velocity = velocities[k];
                }
            }
        }
        uint to = WW_CHANNELS * ray;
        [[unroll]] for (uint k = 0u; k < WW_CHANNELS - 2u; k++) {
            show(to + k, thing && k == channel ? d / WW_RANGE : !thing && k == 0u ? wall / WW_RANGE : 1.0);
        }
        show(to + WW_CHANNELS - 2u, thing || ghost ? velocity.x : 0.0);
        show(to + WW_CHANNELS - 1u, thing || ghost ? velocity.y : 0.0);
    }
    vec2 velocity = ww_vector(4u * agent + 2u);
    show(WW_CHANNELS * WW_RAYS, velocity.x);
    show(WW_CHANNELS * WW_RAYS + 1u, velocity.y);
}
