// Loads from a storage buffer or, on devices where that is faster, from a texel buffer (rgba32f) of the same range.
// lavapipe loads from storage buffers lane by lane, many times slower than from texel buffers; on GPUs storage
// buffers are faster. vk sets the constant for the device (vk/texel.go).

layout(constant_id = 31) const uint TEXEL_LOADS = 0; // 2: load from texel buffers

float load_pick(vec4 v, uint i) {
    vec2 pair = (i & 2u) == 0u ? v.xy : v.zw;
    return (i & 1u) == 0u ? pair.x : pair.y;
}

// Floats 4 i to 4 i + 3 of a buffer `vec4 x[]` and its texels.
#define LOAD4(x, texels, i) (TEXEL_LOADS == 2u ? imageLoad(texels, int(i)) : x[i])

// Float e of a buffer `float x[]` and its texels.
#define LOAD(x, texels, e) (TEXEL_LOADS == 2u ? load_pick(imageLoad(texels, int((e) >> 2)), (e) & 3u) : x[e])

// Float e of a buffer `vec4 x[]` and its texels.
#define LOAD1(x, texels, e) (TEXEL_LOADS == 2u ? load_pick(imageLoad(texels, int((e) >> 2)), (e) & 3u) : x[(e) >> 2][(e) & 3u])

// Declares vec4 name(uint e, uint rest): the floats e to e + 3 of a buffer `vec4 x[]` and its texels. Unless
// `aligned`, e may be any number, and floats beyond e + rest are not read.
#define LOADER(name, aligned, x, texels)                                                                       \
    vec4 name(uint e, uint rest) {                                                                             \
        if (aligned) return LOAD4(x, texels, e >> 2);                                                    \
        uint e1 = e + min(1u, rest), e2 = e + min(2u, rest), e3 = e + min(3u, rest);                           \
        return vec4(LOAD1(x, texels, e), LOAD1(x, texels, e1), LOAD1(x, texels, e2), LOAD1(x, texels, e3));    \
    }
