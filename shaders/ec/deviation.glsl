// Deviations are limited so that neither they nor their squares leave the range of floats: a search on unbounded or
// constant fitness continues with finite numbers.
const float LEAST_DEVIATION = 1e-15;
const float MOST_DEVIATION = 1e15;

vec4 limit_deviation(vec4 s) { return clamp(s, LEAST_DEVIATION, MOST_DEVIATION); }
float limit_deviation(float s) { return clamp(s, LEAST_DEVIATION, MOST_DEVIATION); }
