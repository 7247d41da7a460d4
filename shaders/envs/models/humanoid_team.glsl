// Tables of humanoid, for lanes that compute a world together, written by tools/mjcf from what MuJoCo 3.12.0's compiler makes of humanoid.xml. Do not edit.

#include "envs/models/humanoid.glsl"
#include "envs/physics/team/soft.glsl"

#define LIST_SIZE 186 // words of lists of degrees of freedom
#define BODIES 14 // with the world, the first
#define LEVELS 6 // of the tree
#define LEVEL_WIDTH 3 // bodies of a level, at most
const vec3 GRAVITY = vec3(0.0, 0.0, -9.81); // m/s²
const float TOLERANCE = 3.7654386e-06; // of an improvement of the solver's: MuJoCo's
#define IMPLICIT_DAMPING 0 // 1: velocities advance with the damping at the step's end
const Soft LIMIT = Soft(0.0, 2770.083, 105.26316, 0.9, 0.95, 0.001, 0.5, 2.0); // soft law
#define POINTS 29 // that may touch the ground
#define TEAM_LINKS 17 // that may touch each other
#define TEAM_PAIRS 109 // of them
#define TEAM_TOUCHES 12 // pairs at once; those beyond go through each other
const Soft CONTACT = Soft(0.002, 2770.083, 105.26316, 0.9, 0.95, 0.001, 0.5, 2.0); // soft law
const vec3 GROUND_NORMAL = vec3(0.0, 0.0, 1.0); // 
const float GROUND_HEIGHT = 0.0; // along it
const vec3 GROUND_SIDE = vec3(0.0, 1.0, 0.0); // along which, for spheres, friction acts

// How an environment step's last forward pass fills `sensed`.
#define TEAM_SENSE team_sense_position(0u, 0u); team_sense_inertia(2u); team_sense_velocity(132u); team_sense_forces(210u, slots);

