"""Real arms: a player with a policy, which keeps its log and its state in one SQLite file, and what a log is worth.

Fits to choices take the modules `choice_laws` and `real_arms`.
"""

from jaxbandit.live.choice_laws import choice_probabilities
from jaxbandit.live.decision import Decision
from jaxbandit.live.gymnasium_loops import gymnasium_env, play
from jaxbandit.live.history import History
from jaxbandit.live.log_evaluation import Evaluation, evaluate
from jaxbandit.live.log_replay import Replay, replay
from jaxbandit.live.logged_rounds import Log, read_log
from jaxbandit.live.player import Player
from jaxbandit.live.position import Choice
from jaxbandit.live.summary_table import Report

__all__ = [
    "Choice",
    "Decision",
    "Evaluation",
    "History",
    "Log",
    "Player",
    "Replay",
    "Report",
    "choice_probabilities",
    "evaluate",
    "gymnasium_env",
    "play",
    "read_log",
    "replay",
]
