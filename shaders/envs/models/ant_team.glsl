// Tables of ant, for lanes that compute a world together, written by tools/mjcf from what MuJoCo 3.12.0's compiler makes of ant.xml. Do not edit.

#include "envs/models/ant.glsl"
#include "envs/physics/team/soft.glsl"

#define LIST_SIZE 82 // words of lists of degrees of freedom
#define BODIES 14 // with the world, the first
#define LEVELS 4 // of the tree
#define LEVEL_WIDTH 4 // bodies of a level, at most
const vec3 GRAVITY = vec3(0.0, 0.0, -9.81); // m/s²
const float TOLERANCE = 2.2752778e-07; // of an improvement of the solver's: MuJoCo's
#define IMPLICIT_DAMPING 0 // 1: velocities advance with the damping at the step's end
const Soft LIMIT = Soft(0.0, 2770.083, 105.26316, 0.9, 0.95, 0.001, 0.5, 2.0); // soft law
#define POINTS 25 // that may touch the ground
#define TEAM_LINKS 0 // that may touch each other
#define TEAM_PAIRS 0 // of them
#define TEAM_TOUCHES 0 // pairs at once; those beyond go through each other
const Soft CONTACT = Soft(0.02, 2770.083, 105.26316, 0.9, 0.95, 0.001, 0.5, 2.0); // soft law
const vec3 GROUND_NORMAL = vec3(0.0, 0.0, 1.0); // 
const float GROUND_HEIGHT = 0.0; // along it
const vec3 GROUND_SIDE = vec3(0.0, 1.0, 0.0); // along which, for spheres, friction acts

// How an environment step's last forward pass fills `sensed`.
#define TEAM_SENSE team_sense_position(0u, 1u); team_sense_forces(2u, slots);

