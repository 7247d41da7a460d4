// Four floats that a kernel stores at once. lavapipe stores lane by lane and component by component, 64 bits in the time
// of 32. Variants of kernels for software drivers therefore define QUADS_64. Buffers are declared as `Quad x[]`.

#ifdef QUADS_64
#extension GL_ARB_gpu_shader_int64 : require
#define Quad u64vec2
Quad quad(vec4 v) { return u64vec2(packUint2x32(floatBitsToUint(v.xy)), packUint2x32(floatBitsToUint(v.zw))); }
vec4 quad_floats(Quad q) { return vec4(uintBitsToFloat(unpackUint2x32(q.x)), uintBitsToFloat(unpackUint2x32(q.y))); }
#else
#define Quad vec4
vec4 quad(vec4 v) { return v; }
vec4 quad_floats(vec4 v) { return v; }
#endif

// Floats 4 i to 4 i + 3 of a buffer `Quad x[]` and its texels.
#define LOAD_QUAD(x, texels, i) (TEXEL_LOADS == 2u ? imageLoad(texels, int(i)) : quad_floats(x[i]))

// x[at] = quad(v) in lanes where `holds`. Kernels that define HALVES include engine/halved.glsl, and call it with all lanes of the subgroup.
#ifdef HALVES
#define STORE_QUAD(x, holds, at, v)                                            \
    {                                                                          \
        bool quad_holds = holds;                                               \
        uint quad_at = at;                                                     \
        vec4 quad_v = v;                                                       \
        if (quad_holds && (!HALVED || HALVED_LOWER)) x[quad_at] = quad(quad_v); \
        if (HALVED) {                                                          \
            quad_holds = HALVED_UPPER(quad_holds);                             \
            quad_at = HALVED_UPPER(quad_at);                                   \
            quad_v = HALVED_UPPER(quad_v);                                     \
            if (quad_holds && HALVED_LOWER) x[quad_at] = quad(quad_v);         \
        }                                                                      \
    }
#else
#define STORE_QUAD(x, holds, at, v) if (holds) x[at] = quad(v);
#endif
