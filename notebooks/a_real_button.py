# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A real button
#
# A shop has a button in three colours and wants the one that most visitors click. Answers come late, some never come,
# the program dies in the middle of the day, and later there is a fourth colour. A `Player` takes care of all this: it
# lets a policy choose, learns what comes back, and keeps everything in one file.

# %%
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

import jaxbandit
from jaxbandit import live, plotting

folder = Path(tempfile.mkdtemp())

# %% tags=["parameters"]
runs = 2000
horizon = 400

# %% [markdown]
# ## The shop
#
# This is the shop's program. The visitors are simulated: `CLICKS` says how likely they click, which the policy does not
# know. An answer comes up to twenty visitors after its choice, and one in twenty never comes. What the program has to
# keep is `choice.id`, beside what it shows to the visitor.

# %%
program = """
import os
import random
import signal
import sys

import jaxbandit
from jaxbandit.live import Player

CLICKS = {"red": 0.2, "green": 0.5, "blue": 0.3, "violet": 0.6}


def made(store, key=None):
    states = {"ignored": 0.0, "clicked": 1.0}
    return Player(jaxbandit.Thompson(), ["red", "green", "blue"], states=states, store=store, key=key)


def day(player, visitors, seed, killed_at=None):
    chance, coming = random.Random(seed), []
    for visitor in range(visitors):
        choice = player.choose()
        answer = "clicked" if chance.random() < CLICKS[choice.arm] else "ignored"
        if chance.random() < 0.95:
            coming.append((visitor + chance.randrange(20), choice.id, answer))
        player.learn({id: answer for due, id, answer in coming if due <= visitor})
        coming = [late for late in coming if late[0] > visitor]
        if visitor == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
    player.learn({id: answer for _, id, answer in coming})


if __name__ == "__main__":
    day(made(sys.argv[1]), 1000, seed=1, killed_at=int(sys.argv[2]))
"""
(folder / "shop.py").write_text(program)
sys.path.insert(0, str(folder))
shop = importlib.import_module("shop")

# %% [markdown]
# ## The first day
#
# Without a key a player draws one, and keeps it in its file. We give one on the first day, and only then, so that this
# notebook can be repeated; a real shop never does, or all its players would show a visitor the same arm.

# %%
player = shop.made(folder / "buttons.sqlite", key=0)
shop.day(player, horizon, seed=0)
print(player.report())

# %% [markdown]
# *best* is the probability that a colour has the largest share of clicks: Thompson sampling has a law of each share,
# and the next visitor sees a colour with just this probability. The interval holds the share at all times together with
# probability 95 %, which is why it is wide. What the report cannot show is regret: it would take the shares themselves.
#
# No answer is not the same as "ignored". The visitors who never answered are still open; at the end of the day we
# forget them, so that the policy learns nothing of them.

# %%
print(len(player.open), "visitors did not answer")
player.forget(older_than=0)
player.close()

# %% [markdown]
# ## The program dies
#
# On the second day the shop's program runs as a process of its own, which is killed (`kill -9`) when visitor number 250
# has come. Then we make the player again, with the same arguments and the same file, and go on.

# %%
command = [sys.executable, folder / "shop.py", folder / "buttons.sqlite", "249"]
print("the process ended with", subprocess.run(command).returncode)

player = shop.made(folder / "buttons.sqlite")
report = player.report()
print(report.plays.sum(), "choices,", report.answers.sum(), "answers,", report.open.sum(), "open")

# %% [markdown]
# All 250 choices are there, and all answers that the process had learned: both are on the disk before the calls return.
# The answers that were still on their way are open. Had the shop kept them elsewhere, it could learn them now; we
# forget them. The policy's state is bit for bit that of a player who never stopped.

# %%
player.forget(older_than=0)
shop.day(player, horizon, seed=2)
print(player.report())
plotting.plot_history(player.history())
# %% [markdown]
# ## What if another policy had played?
#
# The log has the probability of each choice, so it can be weighed as if another policy had chosen.

# %%
others = {"always green": "green", "always blue": "blue", "each colour alike": [1 / 3] * 3}
found = live.evaluate(player, others)
print(found)

# %% [markdown]
# The log knows green well, because it chose it so often. Of colours that it seldom chose it knows little, and says so:
# the effective number of rounds is small, and the interval is wide. (Warnings stand there for the same reason.) Here
# the visitors are simulated, so that we can also ask what each policy earns on average, in as many days as we like.

# %%
button = jaxbandit.bernoulli([shop.CLICKS[colour] for colour in ("red", "green", "blue")])
policies = {"Thompson": jaxbandit.Thompson(), "KL-UCB": jaxbandit.KLUCB(), "each colour alike": jaxbandit.Uniform()}
result = jaxbandit.simulate(button, policies, runs=runs, horizon=len(player.history().round), progress=False)
for label, visits in result.visits.items():
    print(f"{label:18} {visits[0, 0, :, -1, :, 1].sum(-1).mean() / result.horizon:.3f} clicks a visitor")

# %% [markdown]
# ## A new colour
#
# Violet comes. For Thompson sampling a new arm may be anything from never clicked to always clicked. We know buttons
# better than that, and let violet begin with ten imagined answers, half of them clicks, as green has. `like="green"`
# would begin with all that is known of green, as if violet were sure to be no different, and it would take long to
# notice that it is better.

# %%
player.forget(older_than=0)
player.add("violet", prior=["clicked"] * 5 + ["ignored"] * 5)
for seed in (3, 4):
    shop.day(player, horizon, seed)
    player.forget(older_than=0)
print(player.report())
plotting.plot_history(player.history())
# %% [markdown]
# A colour that nobody wants any more is taken away by `player.retire("red")`; its answers are still learned.
#
# ## What all this rests on
#
# - **Visitors are alike, and their answers independent.** If a click makes the next one more likely, take a policy for
#   Markov chains, as `IMEDMC`; if tastes change, one that forgets.
# - **Silence has nothing to do with the answer.** If those who do not click are also those who do not answer,
#   forgetting them makes every colour look better than it is. Then learn "ignored" when the time is up.
# - **The file is on a local disk.** The page "A player for real arms" says what happens when it is damaged, full or
#   lost.

# %%
player.close()