// Bodies: position in the parent, axes (columns), centre of mass, inertia about it (xx yy zz xy xz yz), mass. Degrees of freedom: axis, anchor, reference,
// rest of the spring, stiffness, damping, armature, least and greatest position, mean inverse inertia where limited. Points: position, axis of their capsule, radius, friction
// (0: of the normal alone), mean inverse inertia of a row. Links: centre, half axis, radius, mean inverse inertia. Metres, kilograms, seconds, radians.
#define MODEL_SIZE 721
const float MODEL[MODEL_SIZE] = float[](
    0.0, 0.0, 0.75, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.008181231, 0.008181231, 0.008181231, 0.0, 0.0, 0.0, 0.32724923, // body torso
    0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.1, 0.1, 0.0, 0.00034320398, 0.00034320398, 0.0005679661, -0.00022476209, 0.0, 0.0, 0.039157752, // body front_left_leg
    0.2, 0.2, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.1, 0.1, 0.0, 0.00034320398, 0.00034320398, 0.0005679661, -0.00022476209, 0.0, 0.0, 0.039157752, // body aux_1
    0.2, 0.2, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.2, 0.2, 0.0, 0.0014421114, 0.0014421114, 0.0026747906, -0.0012326792, 0.0, 0.0, 0.0675922, // body body4
    0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -0.1, 0.1, 0.0, 0.00034320398, 0.00034320398, 0.0005679661, 0.00022476209, 0.0, 0.0, 0.039157752, // body front_right_leg
    -0.2, 0.2, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -0.1, 0.1, 0.0, 0.00034320398, 0.00034320398, 0.0005679661, 0.00022476209, 0.0, 0.0, 0.039157752, // body aux_2
    -0.2, 0.2, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -0.2, 0.2, 0.0, 0.0014421114, 0.0014421114, 0.0026747906, 0.0012326792, 0.0, 0.0, 0.0675922, // body body7
    0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -0.1, -0.1, 0.0, 0.00034320398, 0.00034320398, 0.0005679661, -0.00022476209, 0.0, 0.0, 0.039157752, // body back_leg
    -0.2, -0.2, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -0.1, -0.1, 0.0, 0.00034320398, 0.00034320398, 0.0005679661, -0.00022476209, 0.0, 0.0, 0.039157752, // body aux_3
    -0.2, -0.2, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -0.2, -0.2, 0.0, 0.0014421114, 0.0014421114, 0.0026747906, -0.0012326792, 0.0, 0.0, 0.0675922, // body body10
    0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.1, -0.1, 0.0, 0.00034320398, 0.00034320398, 0.0005679661, 0.00022476209, 0.0, 0.0, 0.039157752, // body right_back_leg
    0.2, -0.2, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.1, -0.1, 0.0, 0.00034320398, 0.00034320398, 0.0005679661, 0.00022476209, 0.0, 0.0, 0.039157752, // body aux_4
    0.2, -0.2, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.2, -0.2, 0.0, 0.0014421114, 0.0014421114, 0.0026747906, 0.0012326792, 0.0, 0.0, 0.0675922, // body body13
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_x
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_y
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_z
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_turn_x
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_turn_y
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // degree of freedom root_turn_z
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -0.5235988, 0.5235988, 0.982636, 0.0, // degree of freedom hip_1
    -0.70710677, 0.70710677, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.5235988, 1.2217305, 0.9951024, 0.0, // degree of freedom ankle_1
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -0.5235988, 0.5235988, 0.982636, 0.0, // degree of freedom hip_2
    0.70710677, 0.70710677, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -1.2217305, -0.5235988, 0.9951024, 0.0, // degree of freedom ankle_2
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -0.5235988, 0.5235988, 0.982636, 0.0, // degree of freedom hip_3
    -0.70710677, 0.70710677, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -1.2217305, -0.5235988, 0.9951024, 0.0, // degree of freedom ankle_3
    0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -0.5235988, 0.5235988, 0.982636, 0.0, // degree of freedom hip_4
    0.70710677, 0.70710677, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.5235988, 1.2217305, 0.9951024, 0.0, // degree of freedom ankle_4
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 1.0, 4.40575, // point of torso_geom
    -0.0, -0.0, 0.0, -0.70710677, -0.70710677, 0.0, 0.08, 1.0, 4.721887, // point of aux_1_geom
    0.2, 0.2, 0.0, -0.70710677, -0.70710677, 0.0, 0.08, 1.0, 4.721887, // point of aux_1_geom
    -0.0, -0.0, 0.0, -0.70710677, -0.70710677, 0.0, 0.08, 1.0, 7.235105, // point of left_leg_geom
    0.2, 0.2, 0.0, -0.70710677, -0.70710677, 0.0, 0.08, 1.0, 7.235105, // point of left_leg_geom
    -0.0, -0.0, 0.0, -0.70710677, -0.70710677, 0.0, 0.08, 1.0, 15.937654, // point of left_ankle_geom
    0.4, 0.4, 0.0, -0.70710677, -0.70710677, 0.0, 0.08, 1.0, 15.937654, // point of left_ankle_geom
    0.0, -0.0, 0.0, 0.70710677, -0.70710677, 0.0, 0.08, 1.0, 4.721887, // point of aux_2_geom
    -0.2, 0.2, 0.0, 0.70710677, -0.70710677, 0.0, 0.08, 1.0, 4.721887, // point of aux_2_geom
    0.0, -0.0, 0.0, 0.70710677, -0.70710677, 0.0, 0.08, 1.0, 7.235105, // point of right_leg_geom
    -0.2, 0.2, 0.0, 0.70710677, -0.70710677, 0.0, 0.08, 1.0, 7.235105, // point of right_leg_geom
    0.0, -0.0, 0.0, 0.70710677, -0.70710677, 0.0, 0.08, 1.0, 15.937654, // point of right_ankle_geom
    -0.4, 0.4, 0.0, 0.70710677, -0.70710677, 0.0, 0.08, 1.0, 15.937654, // point of right_ankle_geom
    0.0, 0.0, 0.0, 0.70710677, 0.70710677, 0.0, 0.08, 1.0, 4.721887, // point of aux_3_geom
    -0.2, -0.2, 0.0, 0.70710677, 0.70710677, 0.0, 0.08, 1.0, 4.721887, // point of aux_3_geom
    0.0, 0.0, 0.0, 0.70710677, 0.70710677, 0.0, 0.08, 1.0, 7.235105, // point of back_leg_geom
    -0.2, -0.2, 0.0, 0.70710677, 0.70710677, 0.0, 0.08, 1.0, 7.235105, // point of back_leg_geom
    0.0, 0.0, 0.0, 0.70710677, 0.70710677, 0.0, 0.08, 1.0, 15.937654, // point of third_ankle_geom
    -0.4, -0.4, 0.0, 0.70710677, 0.70710677, 0.0, 0.08, 1.0, 15.937654, // point of third_ankle_geom
    -0.0, 0.0, 0.0, -0.70710677, 0.70710677, 0.0, 0.08, 1.0, 4.721887, // point of aux_4_geom
    0.2, -0.2, 0.0, -0.70710677, 0.70710677, 0.0, 0.08, 1.0, 4.721887, // point of aux_4_geom
    -0.0, 0.0, 0.0, -0.70710677, 0.70710677, 0.0, 0.08, 1.0, 7.235105, // point of rightback_leg_geom
    0.2, -0.2, 0.0, -0.70710677, 0.70710677, 0.0, 0.08, 1.0, 7.235105, // point of rightback_leg_geom
    -0.0, 0.0, 0.0, -0.70710677, 0.70710677, 0.0, 0.08, 1.0, 15.937654, // point of fourth_ankle_geom
    0.4, -0.4, 0.0, -0.70710677, 0.70710677, 0.0, 0.08, 1.0, 15.937654 // point of fourth_ankle_geom
);

