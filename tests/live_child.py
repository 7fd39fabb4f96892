"""A player that plays from a file until it is killed: `python tests/live_child.py FILE SEED TOLD`.

It appends what was acknowledged to the file TOLD, one JSON list a line.
"""

import json
import random
import sys

import jaxbandit
from jaxbandit.live import Player

ARMS = ["red", "green", "blue"]
STATES = {"ignored": 0.0, "clicked": 1.0}


def player(store, policy=None, key=0, **others):
    return Player(policy or jaxbandit.IMEDMC(), ARMS, states=STATES, store=store, key=key, snapshot=20, **others)


def main(store, seed, told):
    chance, mine = random.Random(seed), []
    with open(told, "ab", buffering=0) as file, player(store) as one:

        def tell(*what):
            file.write(json.dumps(what).encode() + b"\n")

        while True:
            choice = one.choose()
            tell("choose", choice.id, choice.arm)
            mine.append(choice.id)
            if len(mine) > 3:
                answered = mine.pop(chance.randrange(len(mine)))
                state = chance.choice(list(STATES))
                one.learn(answered, state)
                tell("answer", answered, state)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
