// Dynamics of inverted_double_pendulum, written by tools/mjcf from what MuJoCo 3.12.0's compiler makes of inverted_double_pendulum.xml. Do not edit.
//
// Degrees of freedom: slider, hinge, hinge2.

#include "envs/physics/solver.glsl"

#define NQ 3 // positions
#define NV 3 // degrees of freedom
#define NU 1 // actuators
#define TIME_STEP_ITERATIONS 436 // iterations that the loops of a time step take at most
#define DYNAMICS_LOOPS 2 // loops below, which that counts
#define TRAVEL 0 // positions, the first ones, that no force depends on
#define SENSES 3 // numbers that a forward pass gives beside its accelerations
#define RUNGE_KUTTA 1 // 0: Euler's method

const float TIMESTEP = 0.01;
const float CART_MASS = 10.471975;
const float POLE_MASS = 4.1987386;
const float POLE_INERTIA_XX = 0.15497068;
const float POLE2_MASS = 4.1987386;
const float POLE2_INERTIA_XX = 0.15497068;
const float SLIDER_DAMPING = 0.05;
const float HINGE_DAMPING = 0.05;
const float HINGE2_DAMPING = 0.05;
const float MASS_SLIDER_SLIDER = CART_MASS + (POLE_MASS + POLE2_MASS);
const float C1 = 1e-05 * CART_MASS;

const uint physics_motor[NU] = uint[](0u); // the degrees of freedom that the actuators drive

// physics_actuate gives the forces of controls, each within its range. As in MuJoCo, one control that is no number, or beyond 1e10, and all count as zero.
void physics_actuate(const float control[NU], out float force[NU]) {
    bool valid = true;
    valid = valid && abs(control[0]) <= 1e10;
    force[0] = valid ? 500.0 * clamp(control[0], -1.0, 1.0) : 0.0;
}

// physics_move moves positions by velocities for a time.
void physics_move(inout float q[NQ], const float v[NV], float time) {
    q[0] += time * v[0];
    q[1] += time * v[1];
    q[2] += time * v[2];
}

