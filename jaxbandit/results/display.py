"""A result as text and as HTML: a line of text, and tables of final regret or of stopping times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from jaxbandit import metrics
from jaxbandit.metrics.counts import kind
from jaxbandit.metrics.stopping_times import has_stops
from jaxbandit.results import headline
from jaxbandit.texts import filled, terminal_width

Result = Any  # a `Result`, whose file imports this one
UNKNOWN = "Regret is not known, because nobody knows the means of real arms."
NAMES, ROWS = 6, 30  # most entries shown of a list and of a table

# The only colour is a grey that is visible on white and on black; text keeps the notebook's colours, in any theme.
# The class is named twice to outweigh JupyterLab's style, which moves every cell of a table to the right.
STYLE = """
div.jaxbandit { overflow-x: auto; }
div.jaxbandit table { border-collapse: collapse; margin: 0 0 1em 0; font-size: inherit; color: inherit; }
div.jaxbandit caption { text-align: left; font-weight: bold; padding: 0.3em; color: inherit; }
div.jaxbandit.jaxbandit th, div.jaxbandit.jaxbandit td { text-align: left; vertical-align: top; }
div.jaxbandit th, div.jaxbandit td { padding: 0.15em 1.2em 0.15em 0.3em; }
div.jaxbandit thead th { border-bottom: 1px solid rgba(128, 128, 128, 0.7); }
div.jaxbandit tbody th { font-weight: normal; white-space: nowrap; }
div.jaxbandit.jaxbandit .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
"""


def stopped(result: Result) -> str:
    """The mark of a result that lacks some of the rounds asked for; an empty text for a complete one."""
    return "" if result.complete else f"stopped after round {result.rounds:,} of {result.horizon:,}"


def as_text(result: Result) -> str:
    """What `repr(result)` is: one line, without any array's numbers."""
    variants = {label: result.visits[label].shape[1] for label in result.labels}
    policies = _some([label if n == 1 else f"{label} ({n} variants)" for label, n in variants.items()])
    played = f"{_count(result.runs, 'run')}, {_rounds(result)}, {_count(result.plays, 'play')} a round"
    feedback = f"feedback {_delay(result)}; " if _delay(result) else ""
    arms = f"arms offered {offered}; " if (offered := result.asked.get("offered")) else ""
    return f"Result({_some(result.scenarios)}; {policies}; {played}; {arms}{feedback}{_memory(result)})"


def as_html(result: Result) -> str:
    """What a notebook shows of a result; names are escaped, and long lists are cut after their first entries."""
    arms, states = result.reward.shape[1:]
    thing = {"rested": "arm", "decision process": "action"}.get(result.problem, f"{result.problem} arm")
    size = _count(states, "state") if states else "independent rewards"
    size = f"a decision process with {size}" if result.problem == "decision process" else size
    first, runs = result.asked.get("first_run", 0), result.runs
    recorded = f"{len(result.times):,} recorded" + (f", up to round {result.times[-1]:,}" if len(result.times) else "")
    hint = "; simulate(..., resume=result) goes on" if result.carry and stopped(result) else ""
    versions = [f"{package} {version}" for package, version in result.provenance.get("versions", {}).items()]
    facts = {
        "scenarios": f"{_some(result.scenarios)}; {_count(arms, thing)} of {size}",
        "runs": f"{runs:,}, numbers {first:,} to {first + runs - 1:,}",
        "rounds": f"{_rounds(result)}; {recorded}{hint}",
        "plays": f"{result.plays:,} a round",
        "arms offered": result.asked.get("offered", ""),
        "start": headline.start(result),
        "feedback": "; that ".join(part for part in (_delay(result), _missing_feedback(result)) if part),
        "memory": _memory(result),
        "made with": _some([*versions, f"key {result.asked.get('key', 'unknown')}"]),
    }
    tables = _table("Result", (), [fact for fact in facts.items() if fact[1]]) + _policies(result) + _regret(result)
    return f'<div class="jaxbandit"><style>{STYLE}</style>{tables}</div>'


def _policies(result: Result) -> str:
    classes = {label: policy["class"] for label, policy in result.provenance.get("policies", {}).items()}
    rows = [(label, classes.get(label, ""), _hyperparameters(result, label)) for label in result.labels]
    return _table("Policies", ("policy", "class", "hyper-parameters"), rows)


