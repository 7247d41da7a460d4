// What the products by panels have in common (gemm_panel.comp, gemm_panel_low_rank.comp): loading a panel of B, multiplying a row of A by it, and storing
// the row of C.

// Floats o to o + 3, o < 4, of v and w.
vec4 panel_shift(vec4 v, vec4 w, uint o) {
    if ((o & 2u) != 0u) {
        v = vec4(v.zw, w.xy);
        w.x = w.z;
    }
    return (o & 1u) != 0u ? vec4(v.yzw, w.x) : v;
}

// Declares vec4 name(uint e, uint last): the floats e to e + 3 of a buffer `vec4 x[]` and its texels. Where `aligned`
// is false, e may be any number. What lies beyond float `last` may be anything.
#define PANEL_LOADER(name, aligned, x, texels)                                                        \
    vec4 name(uint e, uint last) {                                                                    \
        vec4 v = LOAD4(x, texels, e >> 2);                                                            \
        if (aligned) return v;                                                                        \
        return panel_shift(v, LOAD4(x, texels, min(e + 3u, last) >> 2), e & 3u);                      \
    }

// Float e of a buffer `float floats[]` and its texels, r32f.
#define PANEL_FLOAT(floats, texels, e) (TEXEL_LOADS == 2u ? imageLoad(texels, int(e)).x : floats[e])

PANEL_LOADER(panel_a, ALIGNED_A, a, a_texels)

// The vec4 that a lane loads of a row of A, or of four rows that are stored as K × M.
const uint FOURS = (DEPTH - 1u) / (!TRANSPOSE_A ? 4u * ACROSS : ACROSS) + 1u;

float panel[DEPTH * COLUMNS]; // [k, column of the lane]
float panel_sum[COLUMNS];
vec4 panel_x[FOURS];
uint member, a_begin, b_begin; // where the member's matrices begin
uint k_first, k_left; // the panel's part of K
uint column0, stores; // the lane's first column; 1 if C has that column and the present row, else 0

// Functions copy push constants before they loop: the driver reads them lane by lane wherever a loop names them.

// Loads the panel. What it holds beyond K or N is finite or in columns that are not stored: A's elements beyond K are
// zero.
void panel_load_b() {
    uint b0 = b_begin, row = b_row, left = k_left;
    if (TRANSPOSE_B) {
        [[unroll]] for (uint q = 0u; q < COLUMNS; q++) {
            uint e = b0 + min(column0 + q, n - 1u) * row + k_first, last = e + left - 1u;
            vec4 v = LOAD4(b, b_texels, e >> 2);
            [[unroll]] for (uint u = 0u; u < DEPTH; u += 4u) {
                vec4 next = LOAD4(b, b_texels, min((e >> 2) + u / 4u + 1u, last >> 2)), y = v;
                if (!ALIGNED_B) y = panel_shift(v, next, e & 3u);
                [[unroll]] for (uint i = 0u; i < 4u; i++) panel[(u + i) * COLUMNS + q] = u + i < left ? y[i] : 0.0;
                v = next;
            }
        }
    } else {
        [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
            uint line = b0 + (k_first + min(u, left - 1u)) * row, last = line + n - 1u, e = min(line + column0, last);
            vec4 v = LOAD4(b, b_texels, e >> 2);
            [[unroll]] for (uint h = 0u; h < COLUMNS; h += 4u) {
                vec4 next = LOAD4(b, b_texels, min((e >> 2) + h / 4u + 1u, last >> 2)), y = v;
                if (!ALIGNED_B) y = panel_shift(v, next, e & 3u);
                [[unroll]] for (uint i = 0u; i < 4u; i++) panel[u * COLUMNS + h + i] = y[i];
                v = next;
            }
        }
    }
}

// Element u of the row of A in panel_x. A row that is stored as a column lies in the first components.
float panel_element(uint u) {
    uint lane = TOGETHER == 1u ? 0u : gl_SubgroupInvocationID / ACROSS * ACROSS; // the row's first
    if (TRANSPOSE_A) return subgroupShuffle(panel_x[u / ACROSS].x, lane + u % ACROSS);
    return subgroupShuffle(panel_x[u / (4u * ACROSS)][u & 3u], lane + u / 4u % ACROSS);
}

// Stores panel_sum to the lane's columns of the row that begins at float `begin` of C, or of a buffer of its shape: all lanes their own, or
// with HALVED the lower lanes first their own and then those of the upper ones (engine/halved.glsl).
#define PANEL_STORE(one, four, eight, begin)                                                                               \
    {                                                                                                                      \
        uint panel_at = begin;                                                                                             \
        if (!HALVED) {                                                                                                     \
            PANEL_LANES(one, four, eight, panel_at)                                                                        \
        } else {                                                                                                           \
            uint own_stores = stores, own_column = column0;                                                                \
            float own[COLUMNS];                                                                                            \
            [[unroll]] for (uint q = 0u; q < COLUMNS; q++) own[q] = panel_sum[q];                                          \
            stores = HALVED_LOWER ? own_stores : 0u;                                                                       \
            PANEL_LANES(one, four, eight, panel_at)                                                                        \
            stores = HALVED_LOWER ? HALVED_UPPER(own_stores) : 0u;                                                         \
            column0 = HALVED_UPPER(own_column);                                                                            \
            panel_at = HALVED_UPPER(panel_at);                                                                             \
            [[unroll]] for (uint q = 0u; q < COLUMNS; q++) panel_sum[q] = HALVED_UPPER(own[q]);                            \
            PANEL_LANES(one, four, eight, panel_at)                                                                        \
            stores = own_stores;                                                                                           \
            column0 = own_column;                                                                                          \
            [[unroll]] for (uint q = 0u; q < COLUMNS; q++) panel_sum[q] = own[q];                                          \
        }                                                                                                                  \
    }

