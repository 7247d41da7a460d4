// Stores of 64 bits a lane, of eight lanes, on Mesa's software driver before version 23. It stores in a loop over the lanes: LLVM puts their values, a
// vector of 512 bits, into memory and loads one of them, for each lane anew. On Intel's processors what is loaded from the upper half of such a vector
// is not forwarded from the store: the load waits some 15 cycles, until the store has reached the cache. There, with HALVED, the lower lanes store what
// they have, and then what the upper lanes have (internal/processor).

layout(constant_id = 32) const bool HALVED = false;

#define HALVED_LOWER (gl_SubgroupInvocationID < 4u)
#define HALVED_UPPER(x) subgroupShuffle(x, gl_SubgroupInvocationID | 4u)
