#version 450

// The coefficients of the memory's vectors and of the noise in a candidate's direction d: algorithm 2 of I.
// Loshchilov et al., 2019. d is linear in them, so the coefficients follow from the products of the noise with the
// vectors and of the vectors with each other.
//
// Groups: x = any number, which share a search's candidates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Projection { float projection[]; }; // [M, N, vectors]
layout(std430, set = 0, binding = 1) readonly buffer Gram { float gram[]; };             // [M, vectors, vectors]
layout(std430, set = 0, binding = 2) readonly buffer Rates { vec4 rates[]; };            // [vectors]: c_d first
layout(std430, set = 0, binding = 3) buffer Shares { float shares[]; };                  // [M, N, vectors + 1]: the noise's last
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };            // [0]: the generation

layout(push_constant) uniform Push {
    uint population;
    uint vectors;
};

void main() {
    uint search = gl_WorkGroupID.y, used = min(vectors, clock[0]);
    for (uint c = gl_GlobalInvocationID.x; c < population; c += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint from = (search * population + c) * vectors, to = (search * population + c) * (vectors + 1u);
        float noise = 1.0, keep = 1.0;
        for (uint j = 0u; j < used; j++) {
            float product = noise * projection[from + j];
            for (uint k = 0u; k < j; k++) {
                float share = k + 1u < j ? keep * shares[to + k] : shares[to + k];
                shares[to + k] = share;
                product += share * gram[(search * vectors + j) * vectors + k];
            }
            keep = 1.0 - rates[j].x;
            noise *= keep;
            shares[to + j] = rates[j].x * product; // round j + 1 multiplies the earlier coefficients by its factor
        }
        for (uint k = 0u; k < vectors; k++) shares[to + k] = k + 1u < used ? keep * shares[to + k] : k < used ? shares[to + k] : 0.0;
        shares[to + vectors] = noise;
    }
}
