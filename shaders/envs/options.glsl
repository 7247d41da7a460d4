// The options of environments, in the order of the fields of Spec.Options; an environment's file names its options.

layout(constant_id = 100) const float OPTION_0 = 0.0;
layout(constant_id = 101) const float OPTION_1 = 0.0;
layout(constant_id = 102) const float OPTION_2 = 0.0;
layout(constant_id = 103) const float OPTION_3 = 0.0;
layout(constant_id = 104) const float OPTION_4 = 0.0;
layout(constant_id = 105) const float OPTION_5 = 0.0;
layout(constant_id = 106) const float OPTION_6 = 0.0;
layout(constant_id = 107) const float OPTION_7 = 0.0;
layout(constant_id = 108) const float OPTION_8 = 0.0;
layout(constant_id = 109) const float OPTION_9 = 0.0;
layout(constant_id = 110) const float OPTION_10 = 0.0;
layout(constant_id = 111) const float OPTION_11 = 0.0;
