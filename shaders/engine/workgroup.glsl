// Reductions over a one-dimensional workgroup of WORKGROUP invocations, a multiple of the subgroup size, in a fixed
// order so that the same input gives the same bits. The includer declares WORKGROUP; all invocations must call
// together.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

shared float workgroup_slots[WORKGROUP]; // one per subgroup is used

float workgroup_sum(float x) {
    float sum = subgroupAdd(x);
    if (gl_NumSubgroups == 1u) {
        return sum;
    }
    if (subgroupElect()) workgroup_slots[gl_SubgroupID] = sum;
    barrier();
    sum = 0.0;
    for (uint i = 0u; i < gl_NumSubgroups; i++) sum += workgroup_slots[i];
    barrier(); // before the slots are overwritten
    return sum;
}

uint workgroup_sum(uint x) {
    uint sum = subgroupAdd(x);
    if (gl_NumSubgroups == 1u) {
        return sum;
    }
    if (subgroupElect()) workgroup_slots[gl_SubgroupID] = uintBitsToFloat(sum);
    barrier();
    sum = 0u;
    for (uint i = 0u; i < gl_NumSubgroups; i++) sum += floatBitsToUint(workgroup_slots[i]);
    barrier(); // before the slots are overwritten
    return sum;
}

float workgroup_min(float x) {
    float least = subgroupMin(x);
    if (gl_NumSubgroups == 1u) {
        return least;
    }
    if (subgroupElect()) workgroup_slots[gl_SubgroupID] = least;
    barrier();
    for (uint i = 0u; i < gl_NumSubgroups; i++) least = min(least, workgroup_slots[i]);
    barrier(); // before the slots are overwritten
    return least;
}

uint workgroup_min(uint x) {
    uint least = subgroupMin(x);
    if (gl_NumSubgroups == 1u) {
        return least;
    }
    if (subgroupElect()) workgroup_slots[gl_SubgroupID] = uintBitsToFloat(least);
    barrier();
    for (uint i = 0u; i < gl_NumSubgroups; i++) least = min(least, floatBitsToUint(workgroup_slots[i]));
    barrier(); // before the slots are overwritten
    return least;
}