def _regret(result: Result) -> str:
    """A table of final regret, of as many variants of every policy as there is room for, or one of stopping times."""
    if not len(result.times):
        return "<p>No round is recorded yet.</p>"
    if not kind(result).known:
        return f"<p>{UNKNOWN}</p>"
    if has_stops(result):
        stops, total = _stops(result)
        header = ("scenario", "policy", "variant", "mean stopping time", "90 %", "wrong", "95 % interval", "censored")
        table = _table(_stops_caption(result), header, stops, numbers=5, total=total)
        return table + (f"<p>{_censored(result)}</p>" if _censored(result) else "")
    finals, total = _finals(result)
    rows = []
    sign = headline.sign(result)
    for scenario, label, variant, regret, linear in finals:
        mean, low, high, median, *_, worst = (sign * float(number) + 0.0 for number in metrics.summary(regret))
        low, high = sorted((low, high))
        interval = f"{_number(low)} to {_number(high)}" if len(regret) > 1 else ""
        numbers = _number(mean), interval, _number(median), _number(worst), linear
        rows.append((scenario, label, variant, *numbers))
    header = ("scenario", "policy", "variant", "mean", "95 % interval", "median", "worst 5 %", "linear share")
    return _table(_caption(result), header, rows, numbers=5, total=total)


def in_full(result: Result) -> str:
    """What `print(result)` shows: its line, and one for each policy with mean final regret or mean stopping time."""
    if not len(result.times):
        return filled(f"{as_text(result)}\nNo round is recorded yet.")
    if not kind(result).known:
        return filled(f"{as_text(result)}\n{UNKNOWN}")
    if has_stops(result):
        stops, total = _stops(result)
        rows = [
            (scenario, f"{label}, {variant}" if variant else label, mean, f"  {wrong:>6} ({interval})  {censored}")
            for scenario, label, variant, mean, _, wrong, interval, censored in stops[:ROWS]
        ]
        caption = f"{_stops_caption(result)}; wrong answers with their 95 % interval; censored runs"
        return _lines_of(result, [caption], rows, total, [_censored(result)] if _censored(result) else [])
    finals, total = _finals(result)
    rows = []
    for scenario, label, variant, regret, _ in finals[:ROWS]:
        error = f" ± {_number(float(regret.std(ddof=1)) / len(regret) ** 0.5)}" if len(regret) > 1 else ""
        rows.append(
            (
                scenario,
                f"{label}, {variant}" if variant else label,
                _number(headline.sign(result) * float(regret.mean()) + 0.0),
                error,
            )
        )
    what = "mean and its standard error" if result.runs > 1 else "of one run"
    missing = [f"Feedback {_missing_feedback(result)}."] if _missing_feedback(result) else []
    start = [f"Start: {headline.start(result)}."] if headline.start(result) else []
    return _lines_of(result, [*missing, *start, f"{_caption(result)}, {what}"], rows, total)


def _lines_of(
    result: Result, above: list[str], rows: list[tuple[str, str, str, str]], total: int, below: Sequence[str] = ()
) -> str:
    """The result's line, lines above, a line for each row, and lines below."""
    left, middle, right, last = (max(map(len, column)) for column in zip(*rows))
    between = "  " if left + middle + right + last + 4 <= terminal_width() else "\n  "
    lines = [f"{row[0]:{left}}  {row[1]:{middle}}{between}{row[2]:>{right}}{row[3]}" for row in rows]
    if len(lines) < total:
        lines.append(f"{len(lines):,} of {total:,} lines are shown.")
    return filled("\n".join([as_text(result), *above, *lines, *below]))


def _stops(result: Result) -> tuple[list[tuple[str, ...]], int]:
    """Scenario, label, variant, mean stopping time, 90 % quantile, wrong answers, their interval, censored runs."""
    rows = []
    for label in result.labels:
        summary, names = metrics.identification(result, label), variant_names(result, label)
        for c, v in np.ndindex(summary.mean.shape):
            error = f" ± {_number(float(summary.error[c, v]))}" if result.runs > 1 else ""
            mean = f"{'at least ' if summary.censored[c, v] else ''}{_number(float(summary.mean[c, v]))}{error}"
            high = f"{summary.quantile_90[c, v]:,.0f}" if np.isfinite(summary.quantile_90[c, v]) else "censored"
            interval = f"{summary.wrong_low[c, v]:.1%} to {summary.wrong_high[c, v]:.1%}"
            wrong, censored = f"{summary.wrong_share[c, v]:.1%}", f"{summary.censored[c, v]:,}"
            rows.append((c, (result.scenarios[c], label, names[v], mean, high, wrong, interval, censored)))
    return [row for _, row in sorted(rows, key=lambda row: row[0])], len(rows)


def _stops_caption(result: Result) -> str:
    mark = f" ({stopped(result)})" if stopped(result) else ""
    return f"Stopping times{mark}, mean" + (" and its standard error" if result.runs > 1 else " of one run")


def _censored(result: Result) -> str:
    """What censored means, if any run is."""
    if all((rounds > 0).all() for rounds in result.stopped.values()):
        return ""
    return f"Censored: runs without an answer after {result.times[-1]:,} rounds; they are neither right nor wrong."


def _caption(result: Result) -> str:
    mark = f" ({stopped(result)})" if stopped(result) else ""
    return f"{headline.measure(result)} after round {result.times[-1]:,}{mark}"


