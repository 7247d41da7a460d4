// Reads observations that another kernel has chosen from a part of a replay, four features an invocation, of which each computes every so many of an
// observation: features are a multiple of four. place[j] of an observation is the index in its ring of its frame j, the newest first; if it is
// REPLAY_NONE, the observation is zeros. Frames in other parts are left as they are.
//
// Groups: x = ceil(O / 4 / local size) or fewer, y = observations B, z = batches, of member z mod M.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "rl/replay.glsl"
#include "rl/replay_format.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_NORMALIZER = false;
layout(constant_id = 2) const uint FEATURES = 4; // O; a processor divides by constants alone in little time
layout(constant_id = 3) const uint CHANNELS = 1; // of a frame

layout(std430, set = 0, binding = 0) readonly buffer Obs { uvec4 obs[]; };              // [rings, part, words]
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Place { uint place[]; };           // [batches, B, FRAMES]
layout(std430, set = 0, binding = 3) readonly buffer Normalizer { vec4 normalizer[]; }; // [M, 2, O]: mean, 1 / deviation; optional
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer normalizer_texels;
layout(std430, set = 0, binding = 5) buffer ToObs { Quad to_obs[]; };                   // [batches, B, O]

layout(push_constant) uniform Push {
    uint members; // M
    bool own;     // each member has a ring; otherwise they share one
    float limit;  // of normalized observations
    uint part_first;
    uint part_size;
};

const uint QUADS = FEATURES / 4u;
const uint WORDS = (FEATURES / FRAMES + REPLAY_FEATURES - 1u) / REPLAY_FEATURES; // of a stored observation
const uint ZEROS = REPLAY_NONE - 1u;

shared uint from[FRAMES]; // first words of the frames; REPLAY_NONE: in another part; ZEROS: there is none, and this part says so

// Features 4 q to 4 q + 3 of an observation that is stored whole.
vec4 whole(uint q) {
    if (from[0] == ZEROS) return vec4(0.0);
    if (REPLAY_FORMAT == REPLAY_FLOAT32) return uintBitsToFloat(LOAD4(obs, obs_texels, from[0] / 4u + q));
    uint f = 4u * q, word = LOAD1(obs, obs_texels, from[0] + f / REPLAY_FEATURES);
    if (REPLAY_FORMAT == REPLAY_FLOAT16) return vec4(unpackHalf2x16(word), unpackHalf2x16(LOAD1(obs, obs_texels, from[0] + 2u * q + 1u)));
    return vec4(replay_feature(word, f), replay_feature(word, f + 1u), replay_feature(word, f + 2u), replay_feature(word, f + 3u));
}

// The frame of feature f of a stack, the newest first.
uint frame_of(uint f) { return FRAMES - 1u - f % (FRAMES * CHANNELS) / CHANNELS; }

// Feature f of a stack of frames; 0 if its frame is in another part.
float stacked(uint f) {
    uint begin = from[frame_of(f)], e = f / (FRAMES * CHANNELS) * CHANNELS + f % CHANNELS;
    return begin < ZEROS ? replay_feature(LOAD1(obs, obs_texels, begin + e / REPLAY_FEATURES), e) : 0.0;
}

void main() {
    uint i = gl_WorkGroupID.y, batch = gl_WorkGroupID.z, member = batch % members, ring = own ? member : 0u;
    uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x, at = batch * gl_NumWorkGroups.y + i;
    for (uint j = gl_LocalInvocationID.x; j < FRAMES; j += gl_WorkGroupSize.x) {
        uint of = place[at * FRAMES + j];
        from[j] = of == REPLAY_NONE ? (part_first == 0u ? ZEROS : REPLAY_NONE)
            : of - part_first < part_size ? (ring * part_size + of - part_first) * WORDS : REPLAY_NONE;
    }
    barrier();
    uint held = 0u;
    for (uint j = 0u; j < FRAMES; j++) held += from[j] == REPLAY_NONE ? 0u : 1u;
    if (held == 0u) return;
    bool zeros = from[0] == ZEROS;
    for (uint q = gl_GlobalInvocationID.x; q < QUADS; q += step) {
        uint to = at * QUADS + q, f = 4u * q;
        vec4 x = FRAMES == 1u ? whole(q) : vec4(stacked(f), stacked(f + 1u), stacked(f + 2u), stacked(f + 3u));
        if (HAS_NORMALIZER && !zeros) {
            uint n = member * 2u * QUADS + q;
            x = clamp((x - LOAD4(normalizer, normalizer_texels, n)) * LOAD4(normalizer, normalizer_texels, n + QUADS), -limit, limit);
        }
        if (held < FRAMES) {
            bvec4 elsewhere = equal(uvec4(from[frame_of(f)], from[frame_of(f + 1u)], from[frame_of(f + 2u)], from[frame_of(f + 3u)]), uvec4(REPLAY_NONE));
            x = mix(x, quad_floats(to_obs[to]), elsewhere);
        }
        to_obs[to] = quad(x);
    }
}
