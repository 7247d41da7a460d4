// Common to the programs of shaders/envs/models: the bounds of the constraint solver, and rotations.

#extension GL_EXT_control_flow_attributes : require

#include "engine/math.glsl"

// MuJoCo's are 100 and 50. The set of active rows settles in one to three iterations from the last step's
// acceleration, and these bounds keep all loops of an environment step below the software driver's limit of 65,535
// iterations.
const uint SOLVER_ITERATIONS = 12u;
const uint SEARCH_ITERATIONS = 8u;
const float SEARCH_TOLERANCE = 0.01; // of the cost's derivative along the step, relative to its initial value; MuJoCo's

// The orientation q (w x y z) of a body after rotating with the angular velocity omega, in its own axes, for a time.
// It is normalised, as in MuJoCo.
vec4 quaternion_turn(vec4 q, vec3 omega, float time) {
    q *= inversesqrt(dot(q, q));
    float speed = sqrt(dot(omega, omega));
    float half_angle = 0.5 * time * speed;
    float w = m_cos(half_angle);
    vec3 u = omega * (speed > 1e-12 ? m_sin(half_angle) / speed : 0.0);
    return vec4(q.x * w - dot(q.yzw, u), q.x * u + w * q.yzw + cross(q.yzw, u));
}
