// Sums of priorities (T. Schaul et al., "Prioritized Experience Replay", 2016, section 3.3 and appendix B.2.1): a tree of
// PRIORITY_FAN children a node. Priorities are whole numbers and sums have 64 bits, as two words of which the low one is
// first, so that sums are exact whatever the order in which they are made. A row that is not held has the priority 0.
//
// Levels are filled up with zeros: level 0 has `rows` priorities, a multiple of PRIORITY_FAN; of the sums above, each
// level has a 32nd of what is below, filled up; the highest has PRIORITY_FAN. Sums lie in the order of levels, level 1
// first.

const uint PRIORITY_FAN = 32u;
const uint PRIORITY_ONE = 65536u; // what represents the priority 1
const float PRIORITY_MOST = 2147483648.0;

// The priority (|error| + epsilon)^alpha of a finite error, at least 1 of its unit. The includer includes engine/math.glsl before.
#ifdef M_INFINITY
uint priority_of(float error, float epsilon, float alpha) {
    return max(uint(min(m_exp(alpha * m_log(abs(error) + epsilon)) * float(PRIORITY_ONE) + 0.5, PRIORITY_MOST)), 1u);
}
#endif

// The sums of the level above n.
uint priority_above(uint n) { return (n / PRIORITY_FAN + PRIORITY_FAN - 1u) / PRIORITY_FAN * PRIORITY_FAN; }
