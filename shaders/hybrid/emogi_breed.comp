#version 450

// A gene of the children, which is a hyperparameter: simulated binary crossover of the parents' genes and polynomial mutation, along the prior's coordinate and
// within its range. Groups: x = ceil(members / local size).

#include "ec/sbx.glsl"
#include "ec/mutation.glsl"
#include "hybrid/prior.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Mother { uint mother[]; };   // [M]
layout(std430, set = 0, binding = 1) readonly buffer Mate { uint mate[]; };       // [M]
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };     // [0]: the iteration
layout(std430, set = 0, binding = 3) readonly buffer Genes { float genes[]; };    // [M]: the parents'
layout(std430, set = 0, binding = 4) writeonly buffer Values { float values[]; }; // [M]: the children's

layout(push_constant) uniform Push {
    uint members;
    uint seed;
    uint stream; // of this hyperparameter alone
    uint prior;
    float low;   // coordinates
    float high;
    float crossover_index;
    float mutation_index;
    float exchange_rate;
    float mutation_rate;
    bool alternate; // the second child's mother is the first one's mate
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members) return;
    bool first = alternate || (p & 1u) == 0u;
    float a = genes[first ? mother[p] : mate[p]], b = genes[first ? mate[p] : mother[p]];
    if (!(low < high)) {
        values[p] = a;
        return;
    }
    float x = clamp(prior_coordinate(prior, a), low, high), y = clamp(prior_coordinate(prior, b), low, high);
    uvec4 crossing = philox(uvec2(seed, stream), uvec4(p >> 1u, 0u, clock[0], 0u)); // both children's
    float child = sbx_number(x, y, low, high, true, crossing.x, crossing.y, crossover_index, exchange_rate);
    uvec4 mutation = philox(uvec2(seed, stream), uvec4(p, 0u, clock[0], 1u));
    bool mutates = rng_unit(mutation.y) < mutation_rate;
    if (mutates) child = polynomial_change(child, low, high, true, 1.0, rng_unit(mutation.x), mutation_index);
    values[p] = mutates || child != x ? prior_value(prior, child) : a;
}
