// Sums over the invocations of a one-dimensional workgroup of WORKGROUP before each of them. The includer declares
// WORKGROUP; all invocations must call together, once.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

shared uint workgroup_sums[WORKGROUP]; // one per subgroup is used

uint workgroup_before(uint x) {
    uint before = subgroupExclusiveAdd(x), sum = subgroupAdd(x);
    if (subgroupElect()) workgroup_sums[gl_SubgroupID] = sum;
    barrier();
    for (uint s = 0u; s < gl_SubgroupID; s++) before += workgroup_sums[s];
    return before;
}
