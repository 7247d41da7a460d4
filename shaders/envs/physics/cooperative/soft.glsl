// The solver parameters of a constraint (MuJoCo documentation, Computation, "Reference", "Impedance").
struct Soft {
    float margin;           // a constraint acts below this distance
    float stiffness;        // of the reference acceleration -damping velocity - stiffness impedance (distance - margin)
    float damping;
    float low, high;        // minimum and maximum impedance
    float width;            // distance beyond the margin over which the impedance rises
    float middle, power;    // of the shape of the impedance
};

float soft_impedance(const Soft soft, float beyond) {
    float x = min(abs(beyond) / soft.width, 1.0), y = x;
    if (soft.power > 1.0) { // an integer
        float rise = x, fall = 1.0 - x, low = 1.0, high = 1.0;
        [[unroll]] for (uint i = 1u; i < uint(soft.power); i++) {
            rise *= x;
            fall *= 1.0 - x;
            low *= soft.middle;
            high *= 1.0 - soft.middle;
        }
        y = x < soft.middle ? rise / low : 1.0 - fall / high;
    }
    return soft.low + y * (soft.high - soft.low);
}
