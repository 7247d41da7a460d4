// environment: FaultMaze-v0
//
// A maze of four rooms with planted faults, for automated testing of games (after Y. Zheng et al., "Wuji: Automatic Online Combat Game Testing Using
// Evolutionary Deep Reinforcement Learning", 2019; the maze is evorl's own). 13 x 13 cells with walls at the border, in row 6 and in column 6, which have
// two gaps and a door. A key is in the lower left room; whoever has it opens the door to the lower right room, where the goal is. A lever in the upper
// right room does nothing. Faults are recorded, and change nothing; so are visited states: what an agent sees. An episode of 200 steps goes on at the goal.

#include "engine/math.glsl"
#include "engine/rng.glsl"

#define STATE_SIZE 41
#define OBS_SIZE 25
#define ACTION_SIZE 5
#define DISCRETE 1

// The record is of all episodes of an environment that begins them by itself: bits of whole numbers, 24 in each. A reset inside a step knows itself by the
// step's random numbers, which it goes on with: a step counts as a draw.
const int S_ROW = 0, S_COLUMN = 1, S_KEY = 2, S_KEY_USES = 3, S_LEVER_USES = 4, S_DOOR = 5, S_BUMPS = 6, S_RUN = 7, S_GOAL = 8, S_FAULTS = 9, S_STATES = 10;
const uint BITS = 24u, WORDS = 31u; // of a number; of the visited states, 121 cells times key and door times lever

const int INNER = 11, MIDDLE = 6; // cells of a row between the border's; where the walls are
const ivec2 START = ivec2(1, 1), KEY = ivec2(10, 2), LEVER = ivec2(2, 10), DOOR = ivec2(9, 6), GOAL = ivec2(10, 10); // row, column

// What the first key, the opened door and the first arrival at the goal are worth, in an episode.
const float KEY_REWARD = 0.1, DOOR_REWARD = 0.1, GOAL_REWARD = 1.0;

bool maze_wall(ivec2 at) {
    if (at.x < 1 || at.y < 1 || at.x > INNER || at.y > INNER) return true;
    return at.x == MIDDLE && at.y != 2 || at.y == MIDDLE && at.x != 3 && at.x != DOOR.x;
}

void maze_visit(inout float s[STATE_SIZE]) {
    uint cell = uint(s[S_ROW] - 1.0) * uint(INNER) + uint(s[S_COLUMN] - 1.0);
    uint state = (uint(s[S_KEY] + s[S_DOOR]) + (s[S_LEVER_USES] > 0.0 ? 3u : 0u)) * uint(INNER * INNER) + cell;
    [[unroll]] for (uint w = 0u; w < WORDS; w++) {
        uint bit = state / BITS == w ? 1u << (state % BITS) : 0u;
        s[S_STATES + w] = float(uint(s[S_STATES + w]) | bit);
    }
}

void env_reset(inout float s[STATE_SIZE], inout Rng rng) {
    if (rng.counter.w == 0u) [[unroll]] for (int f = S_FAULTS; f < STATE_SIZE; f++) s[f] = 0.0;
    s[S_ROW] = float(START.x);
    s[S_COLUMN] = float(START.y);
    s[S_KEY] = s[S_KEY_USES] = s[S_LEVER_USES] = s[S_DOOR] = s[S_BUMPS] = s[S_RUN] = s[S_GOAL] = 0.0;
    maze_visit(s);
}

// Actions: up, down, left, right, use.
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    const ivec2 none = ivec2(-1);
    rng.counter.w += 4u;
    ivec2 from = ivec2(int(s[S_ROW]), int(s[S_COLUMN])), at = from, bump = none;
    bool use = action == 4u, had_key = s[S_KEY] > 0.0, pulled = s[S_LEVER_USES] > 0.0;
    reward = 0.0;
    if (!use) {
        ivec2 to = from + (action == 0u ? ivec2(-1, 0) : action == 1u ? ivec2(1, 0) : action == 2u ? ivec2(0, -1) : ivec2(0, 1));
        bool locked = to == DOOR && s[S_DOOR] == 0.0;
        if (locked && had_key) {
            s[S_DOOR] = 1.0;
            reward += DOOR_REWARD;
        }
        if (locked && !had_key || maze_wall(to)) bump = to;
        else at = to;
    }
    bool entered = at != from, took = use && at == KEY;
    if (took && !had_key) reward += KEY_REWARD;
    if (took) {
        s[S_KEY] = 1.0;
        s[S_KEY_USES] = min(s[S_KEY_USES] + 1.0, 2.0);
    }
    if (use && at == LEVER) s[S_LEVER_USES] = min(s[S_LEVER_USES] + 1.0, 3.0);
    if (bump == DOOR) s[S_BUMPS] = min(s[S_BUMPS] + 1.0, 3.0); // only without the key
    s[S_RUN] = use && at.x > MIDDLE && at.y > MIDDLE ? min(s[S_RUN] + 1.0, 8.0) : 0.0;
    if (at == GOAL && s[S_GOAL] == 0.0) {
        s[S_GOAL] = 1.0;
        reward += GOAL_REWARD;
    }
    s[S_ROW] = float(at.x);
    s[S_COLUMN] = float(at.y);
    maze_visit(s);

    bool faults[14] = bool[14](
        bump == ivec2(0, 1), bump == ivec2(5, 12), s[S_BUMPS] == 3.0,                      // crashes
        entered && at == ivec2(5, 5), entered && at == ivec2(11, 1), s[S_RUN] == 8.0,      // stuck
        entered && at == ivec2(1, 11), s[S_LEVER_USES] == 3.0, from == DOOR && at == ivec2(9, 5), entered && at == ivec2(11, 11),
        bump == ivec2(7, 12) && pulled,                                                    // the five are of the logic
        s[S_KEY_USES] == 2.0, use && at == GOAL, use && at == GOAL && pulled);             // of the balance
    uint found = uint(s[S_FAULTS]);
    [[unroll]] for (uint i = 0u; i < 14u; i++) found |= faults[i] ? 1u << i : 0u;
    s[S_FAULTS] = float(found);
    terminated = false;
}

// Row and column as vectors of zeros and a one; key, lever, door.
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    [[unroll]] for (int i = 0; i < INNER; i++) {
        obs[i] = s[S_ROW] == float(i + 1) ? 1.0 : 0.0;
        obs[INNER + i] = s[S_COLUMN] == float(i + 1) ? 1.0 : 0.0;
    }
    obs[2 * INNER] = s[S_KEY];
    obs[2 * INNER + 1] = min(s[S_LEVER_USES], 1.0);
    obs[2 * INNER + 2] = s[S_DOOR];
}
