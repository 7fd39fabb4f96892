"""A sweep to be killed: `python tests/sweep_child.py FOLDER`, and what it would be undisturbed."""

import hashlib
import sys

from jaxbandit import UCBSM, Uniform, two_state

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])


def cases(runs=30):
    common = {"scenarios": ARMS, "runs": runs, "times": [10, 3000, 12000], "chunk": 300}
    return {
        "short": {"policies": {"ucb": UCBSM(), "u": Uniform()}, "horizon": 12000, **common},
        "long": {"policies": {"ucb": [UCBSM(), UCBSM(2.0)]}, "horizon": 20000, "shuffle": True, **common},
    }


def digest(results):
    """One number for all counts."""
    total = hashlib.sha256()
    for name in sorted(results):
        for label in sorted(results[name].visits):
            total.update(f"{name} {label} {results[name].visits[label].shape}".encode())
            total.update(results[name].visits[label].tobytes())
    return total.hexdigest()


if __name__ == "__main__":
    from jaxbandit import sweep

    print(digest(sweep(cases(), sys.argv[1], block=12, every=0.02, progress=False)))
