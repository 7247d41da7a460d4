// The order of members by fitness: the largest first, ties in the order of the members, NaN last.

// Whether fitness a of member i ranks before fitness b of member j.
bool rank_before(float a, uint i, float b, uint j) {
    if (isnan(a) || isnan(b)) return isnan(b) && (!isnan(a) || i < j);
    return a > b || a == b && i < j;
}
