#!/usr/bin/env python3
"""What OpenSpiel says of policies in Kuhn and Leduc poker:

    python -m venv spiel && spiel/bin/pip install open_spiel==2.0.2
    spiel/bin/python tools/reference/poker.py > hybrid/testdata/poker.json

For each game and salt: NashConv, twice the exploitability, of the policy that takes a legal action with a probability in proportion to a weight. With salt 0 all
weights are 1; otherwise an action's weight is 1 + (salt * k + 3 * action) % 5, k being the sum of (i + 1) * o[i] over the observation o that evorl's environment
gives in that turn.
"""

import json

import pyspiel
from open_spiel.python import policy
from open_spiel.python.algorithms import exploitability


def kuhn(state):
    history = state.history()
    own, plays = history[state.current_player()], tuple(history[2:])
    o = [0] * 8
    o[own] = o[7] = 1
    o[3 + [(), (0,), (1,), (0, 1)].index(plays)] = 1
    return o


def leduc(state):
    """Actions of OpenSpiel are evorl's: fold, call, raise. Cards are 0 to 5, of which two in turn are of a rank."""
    history, player = state.full_history(), state.current_player()
    dealt = [h.action for h in history if h.player < 0]
    rounds = [[]]
    for h in history[2:]:
        if h.player < 0:
            rounds.append([])
        else:
            rounds[-1].append(h.action)
    o = [0] * 23
    o[dealt[player] // 2] = o[22] = 1
    if len(dealt) > 2:
        o[3 + dealt[2] // 2] = 1
    for r, actions in enumerate(rounds):
        for i, action in enumerate(actions):
            o[6 + 8 * r + 2 * i + (action == 2)] = 1
    return o


def salted(game, observe, salt):
    of = policy.TabularPolicy(game)
    for state in of.states:
        k = sum((i + 1) * v for i, v in enumerate(observe(state)))
        weights = {a: 1 if salt == 0 else 1 + (salt * k + 3 * a) % 5 for a in state.legal_actions()}
        row = of.policy_for_key(state.information_state_string())
        for a in range(game.num_distinct_actions()):
            row[a] = weights.get(a, 0) / sum(weights.values())
    return of


def main():
    out = []
    for env, name, observe in [("KuhnPoker-v0", "kuhn_poker", kuhn), ("LeducPoker-v0", "leduc_poker", leduc)]:
        game = pyspiel.load_game(name)
        for salt in range(6):
            out.append({"env": env, "salt": salt, "nash_conv": exploitability.nash_conv(game, salted(game, observe, salt))})
    print("[\n" + ",\n".join(json.dumps(o) for o in out) + "\n]")


if __name__ == "__main__":
    main()
