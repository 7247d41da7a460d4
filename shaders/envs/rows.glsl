// Who plays a seat, besides rows of parameters: players that have none.

const uint ROW_SCRIPT = 0xFFFFFFFEu; // the world's script
const uint ROW_RANDOM = 0xFFFFFFFFu; // actions drawn uniformly
