"""Real arms: a player with a policy, which keeps its log and its state in one SQLite file."""

from jaxbandit.live.gymnasium_loops import gymnasium_env, play
from jaxbandit.live.history import History
from jaxbandit.live.player import Player
from jaxbandit.live.position import Choice
from jaxbandit.live.summary_table import Report

__all__ = ["Choice", "History", "Player", "Report", "gymnasium_env", "play"]
