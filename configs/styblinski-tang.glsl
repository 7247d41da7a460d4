// problem: styblinski-tang
//! dimension = 2
//! low = [-5]
//! high = [5]
//! iterations = 1000

// A function of one's own, see docs/own.md. What is minimised by others is maximised here, so this is its negative: 78.33 at (-2.9, -2.9).

void evaluate(inout float f[OBJECTIVES]) {
    for (uint i = 0u; i < DIM; i++) {
        float x2 = x(i) * x(i);
        f[0] -= 0.5 * (x2 * x2 - 16.0 * x2 + 5.0 * x(i));
    }
}
