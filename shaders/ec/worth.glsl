// The value of fitness for selection: values that are not finite rank below all finite ones.

const float LEAST = -3.402823466e38;

float worth(float fitness) { return isnan(fitness) || isinf(fitness) ? LEAST : fitness; }
