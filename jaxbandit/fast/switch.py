"""Whether the plain forms are played: `JAXBANDIT_PLAIN=1`, read once, when the package is imported."""

import os

PLAIN = os.environ.get("JAXBANDIT_PLAIN", "") not in ("", "0")
