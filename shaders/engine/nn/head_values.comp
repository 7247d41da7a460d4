#version 450

// The values of actions from the atoms that a policy's network puts out for them, so that what acts by them holds a value for each action instead of all
// atoms: as greedy_action of engine/nn/head.glsl computes them, with the same roundings. A value is NaN if an output that it depends on is not finite.
//
// One invocation per row and action. Groups: x · local size >= rows · ACTIONS.

#extension GL_EXT_control_flow_attributes : require

#include "engine/finite.glsl"
#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint ACTIONS = 1;
layout(constant_id = 2) const uint ATOMS = 1;
layout(constant_id = 3) const bool DUELING = false; // outputs of actions are advantages, and the state's follow them

layout(std430, set = 0, binding = 0) readonly buffer Outputs { float outputs[]; }; // [rows, (ACTIONS + DUELING) · ATOMS]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Values { float values[]; }; // [rows, ACTIONS]

layout(push_constant) uniform Push {
    uint rows;
};

const uint OUT = (ACTIONS + (DUELING ? 1u : 0u)) * ATOMS;

float output_of(uint row, uint o) { return LOAD(outputs, outputs_texels, row * OUT + o); }

// The logit of an atom of an action.
float logit(uint row, uint action, uint atom) {
    float z = output_of(row, action * ATOMS + atom);
    if (DUELING) {
        float sum = 0.0;
        [[dont_unroll]] for (uint a = 0u; a < ACTIONS; a++) sum += output_of(row, a * ATOMS + atom);
        z += output_of(row, ACTIONS * ATOMS + atom) - sum / float(ACTIONS);
    }
    return z;
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= rows * ACTIONS) return;
    uint row = i / ACTIONS, action = i % ACTIONS;
    float top = logit(row, action, 0u);
    bool finite = m_isfinite(top);
    [[dont_unroll]] for (uint atom = 1u; atom < ATOMS; atom++) {
        float z = logit(row, action, atom);
        finite = finite && m_isfinite(z);
        top = max(top, z);
    }
    float sum = 0.0, weighted = 0.0;
    [[dont_unroll]] for (uint atom = 0u; atom < ATOMS; atom++) {
        float p = m_exp(logit(row, action, atom) - top);
        sum += p;
        weighted += p * float(atom);
    }
    values[i] = finite ? weighted / sum : M_NAN;
}
