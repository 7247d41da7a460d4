// Where the parameters of actors and critics are, for blocks of push constants.
#define ACTOR_CRITIC_ROWS                                                                                              \
    uint actor_row;    /* floats of a member's parameters */                                                           \
    uint actor_stride; /* floats from parameters to first moments to second moments, a multiple of four */             \
    uint critic;       /* where the critics' parameters begin, [3, M, critics, row], a multiple of four */             \
    uint critic_row;   /* floats of one critic's */                                                                    \
    uint critic_stride;
