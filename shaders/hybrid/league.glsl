// Players of a league: the members as they are, numbers 0 to M - 1, in the order main agents, main exploiters, league exploiters; then the past players,
// those of member q with the numbers M + q · C to M + (q + 1) · C - 1. The includer declares serial [M, C] and recent [M, P, 2] and the push constants
// members, capacity, mains and main_exploiters.

uint league_players() { return members * (1u + capacity); }

bool league_past(uint player) { return player >= members && serial[player - members] != 0u; }

bool league_main(uint member) { return member < mains; }

bool league_main_exploiter(uint member) { return !league_main(member) && member < mains + main_exploiters; }

// The member's recent win rate against a player, draws half; one half if they have not met.
float league_rate(uint member, uint player) {
    uint at = 2u * (member * league_players() + player);
    return recent[at + 1u] > 0.0 ? recent[at] / recent[at + 1u] : 0.5;
}
