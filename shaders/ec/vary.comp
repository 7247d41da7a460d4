#version 450

// Offspring: parents 2 q and 2 q + 1 are crossed into children 2 q and 2 q + 1, each of which is mutated. Children
// are recomputed from parents and counters wherever they are needed. Groups: x = any number, which share a search's
// coordinates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(constant_id = 1) const uint CROSSOVER = 0; // one of the following
const uint NO_CROSSOVER = 0u;
const uint UNIFORM = 1u;
const uint ONE_POINT = 2u;
const uint TWO_POINT = 3u;
const uint SBX = 4u;
const uint LINE = 5u;
layout(constant_id = 2) const uint MUTATION = 0; // one of the following
const uint NO_MUTATION = 0u;
const uint GAUSSIAN = 1u;
const uint POLYNOMIAL = 2u;
const uint WEIGHTS = 3u;
layout(constant_id = 6) const bool HAS_MATRIX = false; // false: all coordinates are weights of one matrix
layout(constant_id = 4) const bool BEGIN_AS_IS = false; // in generation 0 child c is candidate c, unchanged
layout(constant_id = 5) const bool ONE_CHILD = false;   // every pair has one child, its first
layout(constant_id = 3) const bool HAS_PICK = false; // the indices to form are those of `pick`, else those from `first` on

layout(std430, set = 0, binding = 0) readonly buffer Population { vec4 population[]; };  // [M, N, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer population_texels;
layout(std430, set = 0, binding = 2) readonly buffer Parent { uint parent[]; };          // [M, parents], an even number: indices of candidates
layout(std430, set = 0, binding = 3) readonly buffer Pick { uint pick[]; };              // [M, picks], of which `count` are used
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };            // [0]: the generation
layout(std430, set = 0, binding = 5) readonly buffer CrossoverRate { float crossover_rate[]; }; // [M]: probability that a pair is crossed
layout(std430, set = 0, binding = 6) readonly buffer MutationRate { float mutation_rate[]; };   // [M]: probability of mutating a coordinate; below 0: 1 / dim
layout(std430, set = 0, binding = 7) readonly buffer MutationStd { float mutation_std[]; };     // [M]
layout(std430, set = 0, binding = 8) writeonly buffer Candidates { vec4 candidates[]; };        // [M, count, row]

layout(std430, set = 0, binding = 9) readonly buffer Matrix { uint matrix[]; }; // [row]: number of the weight matrix, 0 for others; optional

layout(push_constant) uniform Push {
    uint seed;
    uint crossover_stream;
    uint mutation_stream;
    uint dim;
    uint size;    // candidates of the population, N
    uint parents; // number of parents
    uint count;   // candidates to form
    uint picks;
    uint first;
    uint kept;    // indices below it are unchanged candidates of the population; child c has index kept + c
    float exchange_rate;   // of coordinates, for uniform crossover and SBX
    float crossover_index; // of SBX
    float line_std;
    float mutation_index;  // of polynomial mutation
};

#include "ec/crossover.glsl"
#include "ec/sbx.glsl"
#include "ec/mutation.glsl"
#include "ec/space.glsl"

const uint WHOLE = 0xFFFFFFFFu; // the draw for decisions that concern a whole pair

vec4 of_population(uint search, uint number, uint block) {
    return LOAD4(population, population_texels, (search * size + number) * ((dim + 3u) / 4u) + block);
}

vec4 crossed(uint search, uint child, uint block) {
    uint at = search * parents + child, pair = child >> 1;
    vec4 a = of_population(search, parent[at], block);
    if (CROSSOVER == NO_CROSSOVER) return a;
    uvec2 key = uvec2(seed, crossover_stream);
    uvec4 whole = philox(key, uvec4(search, pair, clock[0], WHOLE));
    if (!(rng_unit(whole.x) < crossover_rate[search])) return a;
    vec4 b = of_population(search, parent[at ^ 1u], block);
    if (CROSSOVER == LINE) return line_crossover(a, b, line_std, rng_gauss(whole.y, whole.z));
    if (CROSSOVER == ONE_POINT) return point_crossover(a, b, block, one_point(whole.y, dim), dim);
    if (CROSSOVER == TWO_POINT) {
        uvec2 points = two_points(whole.yz, dim);
        return point_crossover(a, b, block, points.x, points.y);
    }
    uvec4 words = philox(key, uvec4(search, pair, clock[0], 2u * block));
    if (CROSSOVER == UNIFORM) return uniform_crossover(a, b, words, exchange_rate);
    uvec4 choices = philox(key, uvec4(search, pair, clock[0], 2u * block + 1u));
    return sbx(a, b, low4(block), high4(block), BOUNDED, words, choices, crossover_index, exchange_rate);
}

// Whether the matrix of a weight mutates.
bool gate(uvec2 key, uint search, uint child, uint number) {
    if (number == 0u) return false;
    uvec4 words = philox(key, uvec4(search, child, clock[0], WHOLE - number));
    return rng_unit(words.x) < 2.0 * rng_unit(words.y);
}

vec4 mutated(vec4 x, uint search, uint child, uint block) {
    if (MUTATION == NO_MUTATION) return x;
    uvec2 key = uvec2(seed, mutation_stream);
    uvec4 words = philox(key, uvec4(search, child, clock[0], 2u * block));
    uvec4 choices = philox(key, uvec4(search, child, clock[0], 2u * block + 1u));
    float rate = mutation_rate[search], deviation = mutation_std[search];
    rate = rate < 0.0 ? 1.0 / float(dim) : rate;
    if (MUTATION == GAUSSIAN) return gaussian_mutation(x, deviation, words, choices, rate);
    if (MUTATION == WEIGHTS) {
        bvec4 mutates;
        uint before = 0u;
        bool open = false;
        for (uint k = 0u; k < 4u; k++) {
            uint number = HAS_MATRIX ? matrix[4u * block + k] : 1u;
            if (number != before) open = gate(key, search, child, number);
            mutates[k] = number != 0u && open;
            before = number;
        }
        return weight_mutation(x, deviation, words, choices, rate, mutates);
    }
    return polynomial_mutation(x, low4(block), high4(block), BOUNDED, deviation, words, choices, mutation_index, rate);
}

void main() {
    uint search = gl_WorkGroupID.y, fours = (dim + 3u) / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += stride) {
        uint c = i / fours, block = i % fours;
        uint number = HAS_PICK ? pick[search * picks + c] : first + c;
        vec4 x;
        if (number < kept || (BEGIN_AS_IS && clock[0] == 0u)) {
            x = of_population(search, number < kept ? number : number - kept, block);
        } else {
            uint child = ONE_CHILD ? 2u * (number - kept) : number - kept;
            x = inside(mutated(crossed(search, child, block), search, child, block), block);
        }
        candidates[search * count * fours + i] = x;
    }
}
