float m_log(float x) { return log(x); }
float m_cos(float x) { return cos(x); }