// Stores what is in panel_sum of lanes that store. At C's right edge (EDGE) only columns below n are stored, in a loop of one pass. An `if` instead halves
// the speed on Mesa 25: it moves the sums into the branch and computes column after column, each addition waiting for the one
// before.
#define PANEL_LANES(one, four, eight, begin)                                                                               \
    if (EDGE == 0u && !HALVED) {                                                                                           \
        PANEL_EIGHT(one, four, eight, begin)                                                                               \
    } else [[dont_unroll]] for (uint once = 0u; once < stores; once++) {                                                   \
        if (EDGE == 8u || EDGE == 0u) {                                                                                    \
            PANEL_EIGHT(one, four, eight, begin)                                                                           \
        } else if (ALIGNED_C >= 4u) {                                                                                      \
            if (column0 + 4u <= n) PANEL_FOUR(four, begin, 0u)                                                             \
            if (COLUMNS == 8u && column0 + 8u <= n) PANEL_FOUR(four, begin, COLUMNS - 4u)                                  \
            if (EDGE == 1u) {                                                                                              \
                uint rest = n & ~3u; /* the first column beyond the last four: a lane's first or fifth */                  \
                bool mine = column0 == rest || column0 + 4u == rest && COLUMNS == 8u, fifth = column0 != rest;             \
                if (mine) one[(begin) + rest] = fifth ? panel_sum[COLUMNS - 4u] : panel_sum[0];                            \
                if (mine && rest + 1u < n) one[(begin) + rest + 1u] = fifth ? panel_sum[COLUMNS - 3u] : panel_sum[1];      \
                if (mine && rest + 2u < n) one[(begin) + rest + 2u] = fifth ? panel_sum[COLUMNS - 2u] : panel_sum[2];      \
            }                                                                                                              \
        } else {                                                                                                           \
            PANEL_ONE(one, begin, 0u) PANEL_ONE(one, begin, 1u) PANEL_ONE(one, begin, 2u) PANEL_ONE(one, begin, 3u)         \
            PANEL_ONE(one, begin, 4u) PANEL_ONE(one, begin, 5u) PANEL_ONE(one, begin, 6u) PANEL_ONE(one, begin, 7u)         \
        }                                                                                                                  \
    }

#define PANEL_EIGHT(one, four, eight, begin)                                                                               \
    if (ALIGNED_C == 8u && COLUMNS == 8u) {                                                                                \
        eight[((begin) + column0) >> 3] = u64vec4(PACK(0u), PACK(2u), PACK(COLUMNS - 4u), PACK(COLUMNS - 2u));             \
    } else if (ALIGNED_C >= 4u) {                                                                                          \
        PANEL_FOUR(four, begin, 0u)                                                                                        \
        if (COLUMNS == 8u) PANEL_FOUR(four, begin, COLUMNS - 4u)                                                           \
    } else {                                                                                                               \
        [[unroll]] for (uint q = 0u; q < COLUMNS; q++) one[(begin) + column0 + q] = panel_sum[q];                          \
    }

#define PANEL_FOUR(four, begin, q) four[((begin) + column0 + (q)) >> 2] = u64vec2(PACK(q), PACK((q) + 2u));
#define PANEL_ONE(one, begin, q) if (q < COLUMNS && column0 + q < n) one[(begin) + column0 + q] = panel_sum[min(q, COLUMNS - 1u)];
#define PACK(i) packUint2x32(floatBitsToUint(vec2(panel_sum[i], panel_sum[(i) + 1u])))

// Multiplies the row of A in panel_x by the panel: panel_sum. add: C holds partial sums, in the row that begins at float `at`.
void panel_multiply(uint at, bool add, uint columns) {
    [[unroll]] for (uint q = 0u; q < COLUMNS; q++) panel_sum[q] = 0.0;
    if (add) {
        if (ALIGNED_C >= 4u) {
            [[unroll]] for (uint h = 0u; h < COLUMNS; h += 4u) {
                vec4 v = LOAD4(sum_quads, sum_quads_texels, (at + min(column0 + h, (columns - 1u) & ~3u)) >> 2);
                [[unroll]] for (uint i = 0u; i < 4u; i++) panel_sum[h + i] = v[i];
            }
        } else {
            [[unroll]] for (uint q = 0u; q < COLUMNS; q++) {
                uint e = at + min(column0 + q, columns - 1u);
                panel_sum[q] = PANEL_FLOAT(sums, sums_texels, e);
            }
        }
    }
    [[unroll]] for (uint u = 0u; u < DEPTH; u++) {
        float x = panel_element(u);
        [[unroll]] for (uint q = 0u; q < COLUMNS; q++) panel_sum[q] = fma(x, panel[u * COLUMNS + q], panel_sum[q]);
    }
}
