// The order of members by fitness: the largest first, ties in the order of the members, NaN last.

#include "engine/finite.glsl"

// Whether fitness a of member i ranks before fitness b of member j.
bool rank_before(float a, uint i, float b, uint j) {
    if (m_isnan(a) || m_isnan(b)) return m_isnan(b) && (!m_isnan(a) || i < j);
    return a > b || a == b && i < j;
}
