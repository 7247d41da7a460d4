// The largest power of two not above |x|; 1 where that is no normal number. Numbers of at most that size divided by
// it are exact, and their squares neither overflow nor vanish.
float magnitude(float x) {
    uint exponent = floatBitsToUint(x) & 0x7F800000u;
    return exponent == 0u ? 1.0 : uintBitsToFloat(exponent);
}
