// Loads of four floats at once from a range that a kernel binds twice, as a storage buffer `vec4 x[]` and as a texel buffer
// `readonly imageBuffer x_texels` (rgba32f): lavapipe loads from storage buffers lane by lane, forty times slower than from texel
// buffers, while on GPUs storage buffers are the better ones. vk sets the constant for the device (vk/texel.go).

layout(constant_id = 31) const uint TEXEL_LOADS = 0; // 2: load from texel buffers

float load_pick(vec4 v, uint i) { return i < 2u ? (i == 0u ? v.x : v.y) : (i == 2u ? v.z : v.w); }

// Floats 4 i to 4 i + 3.
#define LOAD4(x, i) (TEXEL_LOADS == 2u ? imageLoad(x##_texels, int(i)) : x[i])

// Float e.
#define LOAD1(x, e) (TEXEL_LOADS == 2u ? load_pick(imageLoad(x##_texels, int((e) >> 2)), (e) & 3u) : x[(e) >> 2][(e) & 3u])
