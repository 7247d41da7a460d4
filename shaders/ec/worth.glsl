// The value of fitness for selection: values that are not finite rank below all finite ones.

#include "engine/finite.glsl"

const float LEAST = -3.402823466e38;

float worth(float fitness) { return m_isfinite(fitness) ? fitness : LEAST; }
