// Reductions over a one-dimensional workgroup of WORKGROUP invocations (a power of two), in a fixed tree order so that the same
// input gives the same bits. The includer declares WORKGROUP; all invocations call together.

shared float workgroup_slots[WORKGROUP];

float workgroup_sum(float x) {
    uint i = gl_LocalInvocationID.x;
    workgroup_slots[i] = x;
    barrier();
    for (uint width = WORKGROUP / 2u; width > 0u; width >>= 1) {
        if (i < width) workgroup_slots[i] += workgroup_slots[i + width];
        barrier();
    }
    float sum = workgroup_slots[0];
    barrier(); // before the slots are written again
    return sum;
}
