"""A player that plays from a file until it is killed: `python tests/live_child.py FILE SEED`.

It writes what was acknowledged to its standard output, one JSON list a line.
"""

import json
import random
import sys

import jaxbandit
from jaxbandit.live import Player

ARMS = ["red", "green", "blue"]
STATES = {"ignored": 0.0, "clicked": 1.0}


def player(store, policy=None, **others):
    return Player(policy or jaxbandit.IMEDMC(), ARMS, states=STATES, store=store, snapshot=20, **others)


def main(store, seed):
    chance, mine = random.Random(seed), []
    with player(store) as one:
        while True:
            choice = one.choose()
            print(json.dumps(["choose", choice.id, choice.arm]), flush=True)
            mine.append(choice.id)
            if len(mine) > 3:
                answered = mine.pop(chance.randrange(len(mine)))
                state = chance.choice(list(STATES))
                one.learn(answered, state)
                print(json.dumps(["answer", answered, state]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
