// The gradient at the values of a layer, completed to that at its affine outputs: plus another gradient, if there is one, times the
// slope of the layer's activation. All are laid out alike. The includer declares the texel loads and the activations.

layout(constant_id = 20) const uint SLOPE = 0; // activation of the layer
layout(constant_id = 21) const bool HAS_ADDEND = false;
layout(constant_id = 22) const bool HAS_OUTPUTS = false;
layout(constant_id = 23) const bool HAS_INPUTS = false;

layout(std430, set = 0, binding = 10) readonly buffer Addend { float addend[]; };   // the other gradient
layout(set = 0, binding = 11, rgba32f) readonly uniform imageBuffer addend_texels;
layout(std430, set = 0, binding = 12) readonly buffer Outputs { float outputs[]; }; // of the activation
layout(set = 0, binding = 13, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 14) readonly buffer Inputs { float inputs[]; };   // of activations whose slopes need them
layout(set = 0, binding = 15, rgba32f) readonly uniform imageBuffer inputs_texels;

float with_slope(float gradient, uint at) {
    if (HAS_ADDEND) gradient += LOAD(addend, addend_texels, at);
    if (HAS_OUTPUTS) {
        float z = HAS_INPUTS ? LOAD(inputs, inputs_texels, at) : LOAD(outputs, outputs_texels, at);
        gradient *= activate_slope(SLOPE, z, LOAD(outputs, outputs_texels, at));
    }
    return gradient;
}
