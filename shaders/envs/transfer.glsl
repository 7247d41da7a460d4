// Transfers arrays of an environment to and from buffers: short ones element by element, long ones by a loop of eight
// elements per iteration through a moving queue. With a separate access for every element, drivers would compile for
// half a minute (software drivers make each access a loop over lanes, across which all other elements are live), and
// an array with variable indices would be kept in memory. The includer has defined STATE_SIZE and OBS_SIZE.

#extension GL_EXT_control_flow_attributes : require

// The macros' own variables have names that their arguments do not use.
#if STATE_SIZE + OBS_SIZE > 64
// to[k] = from for k below n, where `from` is an expression in k.
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

// For each k below n: sets `carried` to `from`, an expression in k, then executes `store`, a statement that uses
// both.
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
