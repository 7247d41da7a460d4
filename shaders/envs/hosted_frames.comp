#version 450

// Stacks frames of bytes of environments that the host has stepped: the observations to act on next and, before a step is kept, that step's observations in
// the trajectory and in the sums over observations acted on. A stack has the oldest frame first along the last axis, [pixels, FRAMES, CHANNELS]; that of an
// episode's first observation is its first frame, repeated. One invocation for each environment and GROUP words of a stack, which are whole pixels: each
// element comes from a later one of the same pixel, so that a stack is moved in place.
// Groups: x · local size >= ceil(words / GROUP), y = count.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 6) const bool TRAJECTORY = false;     // write every transition
layout(constant_id = 7) const bool HAS_NORMALIZER = false;
layout(constant_id = 8) const bool HAS_SEEN = false;
layout(constant_id = 9) const bool HAS_FLOATS = false;
layout(constant_id = 10) const bool PACKED = false;   // the trajectory has words; else floats
layout(constant_id = 11) const uint CHANNELS = 1;     // of a frame
layout(constant_id = 12) const uint FRAMES = 4;       // of a stack
layout(constant_id = 13) const uint GROUP = 1;        // words of an invocation

layout(std430, set = 0, binding = 0) readonly buffer Arrived { uint arrived[]; }; // [M, E, frame words]: to act on next
layout(std430, set = 0, binding = 1) readonly buffer Final { uint final[]; };     // [M, E, frame words]: the last of an episode, where the step ended one
layout(std430, set = 0, binding = 2) readonly buffer Flags { uint flags[]; };     // [M, E]: DONE_* of the step
layout(std430, set = 0, binding = 3) readonly buffer Word { uint word[]; };       // [M, E]: 0 where an episode has begun; see hosted_keep.comp
layout(std430, set = 0, binding = 4) readonly buffer Normalizer { float normalizer[]; }; // [M / share, 2, O]; optional
layout(std430, set = 0, binding = 5) readonly buffer Step { uint step_index[]; }; // [1]: index on the time axis; optional
layout(std430, set = 0, binding = 6) buffer Stack { uint stack[]; };              // [M, E, words]
layout(std430, set = 0, binding = 7) writeonly buffer Floats { float floats[]; }; // [M, E, O]: the stack; optional
layout(std430, set = 0, binding = 8) buffer Seen { float seen[]; };               // [1 + 2 O, M, E]: see rollout.comp; optional
layout(std430, set = 0, binding = 9) writeonly buffer Obs { uint obs_out[]; };    // [T, M, E, words], or [T, M, E, O] bits of floats; optional
layout(std430, set = 0, binding = 10) writeonly buffer NextObs { uint next_obs_out[]; }; // likewise; optional

layout(push_constant) uniform Push {
    uint members;
    uint environments; // per member
    uint features;     // O, of a stack
    uint share;        // consecutive members that share a normalizer
    uint params_period; // members m and m + k * params_period have one policy
    uint first; // index in [M, E] of the first environment
    uint behind; // steps from the one that is kept to the index on the time axis; there is nothing to keep before the first one
    uint begins; // 1: no step is kept, only stacks of episodes that have begun are made
};

const uint DONE_OVER = 3u; // terminated, truncated
const uint DONE_VOID = 4u;

float unit(uint byte) { return float(byte) * (1.0 / 255.0); }

uint pick(uint word, uint element) { return word >> (element % 4u * 8u) & 0xFFu; }

const bool ELEMENTWISE = HAS_FLOATS || HAS_SEEN || TRAJECTORY && !PACKED; // there is more to write than words

// The stacks' words w of a step: what is acted on next, and what a trajectory has as the step's result.
void stack_word(uint at, uint w, uint before, bool over, bool ends, out uint now, out uint next) {
    uint words = (features + 3u) / 4u, frame_words = (features / FRAMES + 3u) / 4u;
    bool differs = ends && TRAJECTORY;
    if (CHANNELS == 1u && FRAMES == 4u) { // a pixel is a word
        uint newest = pick(arrived[at * frame_words + w / 4u], w);
        now = over ? newest * 0x01010101u : before >> 8 | newest << 24;
        next = differs ? before >> 8 | pick(final[at * frame_words + w / 4u], w) << 24 : now;
        return;
    }
    const uint pixel = CHANNELS * FRAMES; // elements
    now = next = 0u;
    for (uint e = 4u * w; e < min(4u * w + 4u, features); e++) {
        uint f = e / pixel * CHANNELS + e % CHANNELS; // element of a frame
        uint newest = pick(arrived[at * frame_words + f / 4u], f), moved = newest, last = newest;
        if (!over || differs) {
            if (e % pixel + CHANNELS < pixel) { // of an older frame
                uint of = e + CHANNELS;
                moved = last = pick(of / 4u == w ? before : stack[at * words + of / 4u], of);
            } else if (ends) {
                last = pick(final[at * frame_words + f / 4u], f);
            }
        }
        uint value = over ? newest : moved;
        now |= value << (e % 4u * 8u);
        next |= (ends ? last : value) << (e % 4u * 8u);
    }
}

void see(uint at, uint all, uint element, float x) {
    uint member = at / environments;
    if (HAS_NORMALIZER) x -= normalizer[member % params_period / share * 2u * features + element];
    seen[(1u + element) * all + at] += x;
    seen[(1u + features + element) * all + at] += x * x;
    if (element == 0u) seen[at] += 1.0;
}

void main() {
    uint words = (features + 3u) / 4u, groups = (words + GROUP - 1u) / GROUP, all = members * environments;
    if (gl_GlobalInvocationID.x >= groups) return;
    uint at = first + gl_WorkGroupID.y, begin = gl_GlobalInvocationID.x * GROUP; // at is the index in [M, E]
    bool keeps = begins == 0u;
    if (keeps ? step_index[0] < behind : word[at] != 0u) return;
    uint done = keeps ? flags[at] : DONE_OVER | DONE_VOID;
    bool over = (done & DONE_OVER) != 0u, ends = over && (done & DONE_VOID) == 0u;
    uint i = keeps ? (step_index[0] - behind) * all + at : 0u; // in [T, M, E]
    for (uint w = begin; w < min(begin + GROUP, words); w++) {
        uint before = stack[at * words + w], now, next;
        stack_word(at, w, before, over, ends, now, next);
        if (TRAJECTORY && keeps && PACKED) {
            obs_out[i * words + w] = before;
            next_obs_out[i * words + w] = next;
        }
        if (ELEMENTWISE) {
            for (uint e = 4u * w; e < min(4u * w + 4u, features); e++) {
                if (HAS_FLOATS) floats[at * features + e] = unit(pick(now, e));
                if (TRAJECTORY && keeps && !PACKED) {
                    obs_out[i * features + e] = floatBitsToUint(unit(pick(before, e)));
                    next_obs_out[i * features + e] = floatBitsToUint(unit(pick(next, e)));
                }
                if (HAS_SEEN && keeps && (done & DONE_VOID) == 0u) see(at, all, e, unit(pick(before, e)));
            }
        }
        stack[at * words + w] = now;
    }
}
