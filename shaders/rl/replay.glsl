// The layout of a replay: rings of `capacity` rows, appended to in order of time and, within a step, of lanes. A lane
// is an environment of the members that share the ring. Rows that are not transitions are dropped.
//
// A ring stores an observation once, at an index: those of the rows come first, then `ends` slots for the next observations of rows that no
// row follows, then the tails, one for each lane: the next observation of the newest row of an episode that goes on. A row's link is the
// index of its next observation: below the capacity it is also the next row of the episode.

const uint REPLAY_CHUNK = 1024u; // rows of a trajectory that one workgroup appends
const uint REPLAY_NONE = 0xFFFFFFFFu;

const uint DONE_TERMINATED = 1u, DONE_OVER = 3u, DONE_VOID = 4u;

// Row i of ring r in the order of appending, as an element of a trajectory [T, M, E]. lanes is M E if all members
// share one ring, otherwise E.
uint replay_element(uint i, uint r, uint lanes, uint all) {
    return i / lanes * all + r * lanes + i % lanes;
}
