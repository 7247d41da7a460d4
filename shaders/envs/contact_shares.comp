#version 450

// The fractions of the steps of a member's environments after which each foot touches the ground, from the counts of
// contacts.comp; NaN without steps. Groups: x = ceil(members / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Counts { float counts[]; };  // [1 + F, M, E]
layout(std430, set = 0, binding = 1) writeonly buffer Shares { float shares[]; }; // [populations, candidates, F]

layout(push_constant) uniform Push {
    uint members; // M
    uint environments;
    uint feet;       // F
    uint window;     // members per population
    uint population; // candidates per population
    uint first;      // the window's first candidate
};

void main() {
    uint member = gl_GlobalInvocationID.x, all = members * environments;
    if (member >= members) return;
    uint to = member / window * population + first + member % window;
    float transitions = 0.0;
    for (uint e = 0u; e < environments; e++) transitions += counts[member * environments + e];
    for (uint f = 0u; f < feet; f++) {
        float sum = 0.0;
        for (uint e = 0u; e < environments; e++) sum += counts[(1u + f) * all + member * environments + e];
        shares[to * feet + f] = transitions > 0.0 ? sum / transitions : uintBitsToFloat(0x7FC00000u);
    }
}
