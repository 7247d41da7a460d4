// The layout of a replay: rings of `capacity` rows, appended to in order of time and, within a step, of lanes. A lane
// is an environment of the members that share the ring. Rows that are not transitions are dropped.
//
// A row's link is the next row of its episode. Without one it is REPLAY_NONE; in a replay that stores observations once it
// is REPLAY_END plus the slot of the row's next observation: one of the ring of `ends` slots or, of a row whose episode goes
// on, `ends` plus its lane.

const uint REPLAY_CHUNK = 1024u; // rows of a trajectory that one workgroup appends
const uint REPLAY_NONE = 0xFFFFFFFFu;
const uint REPLAY_END = 0x80000000u;

const uint DONE_TERMINATED = 1u, DONE_OVER = 3u, DONE_VOID = 4u;

// Row i of ring r in the order of appending, as an element of a trajectory [T, P, E]. lanes is P E if all members
// share one ring, otherwise E.
uint replay_element(uint i, uint r, uint lanes, uint all) {
    return i / lanes * all + r * lanes + i % lanes;
}
