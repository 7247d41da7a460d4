// Bounds of eigenvalues: relative to the largest one, since step-size control and paths lose precision at larger
// condition numbers, and absolute, so that neither roots nor squares leave the range of floats.

const float MOST_CONDITION = 1e12;

// The square root of an eigenvalue, bounded relative to the largest one.
float eigen_root(float value, float largest) {
    return clamp(sqrt(max(value, largest / MOST_CONDITION)), 1e-15, 1e15);
}

// Whether a generation ends with a decomposition.
bool eigen_due(uint generation, uint gap) { return (generation + 1u) % gap == 0u; }
