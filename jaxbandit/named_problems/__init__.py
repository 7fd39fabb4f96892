"""Named problems: arms and decision processes of papers and of this project, with their source and purpose."""

from jaxbandit.named_problems.entries import atlas
from jaxbandit.named_problems.look_up import Atlas, NamedProblem

__all__ = ["Atlas", "NamedProblem", "atlas"]
