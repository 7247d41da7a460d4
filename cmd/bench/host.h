// Multiply-adds as fast as a core can: chains enough to hide their latency, in the widest vectors that the processor has.

// evorl_fma runs rounds of evorl_fma_floats multiply-adds each.
float evorl_fma(long rounds);
int evorl_fma_floats(void);
