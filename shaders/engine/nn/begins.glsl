// Whether a row's episode begins, by its word: if the given bits are zero, or if they are not; and if any of some others are not.
bool episode_begins(uint word, uint bits, bool zero, uint also) { return ((word & bits) == 0u) == zero || (word & also) != 0u; }
