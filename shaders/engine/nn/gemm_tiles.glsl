// The product by a workgroup with shared memory: TILE_WIDTH invocations along N, the rest along M, each with ROWS ×
// COLUMNS sums in registers. Slices of A and B, TILE_DEPTH along K, pass through shared memory, A's transposed.

const uint TILE_DEPTH = 16u;
const uint TILE_HEIGHT = FORM != FORM_TILES ? 1u : WORKGROUP / TILE_WIDTH; // invocations along M
const uint TILE_ROWS = FORM != FORM_TILES ? 4u : TILE_HEIGHT * ROWS;
const uint TILE_COLUMNS = FORM != FORM_TILES ? 4u : TILE_WIDTH * COLUMNS;
const uint TILE_A = TILE_ROWS / 4u + 1u; // vec4 from one k to the next; one more, so that transposed writes meet different banks
const uint TILE_B = TILE_COLUMNS / 4u + 1u;

shared vec4 tile_a[TILE_DEPTH * TILE_A], tile_b[TILE_DEPTH * TILE_B];

// Takes the slice of A from k0 on. Invocations next to each other read what is next in memory.
void tile_load_a(uint row0, uint k0) {
    const uint pieces = TILE_ROWS * TILE_DEPTH / 4u;
    [[dont_unroll]] for (uint p = gl_LocalInvocationID.x; p < pieces; p += WORKGROUP) {
        if (!TRANSPOSE_A) {
            uint r = p / (TILE_DEPTH / 4u), u = p % (TILE_DEPTH / 4u) * 4u;
            vec4 v = vec4(0.0);
            if (row0 + r < m && k0 + u < gemm_last) v = gemm_a(gemm_a_begin + (row0 + r) * a_row + k0 + u, gemm_last - 1u - k0 - u);
            [[unroll]] for (uint i = 0u; i < 4u; i++) tile_a[(u + i) * TILE_A + r / 4u][r & 3u] = k0 + u + i < gemm_last ? v[i] : 0.0;
        } else {
            uint u = p / (TILE_ROWS / 4u), r = p % (TILE_ROWS / 4u) * 4u;
            vec4 v = vec4(0.0);
            if (row0 + r < m && k0 + u < gemm_last) v = gemm_a(gemm_a_begin + (k0 + u) * a_row + row0 + r, m - 1u - row0 - r);
            tile_a[u * TILE_A + r / 4u] = v;
        }
    }
}

// The pieces of A that an invocation takes of each slice: the same four rows or columns in all of them. With PATCHES their patches, and their
// parts of patches where A is transposed, are found once.
const uint TILE_PIECES = (TILE_ROWS * TILE_DEPTH / 4u + WORKGROUP - 1u) / WORKGROUP;

PatchPlace tile_places[TILE_PIECES];
PatchPart tile_parts[4];

// The piece's first k, and its first row of the tile.
uvec2 tile_piece(uint i) {
    uint p = gl_LocalInvocationID.x + i * WORKGROUP;
    if (TRANSPOSE_A) return uvec2(p / (TILE_ROWS / 4u), p % (TILE_ROWS / 4u) * 4u);
    return uvec2(p % (TILE_DEPTH / 4u) * 4u, p / (TILE_DEPTH / 4u));
}

void tile_begin_patches(uint row0) {
    if (TRANSPOSE_A) {
        [[unroll]] for (uint j = 0u; j < 4u; j++) tile_parts[j] = patch_part(row0 + tile_piece(0u).y, j);
    } else {
        [[unroll]] for (uint i = 0u; i < TILE_PIECES; i++) tile_places[i] = patch_place(min(row0 + tile_piece(i).y, m - 1u));
    }
}

