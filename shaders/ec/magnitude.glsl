// The largest power of two not above |x|; 1 if x is not a normal number. Dividing numbers up to that magnitude by it
// is exact, and the squares of the quotients neither overflow nor underflow.
float magnitude(float x) {
    uint exponent = floatBitsToUint(x) & 0x7F800000u;
    return exponent == 0u ? 1.0 : uintBitsToFloat(exponent);
}
