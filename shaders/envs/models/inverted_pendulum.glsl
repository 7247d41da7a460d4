// Dynamics of inverted_pendulum, written by tools/mjcf from what MuJoCo 3.12.0's compiler makes of inverted_pendulum.xml. Do not edit.
//
// Degrees of freedom: slider, hinge.

#include "envs/physics/solver.glsl"

#define NQ 2 // positions
#define NV 2 // degrees of freedom
#define NU 1 // actuators
#define TIME_STEP_ITERATIONS 436 // iterations that the loops of a time step take at most
#define DYNAMICS_LOOPS 2 // loops below, which that counts
#define TRAVEL 0 // positions, the first ones, that no force depends on
#define SENSES 1 // numbers that a forward pass gives beside its accelerations
#define RUNGE_KUTTA 1 // 0: Euler's method

const float TIMESTEP = 0.02;
const float CART_MASS = 10.471975;
const float POLE_MASS = 5.0185914;
const float POLE_INERTIA_YY = 0.18874976;
const float MASS_SLIDER_SLIDER = CART_MASS + POLE_MASS;

const uint physics_motor[NU] = uint[](0u); // the degrees of freedom that the actuators drive

// physics_actuate gives the forces of controls, each within its range. As in MuJoCo, one control that is no number, or beyond 1e10, and all count as zero.
void physics_actuate(const float control[NU], out float force[NU]) {
    bool valid = true;
    valid = valid && abs(control[0]) <= 1e10;
    force[0] = valid ? 100.0 * clamp(control[0], -3.0, 3.0) : 0.0;
}

// physics_move moves positions by velocities for a time.
void physics_move(inout float q[NQ], const float v[NV], float time) {
    q[0] += time * v[0];
    q[1] += time * v[1];
}

