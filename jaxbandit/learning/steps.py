"""What tuning and training share: the optimiser, the progress bar, the warning after Ctrl-C."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from jaxbandit.arguments import excerpt
from jaxbandit.interruption import StoppedWarning


def as_optimiser(optimiser: Any, learning_rate: float, numbers: Any) -> tuple[Any, Any]:
    """An optimiser and its state for these numbers; Adam by default. ValueError for what is no optimiser."""
    made = _adam(learning_rate) if optimiser is None else optimiser
    try:
        state = made.init(numbers)
        made.update(numbers, state, numbers)
    except Exception as error:
        raise ValueError(
            f"optimiser: {excerpt(optimiser)} is not an optax.GradientTransformation that makes a step from a gradient "
            "alone, such as optax.adam(0.05)"
        ) from error
    return made, state


@cache
def _adam(learning_rate: float) -> Any:
    """One optimiser for all calls, so that they share a program."""
    import optax  # a tenth of a second, which an import of the package need not take

    return optax.adam(learning_rate)


def steps_bar(steps: int, progress: bool, done: int = 0) -> Any:
    """A bar over steps, if the output is a terminal or a notebook."""
    from tqdm.auto import tqdm

    return tqdm(total=steps, initial=done, unit=" steps", disable=None if progress else True)


def warn_of_stop(done: int, steps: int, kept: str = "") -> None:
    """Warn the caller that Ctrl-C stopped it after so many steps."""
    warnings.warn(
        f"Ctrl-C stopped it after step {done:,} of {steps:,}; the result is that of these steps{kept}",
        StoppedWarning,
        stacklevel=3,
    )
