// Keeps angles small: a float's precision is relative, and Gymnasium's float64 states may count many turns.

// wrap_angle adds the number of full turns that brings x into [-pi, pi]. A turn is subtracted in two parts, 201/32
// and the rest, whose products with up to 2^16 turns are exact or negligible.
float wrap_angle(float x) {
    float turns = floor(x * 0.15915494309189535 + 0.5);
    precise float high = x - turns * 6.28125;
    precise float wrapped = high - turns * 0.0019353071795864769;
    return wrapped;
}
