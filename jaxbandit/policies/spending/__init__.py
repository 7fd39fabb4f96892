"""Policies for arms whose plays cost money out of a purse."""

__all__: list[str] = []
