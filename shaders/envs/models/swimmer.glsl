// Dynamics of swimmer, written by tools/mjcf from what MuJoCo 3.12.0's compiler makes of swimmer.xml. Do not edit.
//
// Degrees of freedom: slider1, slider2, free_body_rot, motor1_rot, motor2_rot.

#include "envs/physics/solver.glsl"

#define NQ 5 // positions
#define NV 5 // degrees of freedom
#define NU 2 // actuators
#define TIME_STEP_ITERATIONS 436 // iterations that the loops of a time step take at most
#define DYNAMICS_LOOPS 2 // loops below, which that counts
#define TRAVEL 2 // positions, the first ones, that no force depends on
#define SENSES 1 // numbers that a forward pass gives beside its accelerations
#define RUNGE_KUTTA 1 // 0: Euler's method

const float TIMESTEP = 0.01;
const float TORSO_MASS = 35.604717;
const float TORSO_INERTIA_ZZ = 3.917566;
const float MID_MASS = 35.604717;
const float MID_INERTIA_ZZ = 3.917566;
const float BACK_MASS = 35.604717;
const float BACK_INERTIA_ZZ = 3.917566;
const float SLIDER1_ARMATURE = 0.1;
const float SLIDER2_ARMATURE = 0.1;
const float FREE_BODY_ROT_ARMATURE = 0.1;
const float MOTOR1_ROT_ARMATURE = 0.1;
const float MOTOR2_ROT_ARMATURE = 0.1;
const float C1 = MID_MASS + BACK_MASS;
const float MASS_SLIDER1_SLIDER1 = TORSO_MASS + C1;
const float INERTIA_SLIDER1 = MASS_SLIDER1_SLIDER1 + SLIDER1_ARMATURE;
const float INERTIA_SLIDER2 = MASS_SLIDER1_SLIDER1 + SLIDER2_ARMATURE;

const uint physics_motor[NU] = uint[](3u, 4u); // the degrees of freedom that the actuators drive

// physics_actuate gives the forces of controls, each within its range. As in MuJoCo, one control that is no number, or beyond 1e10, and all count as zero.
void physics_actuate(const float control[NU], out float force[NU]) {
    bool valid = true;
    valid = valid && abs(control[0]) <= 1e10;
    valid = valid && abs(control[1]) <= 1e10;
    force[0] = valid ? 150.0 * clamp(control[0], -1.0, 1.0) : 0.0;
    force[1] = valid ? 150.0 * clamp(control[1], -1.0, 1.0) : 0.0;
}

// physics_move moves positions by velocities for a time.
void physics_move(inout float q[NQ], const float v[NV], float time) {
    q[0] += time * v[0];
    q[1] += time * v[1];
    q[2] += time * v[2];
    q[3] += time * v[3];
    q[4] += time * v[4];
}

