// What fitness as evaluated counts as: whatever is not finite is below everything that is.

const float LEAST = -3.402823466e38;

float worth(float fitness) { return isnan(fitness) || isinf(fitness) ? LEAST : fitness; }
