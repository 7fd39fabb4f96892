"""Policies for restless bandits (RMAB), known or learned, and index policies for known chains."""

__all__: list[str] = []