// physics_forward computes the accelerations a at positions q and velocities v under the actuators' forces; a's old values are where the search for the
// contacts' forces begins. rate is what the velocities advance by. There is nothing in sensed.
void physics_forward(const float q[NQ], const float v[NV], const float force[NU], inout float a[NV], out float rate[NV], out float sensed[SENSES]) {
    float free_body_rot_sin = m_sin(q[2]);
    float free_body_rot_cos = m_cos(q[2]);
    float mid_x = 0.5 * free_body_rot_cos;
    float mid_y = 0.5 * free_body_rot_sin;
    float t1 = v[2] * mid_y;
    float t2 = v[2] * mid_x;
    float mid_velocity_x = v[0] - t1;
    float mid_velocity_y = v[1] + t2;
    float t3 = v[2] * t2;
    float t4 = v[2] * t1;
    float mid_spin_z = v[2] + v[3];
    float motor1_rot_sin = m_sin(q[3]);
    float motor1_rot_cos = m_cos(q[3]);
    float t5 = free_body_rot_cos * motor1_rot_cos;
    float t6 = free_body_rot_sin * motor1_rot_sin;
    float mid_axes_x_x = t5 - t6;
    float mid_axes_y_x = free_body_rot_cos * motor1_rot_sin + free_body_rot_sin * motor1_rot_cos;
    float t7 = 0.5 * mid_axes_x_x;
    float t8 = 0.5 * mid_axes_y_x;
    float mid_com_x = mid_x - t7;
    float mid_com_y = mid_y - t8;
    float t9 = t6 - t5;
    float back_x = mid_x + t9;
    float back_y = mid_y - mid_axes_y_x;
    float t10 = mid_spin_z * mid_axes_y_x;
    float t11 = mid_spin_z * t9;
    float back_spin_z = v[4] + mid_spin_z;
    float motor2_rot_sin = m_sin(q[4]);
    float motor2_rot_cos = m_cos(q[4]);
    float back_axes_x_x = mid_axes_x_x * motor2_rot_cos - mid_axes_y_x * motor2_rot_sin;
    float back_axes_y_x = mid_axes_x_x * motor2_rot_sin + mid_axes_y_x * motor2_rot_cos;
    float t12 = 0.5 * back_axes_x_x;
    float t13 = 0.5 * back_axes_y_x;
    float back_com_x = back_x - t12;
    float back_com_y = back_y - t13;
    float t14 = free_body_rot_sin * TORSO_MASS;
    float t15 = free_body_rot_cos * TORSO_MASS;
    float t16 = mid_com_y * MID_MASS;
    float t17 = mid_com_x * MID_MASS;
    float t18 = back_com_y * BACK_MASS;
    float t19 = back_com_x * BACK_MASS;
    float t20 = back_com_y * t18 + back_com_x * t19 + BACK_INERTIA_ZZ;
    float t21 = mid_com_y * t16 + mid_com_x * t17 + MID_INERTIA_ZZ + t20;
    float t22 = t16 + t18;
    float t23 = t17 + t19;
    float t24 = t14 + t22;
    float mass_free_body_rot_slider2 = t15 + t23;
    float mass_motor1_rot_free_body_rot = t21 - (mid_y * t22 + mid_x * t23);
    float mass_motor1_rot_slider1 = mid_y * C1 - t22;
    float mass_motor1_rot_slider2 = t23 - mid_x * C1;
    float mass_motor1_rot_motor1_rot = mass_motor1_rot_free_body_rot + (mid_y * mass_motor1_rot_slider1 - mid_x * mass_motor1_rot_slider2);
    float mass_motor2_rot_free_body_rot = t20 - (back_y * t18 + back_x * t19);
    float mass_motor2_rot_slider1 = back_y * BACK_MASS - t18;
    float mass_motor2_rot_slider2 = t19 - back_x * BACK_MASS;
    float mass_motor2_rot_motor2_rot = mass_motor2_rot_free_body_rot + (back_y * mass_motor2_rot_slider1 - back_x * mass_motor2_rot_slider2);
    float mass_motor2_rot_motor1_rot = mass_motor2_rot_free_body_rot + (mid_y * mass_motor2_rot_slider1 - mid_x * mass_motor2_rot_slider2);
    float inertia_free_body_rot = free_body_rot_sin * t14 + free_body_rot_cos * t15 + TORSO_INERTIA_ZZ + t21 + FREE_BODY_ROT_ARMATURE;
    float inertia_motor1_rot = mass_motor1_rot_motor1_rot + MOTOR1_ROT_ARMATURE;
    float inertia_motor2_rot = mass_motor2_rot_motor2_rot + MOTOR2_ROT_ARMATURE;
    float t25 = v[2] * free_body_rot_sin;
    float t26 = v[2] * free_body_rot_cos;
    float t27 = v[0] - t25;
    float t28 = v[1] + t26;
    float t29 = free_body_rot_cos * t28 - free_body_rot_sin * t27;
    float t30 = free_body_rot_cos * t27 + free_body_rot_sin * t28;
    float t31 = 0.46450275 * t29 + 388.9495 * (t29 * abs(t29));
    float t32 = 0.46450275 * t30 + 58.588234 * (t30 * abs(t30));
    float t33 = TORSO_MASS * (v[2] * t26) + (free_body_rot_sin * t31 - free_body_rot_cos * t32);
    float torso_force_y = free_body_rot_cos * t31 + free_body_rot_sin * t32 - TORSO_MASS * (v[2] * t25);
    float torso_torque_z = 0.03760983 * v[2] + 17.839628 * (v[2] * abs(-v[2])) + (free_body_rot_cos * torso_force_y + free_body_rot_sin * t33);
    float t34 = mid_spin_z * t8;
    float t35 = mid_spin_z * t7;
    float t36 = mid_velocity_x + t34;
    float t37 = mid_velocity_y - t35;
    float t38 = mid_axes_x_x * t37 - mid_axes_y_x * t36;
    float t39 = mid_axes_x_x * t36 + mid_axes_y_x * t37;
    float t40 = 0.46450275 * t38 + 388.9495 * (t38 * abs(t38));
    float t41 = 0.46450275 * t39 + 58.588234 * (t39 * abs(t39));
    float mid_force_x = MID_MASS * (mid_spin_z * t35 - t3) - (mid_axes_y_x * t40 - mid_axes_x_x * t41);
    float mid_force_y = MID_MASS * (mid_spin_z * t34 - t4) + (mid_axes_x_x * t40 + mid_axes_y_x * t41);
    float mid_torque_z = 0.03760983 * mid_spin_z + 17.839628 * (mid_spin_z * abs(-mid_spin_z)) + (mid_com_x * mid_force_y - mid_com_y * mid_force_x);
    float t42 = back_spin_z * t13;
    float t43 = back_spin_z * t12;
    float t44 = mid_velocity_x + t10 + t42;
    float t45 = mid_velocity_y + t11 - t43;
    float t46 = back_axes_x_x * t45 - back_axes_y_x * t44;
    float t47 = back_axes_x_x * t44 + back_axes_y_x * t45;
    float t48 = 0.46450275 * t46 + 388.9495 * (t46 * abs(t46));
    float t49 = 0.46450275 * t47 + 58.588234 * (t47 * abs(t47));
    float back_force_x = BACK_MASS * (back_spin_z * t43 - (t3 + mid_spin_z * t11)) - (back_axes_y_x * t48 - back_axes_x_x * t49);
    float back_force_y = BACK_MASS * (mid_spin_z * t10 - t4 + back_spin_z * t42) + (back_axes_x_x * t48 + back_axes_y_x * t49);
    float back_torque_z = 0.03760983 * back_spin_z + 17.839628 * (back_spin_z * abs(-back_spin_z)) + (back_com_x * back_force_y - back_com_y * back_force_x);
    float t50 = mid_force_x + back_force_x;
    float t51 = mid_force_y + back_force_y;
    float t52 = mid_torque_z + back_torque_z;
    float t53 = q[3] - (-1.7453293);
    float t54 = 1.7453293 - q[3];
    float room_motor1_rot = min(t53, t54);
    float sign_motor1_rot = t53 < t54 ? 1.0 : (-1.0);
    float t55 = min(1000.0 * abs(room_motor1_rot), 1.0);
    float t56 = 1.0 - t55;
    float impedance_motor1_rot = 0.9 + 0.05 * (0.5 < t55 ? (1.0 - 2.0 * (t56 * t56)) : (2.0 * (t55 * t55)));
    float d_motor1_rot = room_motor1_rot < 0.0 ? (impedance_motor1_rot / (0.38529333 * (1.0 - impedance_motor1_rot))) : 0.0;
    float t57 = 105.26316 * (v[3] * sign_motor1_rot) + 2770.083 * (room_motor1_rot * impedance_motor1_rot);
    float t58 = q[4] - (-1.7453293);
    float t59 = 1.7453293 - q[4];
    float room_motor2_rot = min(t58, t59);
    float sign_motor2_rot = t58 < t59 ? 1.0 : (-1.0);
    float t60 = min(1000.0 * abs(room_motor2_rot), 1.0);
    float t61 = 1.0 - t60;
    float impedance_motor2_rot = 0.9 + 0.05 * (0.5 < t60 ? (1.0 - 2.0 * (t61 * t61)) : (2.0 * (t60 * t60)));
    float d_motor2_rot = room_motor2_rot < 0.0 ? (impedance_motor2_rot / (0.39333367 * (1.0 - impedance_motor2_rot))) : 0.0;
    float t62 = 105.26316 * (v[4] * sign_motor2_rot) + 2770.083 * (room_motor2_rot * impedance_motor2_rot);
    float t63 = INERTIA_SLIDER1 * a[0] - t24 * a[2] + mass_motor1_rot_slider1 * a[3] + mass_motor2_rot_slider1 * a[4];
    float t64 = INERTIA_SLIDER2 * a[1] + mass_free_body_rot_slider2 * a[2] + mass_motor1_rot_slider2 * a[3];
    float t65 = mass_free_body_rot_slider2 * a[1] - t24 * a[0] + inertia_free_body_rot * a[2] + mass_motor1_rot_free_body_rot * a[3];
    float t66 = mass_motor1_rot_slider1 * a[0] + mass_motor1_rot_slider2 * a[1] + mass_motor1_rot_free_body_rot * a[2];
    float t67 = mass_motor2_rot_slider1 * a[0] + mass_motor2_rot_slider2 * a[1] + mass_motor2_rot_free_body_rot * a[2];
    float t68 = t66 + inertia_motor1_rot * a[3] + mass_motor2_rot_motor1_rot * a[4] - (force[0] - (t52 + (mid_y * t50 - mid_x * t51)));
    float t69 = t67 + mass_motor2_rot_motor1_rot * a[3] + inertia_motor2_rot * a[4] - (force[1] - (back_torque_z + (back_y * back_force_x - back_x * back_force_y)));
    float residual[5];
    residual[0] = t63 - (t33 - t50);
    residual[1] = torso_force_y + t51 + (t64 + mass_motor2_rot_slider2 * a[4]);
    residual[2] = torso_torque_z + t52 + (t65 + mass_motor2_rot_free_body_rot * a[4]);
    residual[3] = t68;
    residual[4] = t69;
    float at[2];
    at[0] = t57 + a[3] * sign_motor1_rot;
    at[1] = t62 + a[4] * sign_motor2_rot;
    for (uint iteration = 0u; iteration < SOLVER_ITERATIONS; iteration++) {
        float t70 = d_motor1_rot * at[0];
        bool t71 = t70 < 0.0;
        float gradient_motor1_rot = residual[3] + sign_motor1_rot * min(t70, 0.0);
        float t72 = d_motor2_rot * at[1];
        bool t73 = t72 < 0.0;
        float gradient_motor2_rot = residual[4] + sign_motor2_rot * min(t72, 0.0);
        float t74 = 1.0 / (inertia_motor2_rot + (t73 ? d_motor2_rot : 0.0));
        float t75 = mass_motor2_rot_motor1_rot * t74;
        float t76 = mass_motor1_rot_slider1 - mass_motor2_rot_slider1 * t75;
        float t77 = mass_motor1_rot_slider2 - mass_motor2_rot_slider2 * t75;
        float t78 = mass_motor1_rot_free_body_rot - mass_motor2_rot_free_body_rot * t75;
        float t79 = mass_motor2_rot_free_body_rot * t74;
        float t80 = mass_motor2_rot_slider2 * t74;
        float t81 = mass_motor2_rot_slider1 * t74;
        float t82 = 1.0 / (inertia_motor1_rot + (t71 ? d_motor1_rot : 0.0) - mass_motor2_rot_motor1_rot * t75);
        float t83 = t78 * t82;
        float t84 = t24 + mass_motor2_rot_slider1 * t79 + t76 * t83;
        float t85 = mass_free_body_rot_slider2 - mass_motor2_rot_slider2 * t79 - t77 * t83;
        float t86 = t77 * t82;
        float t87 = t76 * t82;
        float t88 = 1.0 / (inertia_free_body_rot - mass_motor2_rot_free_body_rot * t79 - t78 * t83);
        float t89 = t85 * t88;
        float t90 = t84 * t89 - (mass_motor2_rot_slider1 * t80 + t76 * t86);
        float t91 = t84 * t88;
        float t92 = 1.0 / (INERTIA_SLIDER2 - mass_motor2_rot_slider2 * t80 - t77 * t86 - t85 * t89);
        float t93 = t90 * t92;
        float t94 = 1.0 / (INERTIA_SLIDER1 - mass_motor2_rot_slider1 * t81 - t76 * t87 - t84 * t91 - t90 * t93);
        float t95 = gradient_motor2_rot * t75 - gradient_motor1_rot;
        float t96 = gradient_motor2_rot * t79 - residual[2] - t83 * t95;
        float t97 = gradient_motor2_rot * t80 - residual[1] - t86 * t95 - t89 * t96;
        float step_slider1 = t94 * (gradient_motor2_rot * t81 - residual[0] - t87 * t95 + t91 * t96 - t93 * t97);
        float step_slider2 = t92 * t97 - t93 * step_slider1;
        float step_free_body_rot = t88 * t96 + t91 * step_slider1 - t89 * step_slider2;
        float step_motor1_rot = t82 * t95 - t87 * step_slider1 - t86 * step_slider2 - t83 * step_free_body_rot;
        float t98 = gradient_motor2_rot * t74 + t81 * step_slider1 + t80 * step_slider2 + t79 * step_free_body_rot;
        float t99 = t98 + t75 * step_motor1_rot;
        float t100 = residual[0] * step_slider1 + residual[1] * step_slider2 + residual[2] * step_free_body_rot;
        float t101 = INERTIA_SLIDER1 * step_slider1 - t24 * step_free_body_rot + mass_motor1_rot_slider1 * step_motor1_rot;
        float t102 = t101 - mass_motor2_rot_slider1 * t99;
        float t103 = INERTIA_SLIDER2 * step_slider2 + mass_free_body_rot_slider2 * step_free_body_rot + mass_motor1_rot_slider2 * step_motor1_rot;
        float t104 = t103 - mass_motor2_rot_slider2 * t99;
        float t105 = mass_free_body_rot_slider2 * step_slider2 - t24 * step_slider1 + inertia_free_body_rot * step_free_body_rot;
        float t106 = t105 + mass_motor1_rot_free_body_rot * step_motor1_rot - mass_motor2_rot_free_body_rot * t99;
        float t107 = mass_motor1_rot_slider1 * step_slider1 + mass_motor1_rot_slider2 * step_slider2 + mass_motor1_rot_free_body_rot * step_free_body_rot;
        float t108 = t107 + inertia_motor1_rot * step_motor1_rot - mass_motor2_rot_motor1_rot * t99;
        float t109 = mass_motor2_rot_slider1 * step_slider1 + mass_motor2_rot_slider2 * step_slider2 + mass_motor2_rot_free_body_rot * step_free_body_rot;
        float t110 = t109 + mass_motor2_rot_motor1_rot * step_motor1_rot - inertia_motor2_rot * t99;
        float t111 = sign_motor1_rot * step_motor1_rot;
        float t112 = sign_motor2_rot * t99;
        float t113 = t100 + residual[3] * step_motor1_rot - residual[4] * t99;
        float t114 = step_slider1 * t102 + step_slider2 * t104 + step_free_body_rot * t106 + step_motor1_rot * t108;
        float t115 = t114 - t99 * t110;
        float t116 = t111 * t111;
        float t117 = t112 * t112;
        float alpha = 1.0;
        float slope = t100 + gradient_motor1_rot * step_motor1_rot - gradient_motor2_rot * t99;
        bool done = false;
        float low = 0.0, high = 0.0; // alpha is between, once high is positive
        [[dont_unroll]] for (uint search = 0u; search < SEARCH_ITERATIONS; search++) {
            float t118 = d_motor1_rot * (at[0] + t111 * alpha);
            bool t119 = t118 < 0.0;
            float t120 = d_motor2_rot * (at[1] - t112 * alpha);
            bool t121 = t120 < 0.0;
            float rise = t113 + alpha * t115 + t111 * min(t118, 0.0) - t112 * min(t120, 0.0);
            float curvature = t115 + (t119 ? d_motor1_rot : 0.0) * t116 + (t121 ? d_motor2_rot : 0.0) * t117;
            bool changed = (t71 != t119) || (t73 != t121);
            done = search == 0u && !changed;
            if (done || abs(rise) <= SEARCH_TOLERANCE * abs(slope)) break;
            low = rise < 0.0 ? alpha : low;
            high = rise < 0.0 ? high : alpha;
            float next = alpha - rise / curvature;
            alpha = next > low && (high == 0.0 || next < high) ? next : (high == 0.0 ? 2.0 * alpha : 0.5 * (low + high));
        }
        a[0] += alpha * step_slider1;
        a[1] += alpha * step_slider2;
        a[2] += alpha * step_free_body_rot;
        a[3] += alpha * step_motor1_rot;
        a[4] += alpha * -t99;
        residual[0] += alpha * t102;
        residual[1] += alpha * t104;
        residual[2] += alpha * t106;
        residual[3] += alpha * t108;
        residual[4] += alpha * t110;
        at[0] += alpha * t111;
        at[1] += alpha * -t112;
        if (done || -slope <= 8.135122e-06) break; // MuJoCo's tolerance of an improvement
    }
    rate[0] = a[0];
    rate[1] = a[1];
    rate[2] = a[2];
    rate[3] = a[3];
    rate[4] = a[4];
    sensed[0] = 0.0;
}