// As tile_load_a with A's rows in images.
void tile_load_patches(uint k0) {
    if (!TRANSPOSE_A) {
        [[unroll]] for (uint j = 0u; j < 4u; j++) tile_parts[j] = patch_part(k0 + tile_piece(0u).x, j);
    }
    [[unroll]] for (uint i = 0u; i < TILE_PIECES; i++) {
        uvec2 at = tile_piece(i);
        if (gl_LocalInvocationID.x + i * WORKGROUP < TILE_ROWS * TILE_DEPTH / 4u) {
            PatchPlace place = tile_places[i];
            if (TRANSPOSE_A) place = patch_place(min(k0 + at.x, gemm_last - 1u));
            vec4 v = patch_four(place, tile_parts[0], tile_parts[1], tile_parts[2], tile_parts[3]);
            if (!TRANSPOSE_A) {
                [[unroll]] for (uint j = 0u; j < 4u; j++) tile_a[(at.x + j) * TILE_A + at.y / 4u][at.y & 3u] = k0 + at.x + j < gemm_last ? v[j] : 0.0;
            } else {
                tile_a[at.x * TILE_A + at.y / 4u] = k0 + at.x < gemm_last ? v : vec4(0.0);
            }
        }
    }
}

void tile_load_b(uint column0, uint k0) {
    const uint pieces = TILE_COLUMNS * TILE_DEPTH / 4u;
    [[dont_unroll]] for (uint p = gl_LocalInvocationID.x; p < pieces; p += WORKGROUP) {
        if (TRANSPOSE_B) {
            uint q = p / (TILE_DEPTH / 4u), u = p % (TILE_DEPTH / 4u) * 4u;
            vec4 v = vec4(0.0);
            if (column0 + q < n && k0 + u < gemm_last) v = gemm_b(gemm_b_begin + (column0 + q) * b_row + k0 + u, gemm_last - 1u - k0 - u);
            [[unroll]] for (uint i = 0u; i < 4u; i++) tile_b[(u + i) * TILE_B + q / 4u][q & 3u] = k0 + u + i < gemm_last ? v[i] : 0.0;
        } else {
            uint u = p / (TILE_COLUMNS / 4u), q = p % (TILE_COLUMNS / 4u) * 4u;
            vec4 v = vec4(0.0);
            if (column0 + q < n && k0 + u < gemm_last) v = gemm_b(gemm_b_begin + (k0 + u) * b_row + column0 + q, n - 1u - column0 - q);
            tile_b[u * TILE_B + q / 4u] = v;
        }
    }
}

void gemm_tiles() {
    uint row0 = gl_WorkGroupID.y * TILE_ROWS, column0 = gl_WorkGroupID.x * TILE_COLUMNS;
    uint x = gl_LocalInvocationID.x % TILE_WIDTH, y = gl_LocalInvocationID.x / TILE_WIDTH;
    vec4 sum[ROWS * ((COLUMNS + 3u) / 4u)];
    [[unroll]] for (uint i = 0u; i < ROWS * ((COLUMNS + 3u) / 4u); i++) sum[i] = vec4(0.0);
    if (PATCHES) tile_begin_patches(row0);
    [[dont_unroll]] for (uint k0 = gemm_first; k0 < gemm_last; k0 += TILE_DEPTH) {
        if (PATCHES) {
            tile_load_patches(k0);
        } else {
            tile_load_a(row0, k0);
        }
        tile_load_b(column0, k0);
        barrier();
        [[unroll]] for (uint u = 0u; u < TILE_DEPTH; u++) {
            vec4 left[(ROWS + 3u) / 4u], right[(COLUMNS + 3u) / 4u];
            [[unroll]] for (uint i = 0u; i < ROWS / 4u; i++) left[i] = tile_a[u * TILE_A + i * TILE_HEIGHT + y];
            [[unroll]] for (uint j = 0u; j < COLUMNS / 4u; j++) right[j] = tile_b[u * TILE_B + j * TILE_WIDTH + x];
            [[unroll]] for (uint i = 0u; i < ROWS; i++) {
                [[unroll]] for (uint j = 0u; j < COLUMNS / 4u; j++) sum[i * (COLUMNS / 4u) + j] += left[i / 4u][i & 3u] * right[j];
            }
        }
        barrier();
    }
    [[unroll]] for (uint i = 0u; i < ROWS; i++) {
        uint row = row0 + (i / 4u * TILE_HEIGHT + y) * 4u + (i & 3u);
        if (row < m) {
            uint begin = gemm_c(row);
            [[unroll]] for (uint j = 0u; j < COLUMNS / 4u; j++) gemm_store4(begin, column0 + (j * TILE_WIDTH + x) * 4u, sum[i * (COLUMNS / 4u) + j]);
        }
    }
}
