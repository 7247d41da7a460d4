// Multiply-adds at the peak rate of a core: enough chains to hide their latency, in the processor's widest vectors.

// evorl_fma runs rounds of evorl_fma_floats multiply-adds each.
float evorl_fma(long rounds);
int evorl_fma_floats(void);
