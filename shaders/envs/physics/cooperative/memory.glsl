// The memory of the lanes of a subgroup that compute one environment together: shared memory of the workgroup, which
// is that subgroup. coop_sync makes writes visible to the other lanes. All lanes must call every function here
// together. The includer has defined LANES, the subgroup's size, and included a model's tables.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_control_flow_attributes : require

// Loops over i below n, one per lane. n is constant, so that drivers can unroll the remaining loop.
#define COOP_EACH(i, n) [[dont_unroll]] for (uint turn = 0u; turn < ((n) + LANES - 1u) / LANES; turn++) if ((i = turn * LANES + gl_SubgroupInvocationID) < (n))
// The same for variable n. Narrow subgroups unroll several iterations, so that there are not too many.
const uint WIDE = LANES < 32u ? 32u / LANES : 1u;
#define COOP_SOME(i, n)                                                             \
    [[dont_unroll]] for (uint begin = 0u; begin < (n); begin += WIDE * LANES)       \
        [[dont_unroll]] for (uint turn = 0u; turn < WIDE; turn++)                   \
            if ((i = begin + turn * LANES + gl_SubgroupInvocationID) < (n))

const uint TRIANGLE = NV * (NV + 1) / 2;
const uint SLOTS = POINTS + COOP_TOUCHES; // contacts at once

// Row lengths of the model's parameters, by body (except the world), degree of freedom, point, link.
const uint BODY_ROW = 22u, DOF_ROW = 15u, POINT_ROW = 9u, LINK_ROW = 9u;
const uint M_BODY = 0u, M_DOF = M_BODY + BODY_ROW * (BODIES - 1), M_POINT = M_DOF + DOF_ROW * NV, M_LINK = M_POINT + POINT_ROW * POINTS;

// Parts of that memory: first elements, and lengths of rows.
const uint T_Q = MODEL_SIZE;                   // positions and velocities of a forward pass
const uint T_V = T_Q + NQ;
const uint T_A = T_V + NV;                     // accelerations
const uint T_FORCE = T_A + NV;                 // of the actuators, by degree of freedom
const uint T_BEGIN_Q = T_FORCE + NV;           // beginning of a time step, and the weighted rates of its stages
const uint T_BEGIN_V = T_BEGIN_Q + NQ;
const uint T_SUM_V = T_BEGIN_V + NV;
const uint T_SUM_A = T_SUM_V + NV;
const uint T_ORIGIN = T_SUM_A + NV;            // of the first body in the world; all other positions are relative to it
const uint T_BODY = T_ORIGIN + 3u, PLACE = 25u; // by body: axes (columns) 9, position 3, spin 3, velocity 3, rates of both for zero joint accelerations 3 + 3
const uint T_INERTIA = T_BODY + PLACE * BODIES, INERTIA = 17u; // inertia about the origin xx yy zz xy xz yz, mass times position 3, mass, torque 3, force 3
const uint T_TWIST = T_INERTIA + INERTIA * BODIES, TWIST = 7u; // angular velocity, and velocity at the origin, for given velocities of all degrees of freedom
const uint T_UNIT = T_TWIST + TWIST * BODIES;  // by degree of freedom: the twist of unit velocity
const uint T_FORM = T_UNIT + TWIST * NV;       // torque and force of a unit acceleration; for contacts, their stiffness times the unit motion
const uint T_SMOOTH = T_FORM + TWIST * NV;     // all forces but the constraints'
const uint T_MASS = T_SMOOTH + NV;             // the inertia matrix, its lower triangle by rows
const uint T_HESSIAN = T_MASS + TRIANGLE;      // of the constraint problem, then its factorization
const uint T_INVERSE = T_HESSIAN + TRIANGLE;   // of the factor's diagonal
const uint T_RESIDUAL = T_INVERSE + NV;        // M a minus the smooth forces
const uint T_GRADIENT = T_RESIDUAL + NV;
const uint T_STEP = T_GRADIENT + NV;
const uint T_MOVED = T_STEP + NV;              // M step
const uint T_LIMIT = T_MOVED + NV;             // by degree of freedom: stiffness, residual, sign
const uint T_ROW = T_LIMIT + 3u * NV;          // a row of J, of one contact
const uint T_SLOT = T_ROW + NV, SLOT = 27u;    // of a contact, see contacts.glsl
const uint T_LINK = T_SLOT + SLOT * SLOTS;     // centre and half axis
const uint T_END = T_LINK + 6u * COOP_LINKS;
const uint T_SENSED = T_MASS;                  // after the last forward pass: `sensed`, overlaying data that the solver no longer needs
const uint COOP_SIZE = max(T_END, T_SENSED + SENSES);

// Parts of the words, followed by the contacts' bodies.
const uint W_BODY = 0u, W_CHAIN = W_BODY + BODIES, W_DOF = W_CHAIN + BODIES, W_ABOVE = W_DOF + NV, W_LEVEL = W_ABOVE + NV, W_START = W_LEVEL + BODIES - 1u;
const uint W_LIST = W_START + LEVELS + 1u, W_POINT = W_LIST + LIST_SIZE, W_LINK = W_POINT + POINTS, W_PAIR = W_LINK + COOP_LINKS, W_SLOT = W_PAIR + COOP_PAIRS;

shared float coop[COOP_SIZE];
shared uint coop_words[W_SLOT + SLOTS];

void coop_sync() {
    // Subgroups as narrow as on software drivers are SIMD vectors, whose lanes are always in step. Mesa would make
    // each barrier a suspension point of the kernel, and need minutes to compile them.
    if (LANES < 16u) subgroupMemoryBarrierShared();
    else subgroupBarrier();
}

// Copies the model from the kernel's buffer to shared memory, since all environments need it.
void coop_load() {
    [[dont_unroll]] for (uint i = gl_SubgroupInvocationID; i < MODEL_SIZE; i += LANES) coop[i] = uintBitsToFloat(tables[i]);
    [[dont_unroll]] for (uint i = gl_SubgroupInvocationID; i < WORDS_SIZE; i += LANES) coop_words[i] = tables[MODEL_SIZE + i];
    coop_sync();
}

vec3 coop_vec3(uint at) { return vec3(coop[at], coop[at + 1u], coop[at + 2u]); }
void coop_set(uint at, vec3 v) {
    coop[at] = v.x;
    coop[at + 1u] = v.y;
    coop[at + 2u] = v.z;
}
mat3 coop_mat3(uint at) { return mat3(coop_vec3(at), coop_vec3(at + 3u), coop_vec3(at + 6u)); }

// A symmetric matrix as xx yy zz xy xz yz.
mat3 coop_symmetric(uint at) {
    float xy = coop[at + 3u], xz = coop[at + 4u], yz = coop[at + 5u];
    return mat3(coop[at], xy, xz, xy, coop[at + 1u], yz, xz, yz, coop[at + 2u]);
}

// Index of entry i, j of a symmetric matrix in its lower triangle.
uint coop_entry(uint i, uint j) { return i >= j ? i * (i + 1u) / 2u + j : j * (j + 1u) / 2u + i; }

// Row and column, with column <= row, of element k of a lower triangle.
uvec2 coop_pair(uint k) {
    uint i = uint((sqrt(8.0 * float(k) + 1.0) - 1.0) * 0.5);
    i += (i + 1u) * (i + 2u) / 2u <= k ? 1u : 0u;
    i -= i * (i + 1u) / 2u > k ? 1u : 0u;
    return uvec2(i, k - i * (i + 1u) / 2u);
}
