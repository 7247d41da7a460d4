// Sizes of kernels that make many updates in one dispatch (lane_update.glsl).

layout(local_size_x = 8, local_size_x_id = 12) in; // one subgroup
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 2;      // of the networks, the largest number
layout(constant_id = 6) const uint OUT = 1;     // of the networks, the largest number
layout(constant_id = 8) const uint BATCH = 64;