// Bodies: position in the parent, axes (columns), centre of mass, inertia about it (xx yy zz xy xz yz), mass. Degrees of freedom: axis, anchor, reference,
// rest of the spring, stiffness, damping, armature, least and greatest position, mean inverse inertia where limited. Points: position, axis of their capsule, radius, friction
// (0: of the normal alone), mean inverse inertia of a row. Links: centre, half axis, radius, mean inverse inertia. Metres, kilograms, seconds, radians.
#define MODEL_SIZE 1045
const float MODEL[MODEL_SIZE] = float[](
    0.0, 0.0, 1.4, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -0.002539384, 0.0, 0.03466259, 0.17314883, 0.15401015, 0.04121185, 0.0, -0.0034983854, 0.0, 8.907462, // body torso
    -0.01, 0.0, -0.26, 0.999992, 0.0, 0.003999984, -0.0, 1.0, 0.0, -0.003999984, -0.0, 0.999992, 0.0, 0.0, 0.0, 0.00985304, 0.0037457838, 0.00985304, 0.0, 0.0, 0.0, 2.2619467, // body lwaist
    0.0, 0.0, -0.165, 0.999992, 0.0, 0.003999984, -0.0, 1.0, 0.0, -0.003999984, -0.0, 0.999992, -0.02, 0.0, 0.0, 0.05231798, 0.024322148, 0.05231798, 0.0, 0.0, 0.0, 6.6161942, // body pelvis
    0.0, -0.1, -0.04, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.005, -0.17, 0.074951656, 0.07489398, 0.0082851015, 0.0, 0.0, 0.001960781, 4.751751, // body right_thigh
    0.0, 0.01, -0.403, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -0.15, 0.032608017, 0.032608017, 0.0031898902, 0.0, 0.0, 0.0, 2.755696, // body right_shin
    0.0, 0.0, -0.45, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.1, 0.0039760782, 0.0039760782, 0.0039760782, 0.0, 0.0, 0.0, 1.7671459, // body right_foot
    0.0, 0.1, -0.04, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, -0.005, -0.17, 0.074951656, 0.07489398, 0.0082851015, 0.0, 0.0, -0.001960781, 4.751751, // body left_thigh
    0.0, -0.01, -0.403, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -0.15, 0.032608017, 0.032608017, 0.0031898902, 0.0, 0.0, 0.0, 2.755696, // body left_shin
    0.0, 0.0, -0.45, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.1, 0.0039760782, 0.0039760782, 0.0039760782, 0.0, 0.0, 0.0, 1.7671459, // body left_foot
    0.0, -0.17, 0.06, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.08, -0.08, -0.08, 0.011032352, 0.011032352, 0.011032352, 0.0048731905, 0.0048731905, -0.0048731905, 1.6610805, // body right_upper_arm
    0.18, -0.18, -0.18, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.109623134, 0.109623134, 0.109623134, 0.009318672, 0.009318672, 0.009318672, -0.0043485556, -0.0043485556, -0.0043485556, 1.2295402, // body right_lower_arm
    0.0, 0.17, 0.06, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.08, 0.08, -0.08, 0.011032352, 0.011032352, 0.011032352, -0.0048731905, 0.0048731905, 0.0048731905, 1.6610805, // body left_upper_arm
    0.18, 0.18, -0.18, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.109623134, -0.109623134, 0.109623134, 0.009318672, 0.009318672, 0.009318672, 0.0043485556, -0.0043485556, 0.0043485556, 1.2295402, // body left_lower_arm
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_x
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_y
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_z
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_turn_x
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_turn_y
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_turn_z
    0.0, 0.0, 1.0, 0.0, 0.0, 0.065, 0.0, 0.0, 20.0, 5.0, 0.02, -0.7853982, 0.7853982, 11.784499, 0.0, // degree of freedom abdomen_z
    0.0, 1.0, 0.0, 0.0, 0.0, 0.065, 0.0, 0.0, 10.0, 5.0, 0.02, -1.3089969, 0.5235988, 10.57089, 0.0, // degree of freedom abdomen_y
    1.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 10.0, 5.0, 0.02, -0.61086524, 0.61086524, 5.201963, 0.0, // degree of freedom abdomen_x
    1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 5.0, 0.01, -0.43633232, 0.08726646, 4.1089025, 0.0, // degree of freedom right_hip_x
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 5.0, 0.01, -1.0471976, 0.61086524, 42.035915, 0.0, // degree of freedom right_hip_z
    0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 5.0, 0.008, -1.9198622, 0.34906584, 9.90118, 0.0, // degree of freedom right_hip_y
    0.0, -1.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 1.0, 0.006, -2.7925267, -0.034906585, 16.738808, 0.0, // degree of freedom right_knee
    -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 5.0, 0.01, -0.43633232, 0.08726646, 4.1089025, 0.0, // degree of freedom left_hip_x
    0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 5.0, 0.01, -1.0471976, 0.61086524, 42.02998, 0.0, // degree of freedom left_hip_z
    0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 5.0, 0.01, -1.9198622, 0.34906584, 9.7781315, 0.0, // degree of freedom left_hip_y
    0.0, -1.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.0, 1.0, 1.0, 0.006, -2.7925267, -0.034906585, 16.601282, 0.0, // degree of freedom left_knee
    0.8164966, 0.4082483, 0.4082483, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0068, -1.4835298, 1.0471976, 11.965634, 0.0, // degree of freedom right_shoulder1
    0.0, -0.70710677, 0.70710677, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0051, -1.4835298, 1.0471976, 15.932199, 0.0, // degree of freedom right_shoulder2
    0.0, -0.70710677, 0.70710677, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0028, -1.5707964, 0.87266463, 23.60915, 0.0, // degree of freedom right_elbow
    0.8164966, -0.4082483, 0.4082483, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0068, -1.0471976, 1.4835298, 11.963619, 0.0, // degree of freedom left_shoulder1
    0.0, 0.70710677, 0.70710677, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0051, -1.0471976, 1.4835298, 15.936115, 0.0, // degree of freedom left_shoulder2
    0.0, -0.70710677, -0.70710677, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0028, -1.5707964, 0.87266463, 23.610155, 0.0, // degree of freedom left_elbow
    0.0, -0.07, 0.0, 0.0, -1.0, 0.0, 0.07, 1.0, 0.23460452, // point of torso1
    0.0, 0.07, 0.0, 0.0, -1.0, 0.0, 0.07, 1.0, 0.23460452, // point of torso1
    0.0, 0.0, 0.19, 0.0, 0.0, 0.0, 0.09, 1.0, 0.23460452, // point of head
    -0.01, -0.06, -0.12, 0.0, -1.0, 0.0, 0.06, 1.0, 0.23460452, // point of uwaist
    -0.01, 0.06, -0.12, 0.0, -1.0, 0.0, 0.06, 1.0, 0.23460452, // point of uwaist
    0.0, -0.06, 0.0, 0.0, -1.0, 0.0, 0.06, 1.0, 0.2685018, // point of lwaist
    0.0, 0.06, 0.0, 0.0, -1.0, 0.0, 0.06, 1.0, 0.2685018, // point of lwaist
    -0.02, -0.07, 0.0, 0.0, -1.0, 0.0, 0.09, 1.0, 0.22178383, // point of butt
    -0.02, 0.07, 0.0, 0.0, -1.0, 0.0, 0.09, 1.0, 0.22178383, // point of butt
    0.0, -0.0, -0.0, 0.0, -0.029399052, 0.99956775, 0.06, 1.0, 0.28975296, // point of right_thigh1
    0.0, 0.01, -0.34, 0.0, -0.029399052, 0.99956775, 0.06, 1.0, 0.28975296, // point of right_thigh1
    0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.049, 1.0, 0.49252477, // point of right_shin1
    0.0, 0.0, -0.3, 0.0, 0.0, 1.0, 0.049, 1.0, 0.49252477, // point of right_shin1
    0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.075, 1.0, 0.9519945, // point of right_foot
    0.0, 0.0, -0.0, 0.0, 0.029399052, 0.99956775, 0.06, 1.0, 0.28988045, // point of left_thigh1
    0.0, -0.01, -0.34, 0.0, 0.029399052, 0.99956775, 0.06, 1.0, 0.28988045, // point of left_thigh1
    0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.049, 1.0, 0.49176982, // point of left_shin1
    0.0, 0.0, -0.3, 0.0, 0.0, 1.0, 0.049, 1.0, 0.49176982, // point of left_shin1
    0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.075, 1.0, 0.9519553, // point of left_foot
    -0.0, 0.0, 0.0, -0.57735026, 0.57735026, 0.57735026, 0.04, 1.0, 0.6446792, // point of right_uarm1
    0.16, -0.16, -0.16, -0.57735026, 0.57735026, 0.57735026, 0.04, 1.0, 0.6446792, // point of right_uarm1
    0.01, 0.01, 0.01, -0.57735026, -0.57735026, -0.57735026, 0.031, 1.0, 2.1809845, // point of right_larm
    0.17, 0.17, 0.17, -0.57735026, -0.57735026, -0.57735026, 0.031, 1.0, 2.1809845, // point of right_larm
    0.18, 0.18, 0.18, 0.0, 0.0, 0.0, 0.04, 1.0, 2.1809845, // point of right_hand
    -0.0, -0.0, 0.0, -0.57735026, -0.57735026, 0.57735026, 0.04, 1.0, 0.6447176, // point of left_uarm1
    0.16, 0.16, -0.16, -0.57735026, -0.57735026, 0.57735026, 0.04, 1.0, 0.6447176, // point of left_uarm1
    0.01, -0.01, 0.01, -0.57735026, 0.57735026, -0.57735026, 0.031, 1.0, 2.1809735, // point of left_larm
    0.17, -0.17, 0.17, -0.57735026, 0.57735026, -0.57735026, 0.031, 1.0, 2.1809735, // point of left_larm
    0.18, -0.18, 0.18, 0.0, 0.0, 0.0, 0.04, 1.0, 2.1809735, // point of left_hand
    0.0, 0.0, 0.0, 0.0, -0.07, 0.0, 0.07, 0.05865113, 0.0, // link torso1
    0.0, 0.0, 0.19, 0.0, 0.0, 0.0, 0.09, 0.05865113, 0.0, // link head
    -0.01, 0.0, -0.12, 0.0, -0.06, 0.0, 0.06, 0.05865113, 0.0, // link uwaist
    0.0, 0.0, 0.0, 0.0, -0.06, 0.0, 0.06, 0.06712545, 0.0, // link lwaist
    -0.02, 0.0, 0.0, 0.0, -0.07, 0.0, 0.09, 0.055445958, 0.0, // link butt
    0.0, 0.005, -0.17, 0.0, -0.005, 0.17, 0.06, 0.07243824, 0.0, // link right_thigh1
    0.0, 0.0, -0.15, 0.0, 0.0, 0.15, 0.049, 0.12313119, 0.0, // link right_shin1
    0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.075, 0.23799862, 0.0, // link right_foot
    0.0, -0.005, -0.17, 0.0, 0.005, 0.17, 0.06, 0.07247011, 0.0, // link left_thigh1
    0.0, 0.0, -0.15, 0.0, 0.0, 0.15, 0.049, 0.122942455, 0.0, // link left_shin1
    0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.075, 0.23798883, 0.0, // link left_foot
    0.08, -0.08, -0.08, -0.08, 0.08, 0.08, 0.04, 0.1611698, 0.0, // link right_uarm1
    0.09, 0.09, 0.09, -0.08, -0.08, -0.08, 0.031, 0.5452461, 0.0, // link right_larm
    0.18, 0.18, 0.18, 0.0, 0.0, 0.0, 0.04, 0.5452461, 0.0, // link right_hand
    0.09, -0.09, 0.09, -0.08, 0.08, -0.08, 0.031, 0.5452434, 0.0, // link left_larm
    0.18, -0.18, 0.18, 0.0, 0.0, 0.0, 0.04, 0.5452434, 0.0, // link left_hand
    0.08, 0.08, -0.08, -0.08, -0.08, 0.08, 0.04, 0.1611794, 0.0 // link left_uarm1
);

