// Logits of `actions` actions, whose array is `logits` with the view logits_texels. The includer includes engine/load.glsl
// and engine/math.glsl before, and declares `actions`.

// log(sum(exp)) of the logits that begin at base.
float log_sum(uint base) {
    float top = LOAD(logits, logits_texels, base), sum = 0.0;
    [[dont_unroll]] for (uint a = 1u; a < actions; a++) top = max(top, LOAD(logits, logits_texels, base + a));
    [[dont_unroll]] for (uint a = 0u; a < actions; a++) sum += m_exp(LOAD(logits, logits_texels, base + a) - top);
    return top + m_log(sum);
}
