"""Sections of the README and other texts of the repository, with links that lead to the site's pages."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# what a link of the repository leads to on the site, which begins at "/"
PAGES = {
    "docs/optimality.md": "/optimality.md",
    "docs/references.md": "/references.md",
    "experiments/README.md": "/experiments.md",
    "experiments/own_policy.py": "/how_to/own_policy.md",
    "experiments/specs/example.toml": "/how_to/cluster.md",
    "CHANGELOG.md": "/changes.md",
    "CONTRIBUTING.md": "/contributing.md",
    "experiments/pictures/scenario1.png": "/generated/scenario1.png",
}


def sections(text: str) -> dict[str, str]:
    """The parts of a text under its headings of the second rank, without these.

    >>> sections("# A\\nb\\n## C\\nd\\n### E\\n## F\\n")
    {'C': 'd\\n### E\\n', 'F': ''}
    """
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def on_the_site(text: str) -> str:
    """The text with its links into the repository turned to pages of the site.

    >>> on_the_site("[proof](docs/optimality.md), [tails](notebooks/tails.ipynb), [JAX](https://docs.jax.dev)")
    '[proof](/optimality.md), [tails](/generated/notebooks/tails.ipynb), [JAX](https://docs.jax.dev)'
    """

    def page(match: re.Match[str]) -> str:
        target = match[1]
        if re.match(r"https?:|#|/", target):
            return match[0]
        return f"]({PAGES.get(target) or f'/generated/{target}'})"

    return re.sub(r"\]\(([^)\s]+)\)", page, text)


def slug(title: str) -> str:
    """
    >>> slug("Which policy should I use?")
    'which_policy_should_i_use'
    """
    return re.sub(r"\W+", "_", title.lower()).strip("_")


def write(folder: Path) -> dict[Path, str]:
    """Every section of the README as a part that a page includes, and whole texts with their links turned."""
    readme = on_the_site((ROOT / "README.md").read_text())
    parts = {folder / "parts" / f"{slug(title)}.md": text for title, text in sections(readme).items()}
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "experiments/README.md"):
        parts[folder / "parts" / f"{slug(name.removesuffix('.md'))}.md"] = on_the_site((ROOT / name).read_text())
    return parts
