// Inputs made of two parts, such as observation and action, of networks of which consecutive ones may share a part.
// The includer declares the buffers `float inputs[]` and `float inputs_2[]` and their texels.

layout(constant_id = 9) const uint IN_1 = 1; // features of the first part; IN: there is no second

const uint IN_2 = IN - IN_1;

uint part_1, part_2; // where the present row of each part begins

// part_row gives row r of a network, counted over blocks of `inner` rows, in a part that `shared` consecutive
// networks have in common.
uint part_row(uint network, uint networks, uint shared_by, uint r, uint inner) {
    return (r / inner * (networks / shared_by) + network / shared_by) * inner + r % inner;
}

// Feature k of the present row.
float part_feature(uint k) {
    if (IN_2 == 0u) return LOAD(inputs, inputs_texels, part_1 + k);
    float first = LOAD(inputs, inputs_texels, part_1 + min(k, IN_1 - 1u));
    float second = LOAD(inputs_2, inputs_2_texels, part_2 + (k < IN_1 ? 0u : k - IN_1));
    return k < IN_1 ? first : second;
}

#define INPUT(at, k) part_feature(k)
#define INPUT_NORMALIZED IN_1
