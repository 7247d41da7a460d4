// Inputs concatenated from two parts, such as observation and action, for networks of which consecutive ones may
// share a part. The includer declares the buffers `float inputs[]` and `float inputs_2[]` and their texels.

layout(constant_id = 9) const uint IN_1 = 1; // features of the first part; IN: no second part

const uint IN_2 = IN - IN_1;

uint part_1, part_2; // where the current row of each part begins

// part_row returns the row of a part that holds row r of a network, counted over blocks of `inner` rows; `shared_by`
// consecutive networks share the part.
uint part_row(uint network, uint networks, uint shared_by, uint r, uint inner) {
    return (r / inner * (networks / shared_by) + network / shared_by) * inner + r % inner;
}

// Feature k of the current row.
float part_feature(uint k) {
    if (IN_2 == 0u) return LOAD(inputs, inputs_texels, part_1 + k);
    float first = LOAD(inputs, inputs_texels, part_1 + min(k, IN_1 - 1u));
    float second = LOAD(inputs_2, inputs_2_texels, part_2 + (k < IN_1 ? 0u : k - IN_1));
    return k < IN_1 ? first : second;
}

#define INPUT(at, k) part_feature(k)
#define INPUT_NORMALIZED IN_1