// What belongs to what.
#define WORDS_SIZE 435
const uint WORDS[WORDS_SIZE] = uint[](
    0x0u, 0x60000u, 0x20601u, 0x10802u, 0x30903u, 0x10c04u, 0x5u, 0x30d03u, 0x11007u, 0x8u, 0x21101u, 0x1130au, 0x21401u, 0x1160cu, // parent, first degree of freedom << 8, degrees of freedom << 16, by body
    0x0u, 0x3fu, 0xffu, 0x1ffu, 0xfffu, 0x1fffu, 0x1fffu, 0xe1ffu, 0x1e1ffu, 0x1e1ffu, 0x6003fu, 0xe003fu, 0x30003fu, 0x70003fu, // degrees of freedom that move a body, as bits
    0x10002u, 0x1010002u, 0x2010002u, 0x3010002u, 0x4010002u, 0x5010002u, 0x20701u, 0x20801u, 0x30901u, 0x40a01u, 0x40b01u, 0x40c01u, 0x50d01u, 0x70e01u, 0x70f01u, 0x71001u, 0x81101u, 0xa1201u, 0xa1301u, 0xb1401u, 0xc1501u, 0xc1601u, 0xd1701u, // kind (0: slide, 1: hinge, 2: free), position << 8, body << 16, number within its joint << 24, by degree of freedom
    0x1u, 0x3u, 0x7u, 0xfu, 0x1fu, 0x3fu, 0x7fu, 0xffu, 0x1ffu, 0x3ffu, 0x7ffu, 0xfffu, 0x1fffu, 0x21ffu, 0x61ffu, 0xe1ffu, 0x1e1ffu, 0x2003fu, 0x6003fu, 0xe003fu, 0x10003fu, 0x30003fu, 0x70003fu, // degrees of freedom above one, and itself, as bits
    0x1u, 0x2u, 0xau, 0xcu, 0x3u, 0xbu, 0xdu, 0x4u, 0x7u, 0x5u, 0x8u, 0x6u, 0x9u, // bodies by level, from the root
    0x0u, 0x1u, 0x4u, 0x7u, 0x9u, 0xbu, 0xdu, // where levels begin there
    0x18u, 0x18u, 0x19u, 0x1bu, 0x1eu, 0x22u, 0x27u, 0x2du, 0x34u, 0x3cu, 0x45u, 0x4fu, 0x5au, 0x66u, 0x6fu, 0x79u, 0x84u, 0x90u, 0x96u, 0x9du, 0xa5u, 0xabu, 0xb2u, 0xbau, // where the list of the degrees of freedom above one begins, counted from here, and ends
    0x0u, 0x0u, 0x1u, 0x0u, 0x1u, 0x2u, 0x0u, 0x1u, 0x2u, 0x3u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0x9u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0x9u, 0xau, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0x9u, 0xau, 0xbu, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0xdu, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0xdu, 0xeu, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0xdu, 0xeu, 0xfu, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x11u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x11u, 0x12u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x14u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x14u, 0x15u, // these lists
    0x1u, 0x1u, 0x1u, 0x1u, 0x1u, 0x2u, 0x2u, 0x3u, 0x3u, 0x4u, 0x4u, 0x5u, 0x5u, 0x6u, 0x7u, 0x7u, 0x8u, 0x8u, 0x9u, 0xau, 0xau, 0xbu, 0xbu, 0xbu, 0xcu, 0xcu, 0xdu, 0xdu, 0xdu, // body, by point
    0x1u, 0x1u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x7u, 0x8u, 0x9u, 0xau, 0xbu, 0xbu, 0xdu, 0xdu, 0xcu, // body, by link
    0x4u, 0x104u, 0x204u, 0x5u, 0x105u, 0x205u, 0x6u, 0x106u, 0x206u, 0x7u, 0x107u, 0x207u, 0x8u, 0x108u, 0x208u, 0x9u, 0x109u, 0x209u, 0xau, 0x10au, 0x20au, 0xcu, 0xdu, 0x10cu, 0x10du, 0x20cu, 0x20du, 0xeu, 0xfu, 0x10eu, 0x10fu, 0x20eu, 0x20fu, 0x305u, 0x306u, 0x307u, 0x308u, 0x309u, 0x30au, 0x30bu, 0x30cu, 0x30du, 0x310u, 0x30eu, 0x30fu, 0x406u, 0x407u, 0x409u, 0x40au, 0x40bu, 0x40cu, 0x40du, 0x410u, 0x40eu, 0x40fu, 0x508u, 0x509u, 0x50au, 0x50bu, 0x50cu, 0x50du, 0x510u, 0x50eu, 0x50fu, 0x608u, 0x609u, 0x60au, 0x60bu, 0x60cu, 0x60du, 0x610u, 0x60eu, 0x60fu, 0x708u, 0x709u, 0x70au, 0x70bu, 0x70cu, 0x70du, 0x710u, 0x70eu, 0x70fu, 0x80bu, 0x80cu, 0x80du, 0x810u, 0x80eu, 0x80fu, 0x90bu, 0x90cu, 0x90du, 0x910u, 0x90eu, 0x90fu, 0xa0bu, 0xa0cu, 0xa0du, 0xa10u, 0xa0eu, 0xa0fu, 0xb10u, 0xb0eu, 0xb0fu, 0xc10u, 0xd10u, 0xc0eu, 0xc0fu, 0xd0eu, 0xd0fu // first link << 8, second, by pair of links that may touch
);
