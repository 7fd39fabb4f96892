"""Policies for restless arms, known or learned, and for arms whose chains are known."""

__all__: list[str] = []
