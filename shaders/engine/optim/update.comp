#version 450

// One step of an optimizer for every member, with its own learning rate: params -= learning_rate * direction(gradient).
// SGD with momentum; RMSprop (Tieleman, Hinton 2012); Adam (Kingma, Ba 2015, algorithm 1); AdamW (Loshchilov, Hutter 2019, algorithm 2).
// The gradient is first scaled so that its norm is at most max_norm.
//
// Groups: x = ceil(row / local size), y = population.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(constant_id = 1) const uint RULE = 0u; // one of the following
const uint SGD = 0u;
const uint RMSPROP = 1u;
const uint ADAM = 2u;
const uint ADAMW = 3u;

layout(std430, set = 0, binding = 0) buffer Params { float params[]; };                     // [P, row]
layout(std430, set = 0, binding = 1) readonly buffer Gradient { float gradient[]; };        // [splits, P, row]
layout(std430, set = 0, binding = 2) buffer First { float first[]; };                       // [P, row]: momentum, or the mean of gradients
layout(std430, set = 0, binding = 3) buffer Second { float second[]; };                     // [P, row]: the mean of squares; unused by SGD
layout(std430, set = 0, binding = 4) readonly buffer LearningRate { float learning_rate[]; }; // [P]
layout(std430, set = 0, binding = 5) readonly buffer Norm { float norm[]; };                // [P]: of the gradient; negative: not finite
layout(std430, set = 0, binding = 6) readonly buffer Updates { uint updates[]; };           // [P]: this one counted

layout(push_constant) uniform Push {
    uint splits;
    uint row;
    float max_norm; // 0: no limit
    float beta_1;   // SGD: momentum
    float beta_2;   // RMSprop: decay of the squares
    float epsilon;
    float weight_decay; // AdamW; the others add weight_decay * params to the gradient
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint member = gl_WorkGroupID.y;
    if (i >= row || norm[member] < 0.0) {
        return;
    }
    uint at = member * row + i;
    float g = 0.0;
    for (uint s = 0u; s < splits; s++) g += gradient[(s * gl_NumWorkGroups.y + member) * row + i];
    if (max_norm > 0.0 && norm[member] > max_norm) g *= max_norm / norm[member];
    float w = params[at];
    float rate = learning_rate[member];
    if (RULE != ADAMW) g += weight_decay * w;

    if (RULE == SGD) {
        float v = beta_1 * first[at] + g;
        first[at] = v;
        w -= rate * v;
    } else if (RULE == RMSPROP) {
        float v = beta_2 * second[at] + (1.0 - beta_2) * g * g;
        second[at] = v;
        w -= rate * g / (sqrt(v) + epsilon);
    } else {
        float m = beta_1 * first[at] + (1.0 - beta_1) * g;
        float v = beta_2 * second[at] + (1.0 - beta_2) * g * g;
        first[at] = m;
        second[at] = v;
        float t = float(updates[member]);
        float m_hat = m / (1.0 - pow(beta_1, t));
        float v_hat = v / (1.0 - pow(beta_2, t));
        float step = m_hat / (sqrt(v_hat) + epsilon);
        if (RULE == ADAMW) step += weight_decay * w;
        w -= rate * step;
    }
    params[at] = w;
}
