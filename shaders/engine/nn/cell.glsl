// Recurrent cells (engine/nn.Recurrent). A row has GATES products for each of its units: those of an LSTM in the order i, f, g, o, of a GRU r, z, n.
// The memory of a row is h, then c in LSTMs. Kept of a step are for each unit the gates and, in GRUs, h U + recurrent bias of n: FLOATS in all.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"

layout(constant_id = 1) const bool GRU = false; // or an LSTM

const uint GATES = GRU ? 3u : 4u;
const uint FLOATS = 4u; // at least GATES
const uint PARTS = GRU ? 1u : 2u; // of the memory

// A unit's step, from the products x of the inputs and y of the memory, that of a GRU's n with the recurrent bias, and the memory that counts to the
// memory after it. gate: what is kept.
void cell_step(float x[FLOATS], float y[FLOATS], inout float h, inout float c, out float gate[FLOATS]) {
    gate[0] = sigmoid(x[0] + y[0]);
    gate[1] = sigmoid(x[1] + y[1]);
    if (!GRU) {
        gate[2] = m_tanh(x[2] + y[2]);
        gate[3] = sigmoid(x[3] + y[3]);
        c = gate[1] * c + gate[0] * gate[2];
        h = gate[3] * m_tanh(c);
    } else {
        gate[3] = y[2];
        gate[2] = m_tanh(x[2] + gate[0] * gate[3]);
        h = (1.0 - gate[1]) * gate[2] + gate[1] * h;
    }
}

// The same of four units.
void cell_step(vec4 x[FLOATS], vec4 y[FLOATS], inout vec4 h, inout vec4 c, out vec4 gate[FLOATS]) {
    for (uint j = 0u; j < 4u; j++) {
        float xs[FLOATS], ys[FLOATS], gates[FLOATS], own_h = h[j], own_c = c[j];
        for (uint g = 0u; g < FLOATS; g++) {
            xs[g] = x[g][j];
            ys[g] = y[g][j];
        }
        cell_step(xs, ys, own_h, own_c, gates);
        h[j] = own_h;
        c[j] = own_c;
        for (uint g = 0u; g < FLOATS; g++) gate[g][j] = gates[g];
    }
}

// A unit's step back, from what was kept, the c before the step, in GRUs the h, and the gradient dh at the h after it. straight: the gradient at the c
// after it, in GRUs one more at the h, from the next step without products; then the same of this step. at: the gradients at the products of the
// inputs; at[3] of GRUs is that at the product of the memory of n.
void cell_step_back(float gate[FLOATS], float before, float dh, inout float straight, out float at[FLOATS]) {
    if (!GRU) {
        float y = m_tanh(gate[1] * before + gate[0] * gate[2]);
        float dc = straight + dh * gate[3] * (1.0 - y * y);
        at[0] = dc * gate[2] * gate[0] * (1.0 - gate[0]);
        at[1] = dc * before * gate[1] * (1.0 - gate[1]);
        at[2] = dc * gate[0] * (1.0 - gate[2] * gate[2]);
        at[3] = dh * y * gate[3] * (1.0 - gate[3]);
        straight = dc * gate[1];
    } else {
        dh += straight;
        at[2] = dh * (1.0 - gate[1]) * (1.0 - gate[2] * gate[2]);
        at[1] = dh * (before - gate[2]) * gate[1] * (1.0 - gate[1]);
        at[0] = at[2] * gate[3] * gate[0] * (1.0 - gate[0]);
        at[3] = at[2] * gate[0];
        straight = dh * gate[1];
    }
}
