// The default function of ec/problem/given.comp.

void evaluate(inout float f[OBJECTIVES]) {
    for (uint i = 0u; i < DIM; i++) f[0] -= x(i) * x(i);
}
