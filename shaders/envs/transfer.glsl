// Arrays of an environment to and from buffers. Short ones go element by element. Long ones go by a loop, eight
// elements a turn, through a queue that moves on: with every element an access of its own, drivers would compile for
// half a minute (of an access, software drivers make a loop over lanes, and all other elements live through it), and
// an array with variable indices would be in memory. The includer has defined STATE_SIZE and OBS_SIZE.

#extension GL_EXT_control_flow_attributes : require

// The names of the macros' own variables are such as their arguments do not use.
#if STATE_SIZE + OBS_SIZE > 256
// to[k] = from for k below n, where `from` is an expression of k.
#define TRANSFER_LOAD(to, k, n, from) \
    { \
        const uint transfer_size = ((n) + 7u) / 8u * 8u; \
        float transfer_queue[transfer_size]; \
        [[unroll]] for (uint transfer_i = 0u; transfer_i < transfer_size; transfer_i++) transfer_queue[transfer_i] = 0.0; \
        [[dont_unroll]] for (uint transfer_turn = 0u; transfer_turn < transfer_size; transfer_turn += 8u) { \
            [[unroll]] for (uint transfer_i = 0u; transfer_i < transfer_size - 8u; transfer_i++) transfer_queue[transfer_i] = transfer_queue[transfer_i + 8u]; \
            [[unroll]] for (uint transfer_i = 0u; transfer_i < 8u; transfer_i++) { \
                uint k = min(transfer_turn + transfer_i, (n) - 1u); \
                transfer_queue[transfer_size - 8u + transfer_i] = from; \
            } \
        } \
        [[unroll]] for (uint k = 0u; k < (n); k++) to[k] = transfer_queue[k]; \
    }

// For each k below n: lets `carried` be `from`, an expression of k, then does `store`, a statement of both.
#define TRANSFER_STORE(k, n, from, store) \
    { \
        const uint transfer_size = ((n) + 7u) / 8u * 8u; \
        float transfer_queue[transfer_size]; \
        [[unroll]] for (uint transfer_i = 0u; transfer_i < transfer_size; transfer_i++) { \
            uint k = min(transfer_i, (n) - 1u); \
            transfer_queue[transfer_i] = from; \
        } \
        [[dont_unroll]] for (uint transfer_turn = 0u; transfer_turn < transfer_size; transfer_turn += 8u) { \
            [[unroll]] for (uint transfer_i = 0u; transfer_i < 8u; transfer_i++) { \
                uint k = transfer_turn + transfer_i; \
                float carried = transfer_queue[transfer_i]; \
                if (k < (n)) { store; } \
            } \
            [[unroll]] for (uint transfer_i = 0u; transfer_i < transfer_size - 8u; transfer_i++) transfer_queue[transfer_i] = transfer_queue[transfer_i + 8u]; \
        } \
    }
#else
#define TRANSFER_LOAD(to, k, n, from) \
    { [[unroll]] for (uint k = 0u; k < (n); k++) to[k] = from; }
#define TRANSFER_STORE(k, n, from, store) \
    { [[unroll]] for (uint k = 0u; k < (n); k++) { float carried = from; store; } }
#endif
