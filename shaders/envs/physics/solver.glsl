// What the programs of shaders/envs/models share: the limits of the constraint solver, and rotations.

#extension GL_EXT_control_flow_attributes : require

#include "engine/math.glsl"

// MuJoCo's are 100 and 50. The set of rows that push settles after one to three iterations from the last step's
// acceleration, and these bounds keep the loops of an environment step, all together, below the software driver's
// 65,535.
const uint SOLVER_ITERATIONS = 12u;
const uint SEARCH_ITERATIONS = 8u;
const float SEARCH_TOLERANCE = 0.01; // of the cost's derivative along the step, relative to that at its beginning; MuJoCo's

// The quaternion q (w x y z) of a body after turning at the angular velocity omega, in its own axes, for a time. As
// in MuJoCo, its length is one.
vec4 quaternion_turn(vec4 q, vec3 omega, float time) {
    q *= inversesqrt(dot(q, q));
    float speed = sqrt(dot(omega, omega));
    float half_angle = 0.5 * time * speed;
    float w = m_cos(half_angle);
    vec3 u = omega * (speed > 1e-12 ? m_sin(half_angle) / speed : 0.0);
    return vec4(q.x * w - dot(q.yzw, u), q.x * u + w * q.yzw + cross(q.yzw, u));
}
