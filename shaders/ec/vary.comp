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
const uint NEURONS = 6u;
layout(constant_id = 2) const uint MUTATION = 0; // one of the following
const uint NO_MUTATION = 0u;
const uint GAUSSIAN = 1u;
const uint POLYNOMIAL = 2u;
const uint WEIGHTS = 3u;
const uint SHARES = 4u; // as WEIGHTS, with a rate of each matrix that is uniform up to the rate
layout(constant_id = 6) const bool HAS_MATRIX = false; // false: all coordinates are weights of one matrix
layout(constant_id = 4) const bool BEGIN_AS_IS = false; // in generation 0 child c is the population's candidate c, unchanged
layout(constant_id = 7) const bool HAS_NEURON = false; // false: every coordinate is a neuron of one matrix
layout(constant_id = 5) const bool ONE_CHILD = false;   // every pair has one child, its first
layout(constant_id = 3) const bool HAS_PICK = false; // the indices to form are in `pick`, else they are from `first` on

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
layout(std430, set = 0, binding = 10) readonly buffer Neuron { uint neuron[]; }; // [row]: Space.Neurons; optional

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
    uint kept;    // indices below it are unchanged candidates of the population; the generation's candidate c has index kept + c
    uint elites;  // the generation's first candidates are the population's, unchanged; child c is candidate elites + c
    float exchange_rate;   // of coordinates, for uniform crossover and SBX
    float crossover_index; // of SBX
    float line_std;
    float mutation_index;  // of polynomial mutation
    float mutant_rate;     // probability that a child is mutated at all
    float mutation_limit;  // largest size of a mutated weight
};

#include "ec/crossover.glsl"
#include "ec/sbx.glsl"
#include "ec/mutation.glsl"
#include "ec/space.glsl"

const uint WHOLE = 0xFFFFFFFFu; // the draw for decisions that concern a whole pair

vec4 of_population(uint search, uint number, uint block) {
    return LOAD4(population, population_texels, (search * size + number) * ((dim + 3u) / 4u) + block);
}

// Crossover of whole neurons (S. Khadka, K. Tumer, 2018, their code): of n rows of a matrix, uniformly up to 2 n times, of n numbers of a
// vector up to n times, one child gets a row of the other. So both have the same row, either parent's, if it is drawn at all.
vec4 neuron_crossover(vec4 a, vec4 b, uint search, uint child, uint block) {
    uvec2 key = uvec2(seed, crossover_stream);
    uint before = WHOLE;
    uvec4 words;
    float drawn = 0.0;
    for (uint k = 0u; k < 4u; k++) {
        uint of = HAS_NEURON ? neuron[4u * block + k] : (1u << 17) + 4u * block + k, part = of >> 17;
        if (part != before) {
            float times = rng_unit(philox(key, uvec4(search, child >> 1, clock[0], WHOLE - part)).x) * ((of & 65536u) != 0u ? 1.0 : 2.0);
            drawn = -exp_less_one(-times); // as many draws as `times` rows, with replacement
            before = part;
        }
        words = philox(key, uvec4(search, child >> 1, clock[0], of));
        bool first = rng_unit(words.y) < 0.5; // both get the row of the pair's first parent
        if (rng_unit(words.x) < drawn && first == ((child & 1u) != 0u)) a[k] = b[k];
    }
    return a;
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
    if (CROSSOVER == NEURONS) return neuron_crossover(a, b, search, child, block);
    uvec4 choices = philox(key, uvec4(search, pair, clock[0], 2u * block + 1u));
    return sbx(a, b, low4(block), high4(block), CLOSED, words, choices, crossover_index, exchange_rate);
}

// Probability that a weight of a matrix mutates: 0 if the matrix does not.
float share(uvec2 key, uint search, uint child, uint number, float rate) {
    if (number == 0u) return 0.0;
    uvec4 words = philox(key, uvec4(search, child, clock[0], WHOLE - number));
    if (!(rng_unit(words.x) < 2.0 * rng_unit(words.y))) return 0.0;
    return MUTATION == SHARES ? rate * rng_unit(words.z) : rate;
}

vec4 mutated(vec4 x, uint search, uint child, uint block) {
    if (MUTATION == NO_MUTATION) return x;
    uvec2 key = uvec2(seed, mutation_stream);
    if (mutant_rate < 1.0 && !(rng_unit(philox(key, uvec4(search, child, clock[0], WHOLE)).x) < mutant_rate)) return x;
    uvec4 words = philox(key, uvec4(search, child, clock[0], 2u * block));
    uvec4 choices = philox(key, uvec4(search, child, clock[0], 2u * block + 1u));
    float rate = mutation_rate[search], deviation = mutation_std[search];
    rate = rate < 0.0 ? 1.0 / float(dim) : rate;
    if (MUTATION == GAUSSIAN) return gaussian_mutation(x, deviation, words, choices, rate);
    if (MUTATION == WEIGHTS || MUTATION == SHARES) {
        vec4 rates;
        uint before = 0u;
        float at = 0.0;
        for (uint k = 0u; k < 4u; k++) {
            uint number = HAS_MATRIX ? matrix[4u * block + k] : 1u;
            if (number != before) at = share(key, search, child, number, rate);
            rates[k] = number != 0u ? at : 0.0;
            before = number;
        }
        return weight_mutation(x, deviation, words, choices, rates, mutation_limit);
    }
    vec4 reach = BOUNDED ? high4(block) - low4(block) : vec4(deviation); // open bounds are the scale, too
    return polynomial_mutation(x, low4(block), high4(block), CLOSED, reach, words, choices, mutation_index, rate);
}

void main() {
    uint search = gl_WorkGroupID.y, fours = (dim + 3u) / 4u;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < count * fours; i += stride) {
        uint c = i / fours, block = i % fours;
        uint number = HAS_PICK ? pick[search * picks + c] : first + c;
        vec4 x;
        uint candidate = number < kept ? number : number - kept;
        if (number < kept || candidate < elites || (BEGIN_AS_IS && clock[0] == 0u)) {
            x = of_population(search, candidate, block);
        } else {
            uint child = ONE_CHILD ? 2u * (candidate - elites) : candidate - elites;
            x = inside(mutated(crossed(search, child, block), search, child, block), block);
        }
        candidates[search * count * fours + i] = x;
    }
}
