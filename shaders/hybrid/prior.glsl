// Priors of hyperparameters, numbered as in hybrid.PriorKind. Exploration moves a hyperparameter along its prior's
// coordinate.

#include "engine/math.glsl"

const uint PRIOR_UNIFORM = 0u;     // coordinate: the value
const uint PRIOR_LOG_UNIFORM = 1u; // the value's logarithm
const uint PRIOR_HORIZON = 2u;     // g with value = 1 - exp(-g), so that a discount moves evenly in its horizon

float prior_coordinate(uint prior, float value) {
    if (prior == PRIOR_LOG_UNIFORM) return m_log(value);
    if (prior == PRIOR_HORIZON) return -m_log(max(1.0 - value, 1e-7));
    return value;
}

float prior_value(uint prior, float coordinate) {
    if (prior == PRIOR_LOG_UNIFORM) return m_exp(coordinate);
    if (prior == PRIOR_HORIZON) return 1.0 - m_exp(-coordinate);
    return coordinate;
}
