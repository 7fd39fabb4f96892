"""Policies for non-stationary and adversarial arms: forgetting, change detection, exponential weights."""

__all__: list[str] = []
