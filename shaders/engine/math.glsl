float m_log(float x) { return log(x); }
float m_cos(float x) { return cos(x); }
float m_sin(float x) { return sin(x); }
float m_exp(float x) { return exp(x); }
float m_tanh(float x) { return tanh(x); }
