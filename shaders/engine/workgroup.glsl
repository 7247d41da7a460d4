// Reductions over a one-dimensional workgroup of WORKGROUP invocations, whole subgroups of it, in a fixed order so that the same
// input gives the same bits. The includer declares WORKGROUP; all invocations call together.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

shared float workgroup_slots[WORKGROUP]; // one a subgroup is used

float workgroup_sum(float x) {
    float sum = subgroupAdd(x);
    if (gl_NumSubgroups == 1u) {
        return sum;
    }
    if (subgroupElect()) workgroup_slots[gl_SubgroupID] = sum;
    barrier();
    sum = 0.0;
    for (uint i = 0u; i < gl_NumSubgroups; i++) sum += workgroup_slots[i];
    barrier(); // before the slots are written again
    return sum;
}
