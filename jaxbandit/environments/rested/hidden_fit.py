"""What is known of hidden Markov arms that were estimated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxbandit.base import described
from jaxbandit.environments.rested.hidden_arms import HiddenArms


@described
class HiddenFit(NamedTuple):
    """Estimated hidden arms; `print` shows how well each number of states fits, and the arms.

    Fields:
      arms: the estimated arms, ready for `simulate`.
      labels: K texts, the arms' names in `data`.
      states: S, the number of states with the least sum of `bic`.
      first_law: "stationary" or "free", what the law of the state in the first step of a sequence is.
      tried: J numbers of states.
      log_likelihood: [K, J], of all symbols, at the estimates with each number of states.
      bic: [K, J], (S (S - 1) + S (G - 1)) log(symbols) - 2 log_likelihood; free first laws add S - 1 numbers.
      predictive: [K, J], mean log-probability of the symbols held out, each given all before it, by the model that was
        fitted to the first ones; NaN without symbols held out.
      transition: [K, S, S].
      emission: [K, S, G].
      means: [K], long-run reward per play.
      standard_errors: [K, S, S], of the transition; NaN where it is (nearly) 0 or 1, or not determined.
      emission_standard_errors: [K, S, G], of the emission; NaN likewise.
      means_standard_errors: [K], of the means.
      number: [K], symbols seen.
      missing: [K], steps whose symbol was not seen.
    """

    arms: HiddenArms
    labels: tuple[str, ...]
    states: int
    first_law: str
    tried: tuple[int, ...]
    log_likelihood: np.ndarray
    bic: np.ndarray
    predictive: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    means: np.ndarray
    standard_errors: np.ndarray
    emission_standard_errors: np.ndarray
    means_standard_errors: np.ndarray
    number: np.ndarray
    missing: np.ndarray

    def __str__(self) -> str:
        width = max(len(label) for label in ("states", *self.labels))
        lines = [f"{'states':{width}s}  {'BIC of all arms':>15s}  {'held out, nats a symbol':>23s}"]
        for place, states in enumerate(self.tried):
            mark = "  chosen" if states == self.states else ""
            mean = self.predictive[:, place].mean()
            held = "-" if np.isnan(mean) else f"{mean:.4f}"
            lines.append(f"{states:{width}d}  {self.bic[:, place].sum():15,.1f}  {held:>23s}{mark}")
        lines.append(f"{'arm':{width}s}  symbols      mean  standard error  states by BIC alone")
        for arm, label in enumerate(self.labels):
            alone = self.tried[int(self.bic[arm].argmin())]
            error = f"{self.means_standard_errors[arm]:14.2g}"
            lines.append(f"{label:>{width}s}  {self.number[arm]:7,d}  {self.means[arm]:8.4g}  {error}  {alone}")
        if self.missing.any():
            lines.append(f"{self.missing.sum():,d} steps without a symbol, in which the states moved unseen.")
        if self.first_law == "stationary":
            lines.append("The first state of each sequence has the stationary law of its arm's states.")
        return "\n".join(lines)