def _finals(result: Result) -> tuple[list[tuple[str, str, str, np.ndarray, str]], int]:
    """Scenario, label, variant, final regret [R] and share of linear runs, as many as there is room for; and how many.

    Policies with several variants show the same number of them, at least one.
    """
    counts = {label: visits[:, :, :, -1:] for label, visits in result.visits.items()}
    recorded = {name: {label: x[:, :, :, -1:] for label, x in of.items()} for name, of in result.recorded.items()}
    last = replace(result, times=result.times[-1:], visits=counts, recorded=recorded)
    variants = [visits.shape[1] for visits in counts.values()]
    fitting = [n for n in range(2, ROWS + 1) if len(result.scenarios) * sum(min(n, v) for v in variants) <= ROWS]
    room = max(fitting, default=1)
    columns = {
        label: (variant_names(result, label)[:room], metrics.regret(last, label)) for label in result.labels[:ROWS]
    }
    rounding = 4 * np.finfo(float).eps * result.rounds * np.abs(result.means).max()  # of sums over all rounds
    unshared = result.problem in ("changing", "rotting", "costly", "sleeping") or headline.sign(result) < 0
    shares = {} if unshared else {n: metrics.linear_share(result, n) for n in columns}
    finals = [
        (
            scenario,
            label,
            variant,
            np.where(np.abs(regret) < rounding, 0, regret)[c, v, :, 0],
            f"{shares[label][c, v]:.1%}" if shares else "-",
        )
        for c, scenario in enumerate(result.scenarios)
        for label, (names, regret) in columns.items()
        for v, variant in enumerate(names)
    ]
    return finals, len(result.scenarios) * sum(variants)


def variant_names(result: Result, label: str) -> list[str]:
    """What tells the variants of a policy apart, such as "exponent=0.2"; an empty text for a single variant."""
    count = result.visits[label].shape[1]
    fields = result.hyperparameters(label).items()
    differing = {name: values for name, values in fields if values.count(values[0]) < count}
    if count == 1 or not differing:
        return [f"variant {v}" if count > 1 else "" for v in range(count)]
    return [", ".join(f"{name}={_value(values[v])}" for name, values in differing.items()) for v in range(count)]


def _hyperparameters(result: Result, label: str) -> str:
    """Every name with its value, or with the values of the variants."""
    fields = {name: list(map(_value, values)) for name, values in result.hyperparameters(label).items()}
    return "; ".join(f"{name} {texts[0] if len(set(texts)) == 1 else _some(texts)}" for name, texts in fields.items())


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0, total: int = 0) -> str:
    """A table of the first of `total` rows, or of those in the list; its last `numbers` columns hold numbers."""
    visible, total = rows[:ROWS], total or len(rows)
    head = f"<thead>{_line('th', header, numbers)}</thead>" if header else ""
    body = "".join(_line("td", row, numbers) for row in visible)
    more = f"<p>{len(visible):,} of {total:,} rows are shown.</p>" if len(visible) < total else ""
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>{more}"


def _line(tag: str, cells: Sequence[str], numbers: int) -> str:
    """A row of cells, the first of which names the row."""
    tags = ["th"] + [tag] * (len(cells) - numbers - 1) + [f'{tag} class="number"'] * numbers
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag[:2]}>' for tag, cell in zip(tags, cells))}</tr>"


def _rounds(result: Result) -> str:
    return stopped(result) or _count(result.horizon, "round")


def _delay(result: Result) -> str:
    """How feedback was batched and delayed; empty where it was neither."""
    delay, batch = result.asked.get("delay", 0), result.asked.get("batch", 1)
    together = f"of {_count(batch, 'round')} at once" if batch > 1 else ""
    late = delay[0] if isinstance(delay, list) else f"{_count(delay, 'round')} late" if delay else ""
    return ", ".join(part for part in (together, late) if part)


def _missing_feedback(result: Result) -> str:
    """The last rounds whose feedback has not reached the policies; empty if there are none."""
    delay, batch = result.asked.get("delay", 0), result.asked.get("batch", 1)
    end = "never reached the policies" if result.complete else "is still under way"
    if isinstance(delay, list):
        return f"due after round {result.rounds:,} {end}"
    last = result.rounds - max(0, result.rounds - delay) // batch * batch
    return f"of the last {_count(last, 'round')} {end}" if last else ""


def _memory(result: Result) -> str:
    recorded = [array for arrays in result.recorded.values() for array in arrays.values()]
    counts = sum(array.nbytes for array in [*result.visits.values(), *recorded])
    carry = sum(leaf.nbytes for leaves in result.carry.values() for leaf in leaves)
    return f"{_bytes(counts)} of counts" + (f" and {_bytes(carry)} to go on from" if carry else "")


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} GB"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    left = len(names) - NAMES
    return ", ".join(names[:NAMES]) + (f" and {left:,} more" if left > 0 else "")


def _number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:#.3g}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{_some(list(map(_value, value)))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
