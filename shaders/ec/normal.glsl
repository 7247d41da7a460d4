// Four standard normal numbers from four random words, by the Box-Muller method.

#include "engine/rng.glsl"

const float TURN = 6.28318530717958648;

vec4 normals(uvec4 w) {
    vec2 u = vec2(uvec2(w.x, w.z) >> 8u) * 5.9604644775390625e-8 + 5.9604644775390625e-8; // in (0, 1]
    vec2 r = vec2(sqrt(-2.0 * m_log(u.x)), sqrt(-2.0 * m_log(u.y)));
    float a = TURN * rng_unit(w.y), b = TURN * rng_unit(w.w);
    return vec4(r.x * m_cos(a), r.x * m_sin(a), r.y * m_cos(b), r.y * m_sin(b));
}