// What belongs to what.
#define WORDS_SIZE 181
const uint WORDS[WORDS_SIZE] = uint[](
    0x0u, 0x60000u, 0x1u, 0x10602u, 0x10703u, 0x1u, 0x10805u, 0x10906u, 0x1u, 0x10a08u, 0x10b09u, 0x1u, 0x10c0bu, 0x10d0cu, // parent, first degree of freedom << 8, degrees of freedom << 16, by body
    0x0u, 0x3fu, 0x3fu, 0x7fu, 0xffu, 0x3fu, 0x13fu, 0x33fu, 0x3fu, 0x43fu, 0xc3fu, 0x3fu, 0x103fu, 0x303fu, // degrees of freedom that move a body, as bits
    0x10002u, 0x1010002u, 0x2010002u, 0x3010002u, 0x4010002u, 0x5010002u, 0x30701u, 0x40801u, 0x60901u, 0x70a01u, 0x90b01u, 0xa0c01u, 0xc0d01u, 0xd0e01u, // kind (0: slide, 1: hinge, 2: free), position << 8, body << 16, number within its joint << 24, by degree of freedom
    0x1u, 0x3u, 0x7u, 0xfu, 0x1fu, 0x3fu, 0x7fu, 0xffu, 0x13fu, 0x33fu, 0x43fu, 0xc3fu, 0x103fu, 0x303fu, // degrees of freedom above one, and itself, as bits
    0x1u, 0x2u, 0x5u, 0x8u, 0xbu, 0x3u, 0x6u, 0x9u, 0xcu, 0x4u, 0x7u, 0xau, 0xdu, // bodies by level, from the root
    0x0u, 0x1u, 0x5u, 0x9u, 0xdu, // where levels begin there
    0xfu, 0xfu, 0x10u, 0x12u, 0x15u, 0x19u, 0x1eu, 0x24u, 0x2bu, 0x31u, 0x38u, 0x3eu, 0x45u, 0x4bu, 0x52u, // where the list of the degrees of freedom above one begins, counted from here, and ends
    0x0u, 0x0u, 0x1u, 0x0u, 0x1u, 0x2u, 0x0u, 0x1u, 0x2u, 0x3u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x6u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x8u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0xau, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0x0u, 0x1u, 0x2u, 0x3u, 0x4u, 0x5u, 0xcu, // these lists
    0x1u, 0x2u, 0x2u, 0x3u, 0x3u, 0x4u, 0x4u, 0x5u, 0x5u, 0x6u, 0x6u, 0x7u, 0x7u, 0x8u, 0x8u, 0x9u, 0x9u, 0xau, 0xau, 0xbu, 0xbu, 0xcu, 0xcu, 0xdu, 0xdu // body, by point
);
