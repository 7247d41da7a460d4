// Dynamics of reacher, written by tools/mjcf from what MuJoCo 3.12.0's compiler makes of reacher.xml. Do not edit.
//
// Degrees of freedom: joint0, joint1, target_x, target_y.

#include "envs/physics/solver.glsl"

#define NQ 4 // positions
#define NV 4 // degrees of freedom
#define NU 2 // actuators
#define TIME_STEP_ITERATIONS 436 // iterations that the loops of a time step take at most
#define DYNAMICS_LOOPS 2 // loops below, which that counts
#define TRAVEL 0 // positions, the first ones, that no force depends on
#define SENSES 2 // numbers that a forward pass gives beside its accelerations
#define RUNGE_KUTTA 1 // 0: Euler's method

const float TIMESTEP = 0.01;
const float BODY0_MASS = 0.035604715;
const float BODY0_INERTIA_ZZ = 3.917566e-05;
const float BODY1_MASS = 0.035604715;
const float BODY1_INERTIA_ZZ = 3.917566e-05;
const float FINGERTIP_MASS = 0.00418879;
const float FINGERTIP_INERTIA_XX = 1.67552e-07;
const float TARGET_MASS = 0.0030536281;
const float C1 = BODY1_MASS + FINGERTIP_MASS;

const uint physics_motor[NU] = uint[](0u, 1u); // the degrees of freedom that the actuators drive

// physics_actuate gives the forces of controls, each within its range. As in MuJoCo, one control that is no number, or beyond 1e10, and all count as zero.
void physics_actuate(const float control[NU], out float force[NU]) {
    bool valid = true;
    valid = valid && abs(control[0]) <= 1e10;
    valid = valid && abs(control[1]) <= 1e10;
    force[0] = valid ? 200.0 * clamp(control[0], -1.0, 1.0) : 0.0;
    force[1] = valid ? 200.0 * clamp(control[1], -1.0, 1.0) : 0.0;
}

// physics_move moves positions by velocities for a time.
void physics_move(inout float q[NQ], const float v[NV], float time) {
    q[0] += time * v[0];
    q[1] += time * v[1];
    q[2] += time * v[2];
    q[3] += time * v[3];
}

