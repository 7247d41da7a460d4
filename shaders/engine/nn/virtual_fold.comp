#version 450

// Parameters of a network with virtual batch normalization, in the row of an equal network without: those of a layer's weights are multiplied by its
// channels' factors (virtual_norm.comp), others stay as they are.
//
// Groups: x = ceil(count / local size), y = N.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_FACTORS = false;

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };   // [N, param_row]
layout(std430, set = 0, binding = 1) readonly buffer Factors { float factors[]; }; // [N, factor_row], of a layer; optional
layout(std430, set = 0, binding = 2) writeonly buffer Folded { float folded[]; };  // [N, folded_row]

layout(push_constant) uniform Push {
    uint first;      // offset in the rows
    uint count;      // parameters
    uint channels;   // the last axis of the weights
    uint param_at;   // the first network's row
    uint param_row;
    uint folded_at;
    uint folded_row;
    uint factor_row;
};

void main() {
    uint i = gl_GlobalInvocationID.x, network = gl_WorkGroupID.y;
    if (i >= count) return;
    float w = params[param_at + network * param_row + first + i];
    if (HAS_FACTORS) w *= factors[network * factor_row + i % channels];
    folded[folded_at + network * folded_row + first + i] = w;
}
