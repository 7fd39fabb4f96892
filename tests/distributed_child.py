"""One of the processes of a distributed simulation: process number, how many, port, file to write."""

import sys

import jax

import jaxbandit
from experiments.published.scenarios import environment


def play():
    policies = {"TV": [jaxbandit.TVKLUCB(scale=s) for s in (0.5, 1.0)], "Thompson": jaxbandit.Thompson()}
    scenarios = {"one": environment("scenario 1"), "two": environment("scenario 2", initial_state="stationary")}
    return jaxbandit.simulate(scenarios, policies, runs=11, horizon=400, shuffle=True, tile=2, chunk=70, progress=False)


if __name__ == "__main__":
    number, processes, port = map(int, sys.argv[1:4])
    jax.distributed.initialize(f"127.0.0.1:{port}", processes, number)
    assert len(jax.devices()) == processes * len(jax.local_devices())
    play().save(sys.argv[4])
