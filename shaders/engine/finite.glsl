// Whether a number is NaN or finite, by its bits: Vulkan lets a compiler assume that no number is NaN or infinite ("SPIR-V 1.3", SignedZeroInfNanPreserve),
// and isnan, isinf and comparisons that rely on NaN may then be left out. Kernels take them from here.

bool m_isnan(float x) { return (floatBitsToUint(x) & 0x7FFFFFFFu) > 0x7F800000u; }
bool m_isfinite(float x) { return (floatBitsToUint(x) & 0x7F800000u) != 0x7F800000u; }