// physics_forward computes the accelerations a at positions q and velocities v under the actuators' forces; a's old values are where the search for the
// contacts' forces begins. rate is what the velocities advance by. sensed is site tip xz, constraint 0.
void physics_forward(const float q[NQ], const float v[NV], const float force[NU], inout float a[NV], out float rate[NV], out float sensed[SENSES]) {
    float hinge_sin = m_sin(q[1]);
    float hinge_cos = m_cos(q[1]);
    float pole_com_x = 0.3 * hinge_sin;
    float pole_com_z = 0.3 * hinge_cos;
    float pole2_x = 0.6 * hinge_sin;
    float pole2_z = 0.6 * hinge_cos;
    float pole2_spin_y = v[1] + v[2];
    float hinge2_sin = m_sin(q[2]);
    float hinge2_cos = m_cos(q[2]);
    float pole2_axes_x_x = hinge_cos * hinge2_cos - hinge_sin * hinge2_sin;
    float pole2_axes_x_z = hinge_cos * hinge2_sin + hinge_sin * hinge2_cos;
    float t1 = 0.3 * pole2_axes_x_z;
    float t2 = 0.3 * pole2_axes_x_x;
    float pole2_com_x = pole2_x + t1;
    float pole2_com_z = pole2_z + t2;
    float t3 = pole_com_z * POLE_MASS;
    float t4 = pole2_com_z * POLE2_MASS;
    float t5 = pole2_com_x * POLE2_MASS;
    float t6 = pole2_com_z * t4 + pole2_com_x * t5 + POLE2_INERTIA_XX;
    float mass_hinge_hinge = pole_com_z * t3 + pole_com_x * (pole_com_x * POLE_MASS) + POLE_INERTIA_XX + t6;
    float mass_hinge_slider = t3 + t4;
    float mass_hinge2_hinge = t6 - (pole2_z * t4 + pole2_x * t5);
    float mass_hinge2_slider = t4 - pole2_z * POLE2_MASS;
    float mass_hinge2_hinge2 = mass_hinge2_hinge + (pole2_x * (pole2_x * POLE2_MASS - t5) - pole2_z * mass_hinge2_slider);
    float pole_force_x = POLE_MASS * ((-1e-05) - v[1] * (v[1] * pole_com_x));
    float pole_torque_y = pole_com_z * pole_force_x - pole_com_x * (POLE_MASS * (9.81 - v[1] * (v[1] * pole_com_z)));
    float pole2_force_x = POLE2_MASS * ((-1e-05) - v[1] * (v[1] * pole2_x) - pole2_spin_y * (pole2_spin_y * t1));
    float pole2_force_z = POLE2_MASS * (9.81 - v[1] * (v[1] * pole2_z) - pole2_spin_y * (pole2_spin_y * t2));
    float pole2_torque_y = pole2_com_z * pole2_force_x - pole2_com_x * pole2_force_z;
    float t7 = pole2_torque_y + (pole2_x * pole2_force_z - pole2_z * pole2_force_x) + v[2] * HINGE2_DAMPING;
    float t8 = q[0] - (-1.0);
    float t9 = 1.0 - q[0];
    float sign_slider = t8 < t9 ? 1.0 : (-1.0);
    float t10 = min(t8, t9) - 0.01;
    float t11 = min(1000.0 * abs(t10), 1.0);
    float t12 = 1.0 - t11;
    float impedance_slider = 0.9 + 0.05 * (0.5 < t11 ? (1.0 - 2.0 * (t12 * t12)) : (2.0 * (t11 * t11)));
    float d_slider = t10 < 0.0 ? (impedance_slider / (0.08467262 * (1.0 - impedance_slider))) : 0.0;
    float t13 = 105.26316 * (v[0] * sign_slider) + 2770.083 * (t10 * impedance_slider) + a[0] * sign_slider;
    float t14 = MASS_SLIDER_SLIDER * a[0] + mass_hinge_slider * a[1] + mass_hinge2_slider * a[2] - (force[0] + (C1 - (pole_force_x + pole2_force_x) - v[0] * SLIDER_DAMPING));
    float t15 = pole_torque_y + pole2_torque_y + v[1] * HINGE_DAMPING + (mass_hinge_slider * a[0] + mass_hinge_hinge * a[1] + mass_hinge2_hinge * a[2]);
    float t16 = 1.0 / mass_hinge2_hinge2;
    float t17 = mass_hinge2_hinge * t16;
    float t18 = mass_hinge_slider - mass_hinge2_slider * t17;
    float t19 = mass_hinge2_slider * t16;
    float t20 = mass_hinge2_slider * t19;
    float t21 = 1.0 / (mass_hinge_hinge - mass_hinge2_hinge * t17);
    float t22 = t18 * t21;
    float t23 = t18 * t22;
    float t24 = q[0] + pole2_x + 0.6 * pole2_axes_x_z;
    float t25 = pole2_z + 0.6 * pole2_axes_x_x;
    float residual[3];
    residual[0] = t14;
    residual[1] = t15;
    residual[2] = t7 + (mass_hinge2_slider * a[0] + mass_hinge2_hinge * a[1] + mass_hinge2_hinge2 * a[2]);
    float at[1];
    at[0] = t13;
    for (uint iteration = 0u; iteration < SOLVER_ITERATIONS; iteration++) {
        float t26 = d_slider * at[0];
        bool t27 = t26 < 0.0;
        float gradient_slider = residual[0] + sign_slider * min(t26, 0.0);
        float t28 = residual[2] * t17 - residual[1];
        float step_slider = (1.0 / (MASS_SLIDER_SLIDER + (t27 ? d_slider : 0.0) - t20 - t23)) * (residual[2] * t19 - gradient_slider - t22 * t28);
        float step_hinge = t21 * t28 - t22 * step_slider;
        float t29 = residual[2] * t16 + t19 * step_slider + t17 * step_hinge;
        float t30 = residual[1] * step_hinge;
        float t31 = residual[2] * t29;
        float t32 = MASS_SLIDER_SLIDER * step_slider + mass_hinge_slider * step_hinge - mass_hinge2_slider * t29;
        float t33 = mass_hinge_slider * step_slider + mass_hinge_hinge * step_hinge - mass_hinge2_hinge * t29;
        float t34 = mass_hinge2_slider * step_slider + mass_hinge2_hinge * step_hinge - mass_hinge2_hinge2 * t29;
        float t35 = sign_slider * step_slider;
        float t36 = t30 + residual[0] * step_slider - t31;
        float t37 = step_slider * t32 + step_hinge * t33 - t29 * t34;
        float t38 = t35 * t35;
        float alpha = 1.0;
        float slope = gradient_slider * step_slider + t30 - t31;
        bool done = false;
        float low = 0.0, high = 0.0; // alpha is between, once high is positive
        [[dont_unroll]] for (uint search = 0u; search < SEARCH_ITERATIONS; search++) {
            float t39 = d_slider * (at[0] + t35 * alpha);
            bool t40 = t39 < 0.0;
            float rise = t36 + alpha * t37 + t35 * min(t39, 0.0);
            float curvature = t37 + (t40 ? d_slider : 0.0) * t38;
            bool changed = t27 != t40;
            done = search == 0u && !changed;
            if (done || abs(rise) <= SEARCH_TOLERANCE * abs(slope)) break;
            low = rise < 0.0 ? alpha : low;
            high = rise < 0.0 ? high : alpha;
            float next = alpha - rise / curvature;
            alpha = next > low && (high == 0.0 || next < high) ? next : (high == 0.0 ? 2.0 * alpha : 0.5 * (low + high));
        }
        a[0] += alpha * step_slider;
        a[1] += alpha * step_hinge;
        a[2] += alpha * -t29;
        residual[0] += alpha * t32;
        residual[1] += alpha * t33;
        residual[2] += alpha * t34;
        at[0] += alpha * t35;
        if (done || -slope <= 4.698223e-07) break; // MuJoCo's tolerance of an improvement
    }
    rate[0] = a[0];
    rate[1] = a[1];
    rate[2] = a[2];
    sensed[0] = t24;
    sensed[1] = t25;
    sensed[2] = residual[0];
}
