"""Named problems: arms of papers and of this project's experiments, with their source and what they are good for."""

from jaxbandit.named_problems.entries import atlas
from jaxbandit.named_problems.look_up import Atlas, NamedProblem

__all__ = ["Atlas", "NamedProblem", "atlas"]
