"""Non-stationary arms: piecewise, drifting, adversarial, and Markov arms whose chains change."""

__all__: list[str] = []
