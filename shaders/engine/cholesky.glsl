// Cholesky's factorization of a matrix of up to AGENTS rows in shared memory, by a workgroup of WORKGROUP invocations. The
// includer declares both.

shared float factor[AGENTS * AGENTS]; // row by row: the matrix, then L in its lower triangle

// K = L L^T, column by column: of every column, the rows below the diagonal are independent.
void cholesky(uint n) {
    uint me = gl_LocalInvocationID.x;
    for (uint j = 0u; j < n; j++) {
        if (me == 0u) {
            float d = factor[j * n + j];
            for (uint k = 0u; k < j; k++) d -= factor[j * n + k] * factor[j * n + k];
            factor[j * n + j] = sqrt(d);
        }
        barrier();
        for (uint i = j + 1u + me; i < n; i += WORKGROUP) {
            float x = factor[i * n + j];
            for (uint k = 0u; k < j; k++) x -= factor[i * n + k] * factor[j * n + k];
            factor[i * n + j] = x / factor[j * n + j];
        }
        barrier();
    }
}
