// The sum of squares of a gradient, and the sums that ClipUp needs besides. The includer declares WORKGROUP.

#extension GL_EXT_control_flow_attributes : require

// Adds the squares of this invocation's share of vec4 begin ... end of the gradient of `member` to `square`. Four vec4 a
// turn: on the software driver a turn of the loop takes as long as a load.
#define NORM_SQUARES(square, gradient, texels, splits, row, members, begin, end)                                     \
    {                                                                                                                \
        uint fours = (row) / 4u, parts = splits, first_four = member * fours, stride = (members) * fours;            \
        for (uint i = (begin) + gl_LocalInvocationID.x; i < (end); i += 4u * WORKGROUP) {                            \
            vec4 g[4];                                                                                               \
            [[unroll]] for (uint j = 0u; j < 4u; j++) {                                                              \
                g[j] = LOAD4(gradient, texels, first_four + min(i + j * WORKGROUP, (end) - 1u));                     \
            }                                                                                                        \
            for (uint s = 1u; s < parts; s++) {                                                                      \
                [[unroll]] for (uint j = 0u; j < 4u; j++) {                                                          \
                    g[j] += LOAD4(gradient, texels, s * stride + first_four + min(i + j * WORKGROUP, (end) - 1u));   \
                }                                                                                                    \
            }                                                                                                        \
            [[unroll]] for (uint j = 0u; j < 4u; j++) square += i + j * WORKGROUP < (end) ? dot(g[j], g[j]) : 0.0;   \
        }                                                                                                            \
    }

// Adds, over this invocation's share of vec4 begin ... end, the squares of the gradient of `member`, its products with the
// velocity, which is `first`, and the velocity's squares to square, along and speed.
#define CLIPUP_SUMS(square, along, speed, splits, row, members, begin, end)                                            \
    for (uint i = (begin) + gl_LocalInvocationID.x; i < (end); i += WORKGROUP) {                                       \
        uint at = member * ((row) / 4u) + i;                                                                           \
        vec4 g = vec4(0.0), v = LOAD4(first, first_texels, at);                                                        \
        for (uint s = 0u; s < splits; s++) g += LOAD4(gradient, gradient_texels, s * (members) * ((row) / 4u) + at);   \
        square += dot(g, g);                                                                                           \
        along += dot(g, v);                                                                                            \
        speed += dot(v, v);                                                                                            \
    }
