// What the forms of a recurrent cell's steps in one dispatch share: the rows of a workgroup, and the words of episodes. The rows of a network are
// independent, so that a workgroup takes some of them through all steps and keeps their memory.
//
// The includer has cell.glsl, and among its push constants uint rows, steps, ends_step, ends_network, ends_shared.

layout(constant_id = 5) const bool HAS_ENDS = false;

layout(std430, set = 0, binding = 0) readonly buffer Ends { uint ends[]; }; // not 0: the episode ends with the step; optional

// Whether the episode of a row of network n ends with step t.
bool scan_ends(uint n, uint t, uint r) {
    return HAS_ENDS && ends[t * ends_step + n / ends_shared * ends_network + r] != 0u;
}
