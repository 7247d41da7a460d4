// Distributions of returns as logits of `atoms` atoms, evenly from `low` to `high` (M. G. Bellemare et al., "A Distributional
// Perspective on Reinforcement Learning", 2017). The includer includes engine/load.glsl and engine/math.glsl before, and
// declares atoms, low and high.

float atom_spacing() { return (high - low) / float(atoms - 1u); }

// The log-normalizer of logits, and the mean return.
struct Atoms {
    float log_sum;
    float mean;
};

// Declares NAME(base), which reads the logits that begin at element base of x.
#define ATOMS_OF(name, x, x_texels)                                                                   \
    Atoms name(uint base) {                                                                           \
        float top = LOAD(x, x_texels, base), sum = 0.0, weighted = 0.0;                               \
        [[dont_unroll]] for (uint k = 1u; k < atoms; k++) top = max(top, LOAD(x, x_texels, base + k)); \
        [[dont_unroll]] for (uint k = 0u; k < atoms; k++) {                                           \
            float p = m_exp(LOAD(x, x_texels, base + k) - top);                                       \
            sum += p;                                                                                 \
            weighted += p * float(k);                                                                 \
        }                                                                                             \
        return Atoms(top + m_log(sum), low + atom_spacing() * (weighted / sum));                      \
    }
