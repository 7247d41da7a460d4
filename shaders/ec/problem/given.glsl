// What ec/problem/given.comp evaluates where no program has given anything.

void evaluate(inout float f[OBJECTIVES]) {
    for (uint i = 0u; i < DIM; i++) f[0] -= x(i) * x(i);
}
