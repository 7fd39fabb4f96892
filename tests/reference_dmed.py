"""DMED as lists, for one or several plays a round: what is left of the current list, and the next one."""

import math

import reference


class Lists:
    def __init__(self, reward, number=1, plus=True):
        self.reward, self.number, self.plus, self.rounds = reward, number, plus, 0
        self.left, self.next = list(range(len(reward))), set()

    def means(self, counts):
        """Those of the plays, 0 for an arm never played."""
        pairs = zip(counts, self.reward, strict=True)
        return [reference.sample_mean(*pair) if reference.plays(pair[0]) else 0.0 for pair in pairs]

    def choose(self, counts):
        means = self.means(counts)
        others = sorted((k for k in range(len(counts)) if k not in self.left), key=lambda k: (-means[k], k))
        return [*self.left, *others][: self.number]

    def see(self, counts, chosen):
        self.rounds += 1
        self.left = [k for k in self.left if k not in chosen]
        means = self.means(counts)
        least = sorted(means)[-self.number]
        for k in range(len(counts)):
            number = max(reference.plays(counts[k]), 1)
            cost = number * reference.kl(min(means[k], least), least)
            level = math.log(self.rounds) - (math.log(number) if self.plus else 0)
            first = (self.rounds - 1) * self.number < len(counts)  # the second list holds all arms, as the first does
            if k not in self.left and (cost <= level * (1 + 1e-5) or first):
                self.next.add(k)
        if not self.left:
            self.left, self.next = sorted(self.next), set()


def play(policy, draws, reward, initial_state, horizon, plus=True):
    """The arms of one run with a play a round, as the plays of `reference`."""
    lists, counts = Lists(reward, plus=plus), [[[0, 0], [0, 0]] for _ in reward]
    states, played = [initial_state] * len(reward), []
    for _ in range(horizon):
        (k,) = lists.choose(counts)
        after = int(draws(k, reference.plays(counts[k]) + 1, states[k]))
        counts[k][states[k]][after] += 1
        states[k] = after
        lists.see(counts, [k])
        played.append(k)
    return played