// physics_forward computes the accelerations a at positions q and velocities v under the actuators' forces; a's old values are where the search for the
// contacts' forces begins. rate is what the velocities advance by. There is nothing in sensed.
void physics_forward(const float q[NQ], const float v[NV], const float force[NU], inout float a[NV], out float rate[NV], out float sensed[SENSES]) {
    float hinge_sin = m_sin(q[1]);
    float hinge_cos = m_cos(q[1]);
    float pole_com_x = 0.0005 * hinge_cos + 0.3 * hinge_sin;
    float pole_com_z = 0.3 * hinge_cos - 0.0005 * hinge_sin;
    float mass_hinge_slider = pole_com_z * POLE_MASS;
    float mass_hinge_hinge = pole_com_z * mass_hinge_slider + pole_com_x * (pole_com_x * POLE_MASS) + POLE_INERTIA_YY;
    float t1 = POLE_MASS * (v[1] * (v[1] * pole_com_x));
    float t2 = q[0] - (-1.0);
    float t3 = 1.0 - q[0];
    float room_slider = min(t2, t3);
    float sign_slider = t2 < t3 ? 1.0 : (-1.0);
    float t4 = min(1000.0 * abs(room_slider), 1.0);
    float t5 = 1.0 - t4;
    float impedance_slider = 0.9 + 0.05 * (0.5 < t4 ? (1.0 - 2.0 * (t5 * t5)) : (2.0 * (t4 * t4)));
    float d_slider = room_slider < 0.0 ? (impedance_slider / (0.08367434 * (1.0 - impedance_slider))) : 0.0;
    float t6 = 52.63158 * (v[0] * sign_slider) + 692.52075 * (room_slider * impedance_slider) + a[0] * sign_slider;
    float t7 = q[1] - (-1.5707964);
    float t8 = 1.5707964 - q[1];
    float room_hinge = min(t7, t8);
    float sign_hinge = t7 < t8 ? 1.0 : (-1.0);
    float t9 = min(1000.0 * abs(room_hinge), 1.0);
    float t10 = 1.0 - t9;
    float impedance_hinge = 0.9 + 0.05 * (0.5 < t9 ? (1.0 - 2.0 * (t10 * t10)) : (2.0 * (t9 * t9)));
    float d_hinge = room_hinge < 0.0 ? (impedance_hinge / (2.023913 * (1.0 - impedance_hinge))) : 0.0;
    float t11 = 52.63158 * (v[1] * sign_hinge) + 692.52075 * (room_hinge * impedance_hinge) + a[1] * sign_hinge;
    float t12 = mass_hinge_slider * a[0] + mass_hinge_hinge * a[1] - (pole_com_z * t1 + pole_com_x * (POLE_MASS * (9.81 - v[1] * (v[1] * pole_com_z))) - v[1]);
    float residual[2];
    residual[0] = MASS_SLIDER_SLIDER * a[0] + mass_hinge_slider * a[1] - (force[0] + (t1 - v[0]));
    residual[1] = t12;
    float at[2];
    at[0] = t6;
    at[1] = t11;
    for (uint iteration = 0u; iteration < SOLVER_ITERATIONS; iteration++) {
        float t13 = d_slider * at[0];
        bool t14 = t13 < 0.0;
        float gradient_slider = residual[0] + sign_slider * min(t13, 0.0);
        float t15 = d_hinge * at[1];
        bool t16 = t15 < 0.0;
        float gradient_hinge = residual[1] + sign_hinge * min(t15, 0.0);
        float t17 = 1.0 / (mass_hinge_hinge + (t16 ? d_hinge : 0.0));
        float t18 = mass_hinge_slider * t17;
        float step_slider = (1.0 / (MASS_SLIDER_SLIDER + (t14 ? d_slider : 0.0) - mass_hinge_slider * t18)) * (gradient_hinge * t18 - gradient_slider);
        float t19 = gradient_hinge * t17 + t18 * step_slider;
        float t20 = MASS_SLIDER_SLIDER * step_slider - mass_hinge_slider * t19;
        float t21 = mass_hinge_slider * step_slider - mass_hinge_hinge * t19;
        float t22 = sign_slider * step_slider;
        float t23 = sign_hinge * t19;
        float t24 = residual[0] * step_slider - residual[1] * t19;
        float t25 = step_slider * t20 - t19 * t21;
        float t26 = t22 * t22;
        float t27 = t23 * t23;
        float alpha = 1.0;
        float slope = gradient_slider * step_slider - gradient_hinge * t19;
        bool done = false;
        float low = 0.0, high = 0.0; // alpha is between, once high is positive
        [[dont_unroll]] for (uint search = 0u; search < SEARCH_ITERATIONS; search++) {
            float t28 = d_slider * (at[0] + t22 * alpha);
            bool t29 = t28 < 0.0;
            float t30 = d_hinge * (at[1] - t23 * alpha);
            bool t31 = t30 < 0.0;
            float rise = t24 + alpha * t25 + t22 * min(t28, 0.0) - t23 * min(t30, 0.0);
            float curvature = t25 + (t29 ? d_slider : 0.0) * t26 + (t31 ? d_hinge : 0.0) * t27;
            bool changed = (t14 != t29) || (t16 != t31);
            done = search == 0u && !changed;
            if (done || abs(rise) <= SEARCH_TOLERANCE * abs(slope)) break;
            low = rise < 0.0 ? alpha : low;
            high = rise < 0.0 ? high : alpha;
            float next = alpha - rise / curvature;
            alpha = next > low && (high == 0.0 || next < high) ? next : (high == 0.0 ? 2.0 * alpha : 0.5 * (low + high));
        }
        a[0] += alpha * step_slider;
        a[1] += alpha * -t19;
        residual[0] += alpha * t20;
        residual[1] += alpha * t21;
        at[0] += alpha * t22;
        at[1] += alpha * -t23;
        if (done || -slope <= 3.2261983e-07) break; // MuJoCo's tolerance of an improvement
    }
    rate[0] = a[0];
    rate[1] = a[1];
    sensed[0] = 0.0;
}
