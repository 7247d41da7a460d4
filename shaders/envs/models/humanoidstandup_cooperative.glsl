// Tables of humanoidstandup, for lanes that compute an environment together, written by tools/mjcf from what MuJoCo 3.12.0's compiler makes of humanoidstandup.xml. Do not edit.

#include "envs/models/humanoidstandup.glsl"
#include "envs/physics/cooperative/soft.glsl"

#define LIST_SIZE 186 // words of lists of degrees of freedom
#define BODIES 14 // with the world, the first
#define LEVELS 6 // of the tree
#define LEVEL_WIDTH 3 // bodies of a level, at most
const vec3 GRAVITY = vec3(0.0, 0.0, -9.81); // m/s²
const float TOLERANCE = 3.602876e-06; // of an improvement of the solver's: MuJoCo's
const Soft LIMIT = Soft(0.0, 2770.083, 105.26316, 0.9, 0.95, 0.001, 0.5, 2.0); // soft law
#define POINTS 29 // that may touch the ground
#define COOP_LINKS 17 // that may touch each other
#define COOP_PAIRS 109 // of them
#define COOP_TOUCHES 12 // pairs at once; those beyond go through each other
const Soft CONTACT = Soft(0.002, 2770.083, 105.26316, 0.9, 0.95, 0.001, 0.5, 2.0); // soft law
const vec3 GROUND_NORMAL = vec3(0.0, 0.0, 1.0); // 
const float GROUND_HEIGHT = 0.0; // along it
const vec3 GROUND_SIDE = vec3(0.0, 1.0, 0.0); // along which, for spheres, friction acts

// How an environment step's last forward pass fills `sensed`.
#define COOP_SENSE coop_sense_inertia(0u); coop_sense_velocity(130u); coop_sense_forces(208u, slots);

// Numbers and words of the tables, which a kernel reads from a buffer.
#define MODEL_SIZE 1045
#define WORDS_SIZE 435