// physics_forward computes the accelerations a at positions q and velocities v under the actuators' forces; a's old values are where the search for the
// contacts' forces begins. rate is what the velocities advance by. sensed is apart fingertip target xy.
void physics_forward(const float q[NQ], const float v[NV], const float force[NU], inout float a[NV], out float rate[NV], out float sensed[SENSES]) {
    float joint0_sin = m_sin(q[0]);
    float joint0_cos = m_cos(q[0]);
    float body0_com_x = 0.05 * joint0_cos;
    float body0_com_y = 0.05 * joint0_sin;
    float body1_x = 0.1 * joint0_cos;
    float body1_y = 0.1 * joint0_sin;
    float t1 = v[0] * (v[0] * body1_x);
    float t2 = v[0] * (v[0] * body1_y);
    float body1_spin_z = v[0] + v[1];
    float joint1_sin = m_sin(q[1]);
    float joint1_cos = m_cos(q[1]);
    float body1_axes_x_x = joint0_cos * joint1_cos - joint0_sin * joint1_sin;
    float body1_axes_y_x = joint0_cos * joint1_sin + joint0_sin * joint1_cos;
    float t3 = 0.05 * body1_axes_x_x;
    float t4 = 0.05 * body1_axes_y_x;
    float body1_com_x = body1_x + t3;
    float body1_com_y = body1_y + t4;
    float t5 = 0.11 * body1_axes_x_x;
    float t6 = 0.11 * body1_axes_y_x;
    float fingertip_x = body1_x + t5;
    float fingertip_y = body1_y + t6;
    float t7 = body0_com_y * (body0_com_y * BODY0_MASS) + body0_com_x * (body0_com_x * BODY0_MASS) + BODY0_INERTIA_ZZ;
    float t8 = body1_com_y * BODY1_MASS;
    float t9 = body1_com_x * BODY1_MASS;
    float t10 = fingertip_y * FINGERTIP_MASS;
    float t11 = fingertip_x * FINGERTIP_MASS;
    float t12 = body1_com_y * t8 + body1_com_x * t9 + BODY1_INERTIA_ZZ + (fingertip_y * t10 + fingertip_x * t11 + FINGERTIP_INERTIA_XX);
    float t13 = t8 + t10;
    float t14 = t9 + t11;
    float mass_joint1_joint0 = t12 - (body1_y * t13 + body1_x * t14);
    float inertia_joint0 = 1.0 + (t7 + t12);
    float inertia_joint1 = 1.0 + (mass_joint1_joint0 + (body1_y * (body1_y * C1 - t13) - body1_x * (t14 - body1_x * C1)));
    float body0_torque_z = body0_com_y * (BODY0_MASS * (v[0] * (v[0] * body0_com_x))) - body0_com_x * (BODY0_MASS * (v[0] * (v[0] * body0_com_y)));
    float t15 = BODY1_MASS * (t1 + body1_spin_z * (body1_spin_z * t3));
    float t16 = BODY1_MASS * (t2 + body1_spin_z * (body1_spin_z * t4));
    float t17 = (t1 + body1_spin_z * (body1_spin_z * t5)) * FINGERTIP_MASS;
    float t18 = (t2 + body1_spin_z * (body1_spin_z * t6)) * FINGERTIP_MASS;
    float t19 = body1_com_y * t15 - body1_com_x * t16 + (fingertip_y * t17 - fingertip_x * t18);
    float t20 = q[1] - (-3.0);
    float t21 = 3.0 - q[1];
    float room_joint1 = min(t20, t21);
    float sign_joint1 = t20 < t21 ? 1.0 : (-1.0);
    float t22 = min(1000.0 * abs(room_joint1), 1.0);
    float t23 = 1.0 - t22;
    float impedance_joint1 = 0.9 + 0.05 * (0.5 < t22 ? (1.0 - 2.0 * (t23 * t23)) : (2.0 * (t22 * t22)));
    float d_joint1 = room_joint1 < 0.0 ? (impedance_joint1 / (0.9998211 * (1.0 - impedance_joint1))) : 0.0;
    float t24 = 105.26316 * (v[1] * sign_joint1) + 2770.083 * (room_joint1 * impedance_joint1) + a[1] * sign_joint1;
    float t25 = q[2] - (-0.27);
    float t26 = 0.27 - q[2];
    float room_target_x = min(t25, t26);
    float sign_target_x = t25 < t26 ? 1.0 : (-1.0);
    float t27 = min(1000.0 * abs(room_target_x), 1.0);
    float t28 = 1.0 - t27;
    float impedance_target_x = 0.9 + 0.05 * (0.5 < t27 ? (1.0 - 2.0 * (t28 * t28)) : (2.0 * (t27 * t27)));
    float d_target_x = room_target_x < 0.0 ? (impedance_target_x / (327.4793 * (1.0 - impedance_target_x))) : 0.0;
    float t29 = 105.26316 * (v[2] * sign_target_x) + 2770.083 * (room_target_x * impedance_target_x) + a[2] * sign_target_x;
    float t30 = q[3] - (-0.27);
    float t31 = 0.27 - q[3];
    float room_target_y = min(t30, t31);
    float sign_target_y = t30 < t31 ? 1.0 : (-1.0);
    float t32 = min(1000.0 * abs(room_target_y), 1.0);
    float t33 = 1.0 - t32;
    float impedance_target_y = 0.9 + 0.05 * (0.5 < t32 ? (1.0 - 2.0 * (t33 * t33)) : (2.0 * (t32 * t32)));
    float d_target_y = room_target_y < 0.0 ? (impedance_target_y / (327.4793 * (1.0 - impedance_target_y))) : 0.0;
    float t34 = 105.26316 * (v[3] * sign_target_y) + 2770.083 * (room_target_y * impedance_target_y) + a[3] * sign_target_y;
    float t35 = inertia_joint0 * a[0] + mass_joint1_joint0 * a[1] - (force[0] - (v[0] + (body0_torque_z + t19)));
    float t36 = mass_joint1_joint0 * a[0] + inertia_joint1 * a[1] - (force[1] - (v[1] + (t19 + (body1_x * (t16 + t18) - body1_y * (t15 + t17)))));
    float t37 = fingertip_x - (0.1 + (q[2] - 0.1));
    float t38 = fingertip_y - ((-0.1) + (q[3] - (-0.1)));
    float residual[4];
    residual[0] = t35;
    residual[1] = t36;
    residual[2] = TARGET_MASS * a[2];
    residual[3] = TARGET_MASS * a[3];
    float at[3];
    at[0] = t24;
    at[1] = t29;
    at[2] = t34;
    for (uint iteration = 0u; iteration < SOLVER_ITERATIONS; iteration++) {
        float t39 = d_joint1 * at[0];
        bool t40 = t39 < 0.0;
        float gradient_joint1 = residual[1] + sign_joint1 * min(t39, 0.0);
        float t41 = d_target_x * at[1];
        bool t42 = t41 < 0.0;
        float gradient_target_x = residual[2] + sign_target_x * min(t41, 0.0);
        float t43 = d_target_y * at[2];
        bool t44 = t43 < 0.0;
        float gradient_target_y = residual[3] + sign_target_y * min(t43, 0.0);
        float t45 = 1.0 / (inertia_joint1 + (t40 ? d_joint1 : 0.0));
        float t46 = mass_joint1_joint0 * t45;
        float step_joint0 = (1.0 / (inertia_joint0 - mass_joint1_joint0 * t46)) * (gradient_joint1 * t46 - residual[0]);
        float t47 = gradient_joint1 * t45 + t46 * step_joint0;
        float t48 = gradient_target_x * (1.0 / (TARGET_MASS + (t42 ? d_target_x : 0.0)));
        float t49 = gradient_target_y * (1.0 / (TARGET_MASS + (t44 ? d_target_y : 0.0)));
        float t50 = residual[0] * step_joint0;
        float t51 = inertia_joint0 * step_joint0 - mass_joint1_joint0 * t47;
        float t52 = mass_joint1_joint0 * step_joint0 - inertia_joint1 * t47;
        float t53 = TARGET_MASS * t48;
        float t54 = TARGET_MASS * t49;
        float t55 = sign_joint1 * t47;
        float t56 = sign_target_x * t48;
        float t57 = sign_target_y * t49;
        float t58 = t50 - residual[1] * t47 - residual[2] * t48 - residual[3] * t49;
        float t59 = step_joint0 * t51 - t47 * t52 + t48 * t53 + t49 * t54;
        float t60 = t55 * t55;
        float t61 = t56 * t56;
        float t62 = t57 * t57;
        float alpha = 1.0;
        float slope = t50 - gradient_joint1 * t47 - gradient_target_x * t48 - gradient_target_y * t49;
        bool done = false;
        float low = 0.0, high = 0.0; // alpha is between, once high is positive
        [[dont_unroll]] for (uint search = 0u; search < SEARCH_ITERATIONS; search++) {
            float t63 = d_joint1 * (at[0] - t55 * alpha);
            bool t64 = t63 < 0.0;
            float t65 = d_target_x * (at[1] - t56 * alpha);
            bool t66 = t65 < 0.0;
            float t67 = d_target_y * (at[2] - t57 * alpha);
            bool t68 = t67 < 0.0;
            float t69 = t59 + (t64 ? d_joint1 : 0.0) * t60 + (t66 ? d_target_x : 0.0) * t61 + (t68 ? d_target_y : 0.0) * t62;
            float rise = t58 + alpha * t59 - t55 * min(t63, 0.0) - t56 * min(t65, 0.0) - t57 * min(t67, 0.0);
            float curvature = t69;
            bool changed = ((t40 != t64) || (t42 != t66)) || (t44 != t68);
            done = search == 0u && !changed;
            if (done || abs(rise) <= SEARCH_TOLERANCE * abs(slope)) break;
            low = rise < 0.0 ? alpha : low;
            high = rise < 0.0 ? high : alpha;
            float next = alpha - rise / curvature;
            alpha = next > low && (high == 0.0 || next < high) ? next : (high == 0.0 ? 2.0 * alpha : 0.5 * (low + high));
        }
        a[0] += alpha * step_joint0;
        a[1] += alpha * -t47;
        a[2] += alpha * -t48;
        a[3] += alpha * -t49;
        residual[0] += alpha * t51;
        residual[1] += alpha * t52;
        residual[2] += alpha * -t53;
        residual[3] += alpha * -t54;
        at[0] += alpha * -t55;
        at[1] += alpha * -t56;
        at[2] += alpha * -t57;
        if (done || -slope <= 4.0148795e-08) break; // MuJoCo's tolerance of an improvement
    }
    rate[0] = a[0];
    rate[1] = a[1];
    rate[2] = a[2];
    rate[3] = a[3];
    sensed[0] = t37;
    sensed[1] = t38;
}

// physics_sense gives what of `sensed` depends on positions and velocities alone: apart fingertip target xy. The rest is 0.
void physics_sense(const float q[NQ], const float v[NV], out float sensed[SENSES]) {
    [[unroll]] for (uint i = 0u; i < SENSES; i++) sensed[i] = 0.0;
    float joint0_sin = m_sin(q[0]);
    float joint0_cos = m_cos(q[0]);
    float joint1_sin = m_sin(q[1]);
    float joint1_cos = m_cos(q[1]);
    float t1 = 0.1 * joint0_cos + 0.11 * (joint0_cos * joint1_cos - joint0_sin * joint1_sin) - (0.1 + (q[2] - 0.1));
    float t2 = 0.1 * joint0_sin + 0.11 * (joint0_cos * joint1_sin + joint0_sin * joint1_cos) - ((-0.1) + (q[3] - (-0.1)));
    sensed[0] = t1;
    sensed[1] = t2;
}
