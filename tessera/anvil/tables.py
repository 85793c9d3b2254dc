"""How Anvil's answers look in a terminal: rich renderables, made from finished numbers.

Computes nothing but the lengths of bars; prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from critic.review import Verdict
from tessera.anvil.calibrate import LEAST_RIGHT, Replay
from tessera.anvil.classes import Class, Classes
from tessera.anvil.stats import Rates, Stats
from tessera.records import Claim, History, Recollection
from tessera.statistics import Rate

EIGHTHS = " ▏▎▍▌▋▊▉█"
STEPS = "▁▂▃▄▅▆▇█"
STYLES = {"PASS": "green", "FAIL": "red", "BLOCKED": "yellow"}
CLASS_STYLES = {
    Class.LOCAL: ("local-solvable", "green"),
    Class.HINT: ("hint-solvable", "cyan"),
    Class.CAPACITY: ("capacity", "magenta"),
    Class.HARD: ("hard", "red"),
    Class.OPEN: ("open", "bright_black"),
    Class.INFRASTRUCTURE: ("infrastructure", "yellow"),
}
BAR = 12
TOP = 10
DAYS = 40


def bar(share: float, width: int) -> str:
    """A bar of `share` (0 to 1) of the width, to an eighth of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    return "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")


def sparkline(values: Sequence[int]) -> str:
    """One character a value, the highest as high as the line; a dot for none."""
    most = max(values, default=0)
    return "".join(STEPS[(v * (len(STEPS) - 1)) // most] if v else "·" for v in values)


def stats_view(stats: Stats) -> RenderableType:
    """All of `tessera anvil stats`."""
    if not stats.claims:
        return Text("Anvil is empty: no attempt was recorded yet.")
    parts: list[RenderableType] = [
        Text(f"{stats.claims:,} claims in {stats.all.final.of + stats.all.blocked:,} dispatches"),
        _rates_table(stats),
    ]
    if stats.classes.patterns:
        parts += [_classes_table(stats.classes), _time_table(stats.classes)]
    parts.append(_seats_table(stats))
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _rates_table(stats: Stats) -> Table:
    table = _table("Passed", "", "rate", "of", "interval", "blocked")
    rows: list[tuple[str, Rates]] = [
        ("all", stats.all),
        ("cold start", stats.cold_start),
        ("with history", stats.with_history),
    ]
    for name, rates in rows:
        blocked = str(rates.blocked or "–")
        table.add_row(f"{name}, first try", *_rate(rates.first_try), blocked)
        table.add_row(f"{name}, in the end", *_rate(rates.final), "")
    return table


def _rate(found: Rate, width: int = BAR) -> tuple[Text, str, str, str]:
    if found.rate is None or found.interval is None:
        return Text(" " * width), "–", "0", "–"
    low, high = found.interval
    drawn = Text(bar(found.rate, width).ljust(width), "green")
    return (
        drawn,
        f"{found.rate:.0%}",
        f"{found.passed} of {found.of}",
        f"{100 * low:.0f}–{100 * high:.0f} %",
    )


def _classes_table(classes: Classes) -> Table:
    table = _table("Pattern", "cases", "", "mostly", "solved by")
    most = classes.patterns[0].cases
    for entry in classes.patterns[:TOP]:
        name, style = CLASS_STYLES[entry.kind]
        bars = Text()
        for kind, (_, colour) in CLASS_STYLES.items():
            bars.append("█" * round(BAR * entry.counts[kind] / most), colour)
        solvers = ", ".join(f"{seat} {n}" for seat, n in entry.solved_by.most_common())
        table.add_row(entry.pattern, str(entry.cases), bars, Text(name, style), solvers or "–")
    if len(classes.patterns) > TOP:
        table.caption = f"and {len(classes.patterns) - TOP} more"
    return table


def _time_table(classes: Classes) -> Table:
    days = list(classes.by_day.items())[-DAYS:]
    table = _table("Class", "cases", f"{days[0][0]} … {days[-1][0]}")
    for kind, (name, style) in CLASS_STYLES.items():
        values = [counts[kind] for _, counts in days]
        if sum(values):
            table.add_row(Text(name, style), str(sum(values)), Text(sparkline(values), style))
    return table


def _seats_table(stats: Stats) -> Table:
    table = _table("Seat", "passed", "failed", "blocked", "tokens in", "tokens out", "US dollars")
    for seat, sums in stats.seats.items():
        table.add_row(
            seat.value,
            *(str(sums.verdicts[verdict]) for verdict in Verdict),
            f"{sums.tokens_in:,}",
            f"{sums.tokens_out:,}",
            f"{sums.cost_usd:,.4f}",
        )
    return table


def recollection_view(found: Recollection) -> RenderableType:
    """What `tessera anvil recall` knows."""
    parts: list[RenderableType] = [_history_line(found.history)]
    parts += [
        Text(f"  {entry.pattern}  ×{entry.count}  {entry.root_cause or ''}".rstrip())
        for entry in found.history.patterns[:TOP]
    ]
    parts.append(Text(f"hint: {found.hint}" if found.hint else "hint: none"))
    signal = found.signal
    counted = f"{signal.failures} of {signal.threshold} failures"
    named = f" with {signal.pattern}" if signal.pattern else ""
    state = "fired" if signal.fired else "not fired"
    parts.append(Text(f"calibration signal: {state} ({counted}{named})"))
    if found.skip:
        parts.append(Text(f"skip: {found.skip.why}", "yellow"))
    return Group(*parts)


def _history_line(history: History) -> Text:
    return Text(
        f"{history.total} claims: {history.passed} passed, {history.failed} failed, "
        f"{history.blocked} blocked"
    )


def history_table(total: int, claims: Iterable[Claim], offset: int) -> RenderableType:
    """A page of claims."""
    table = _table("When", "target", "task", "seat", "attempt", "verdict", "pattern")
    shown = 0
    for claim in claims:
        shown += 1
        table.add_row(
            (claim.at or "")[:19].replace("T", " "),
            claim.target,
            claim.task,
            claim.seat.value,
            str(claim.attempt or ""),
            Text(claim.verdict.value, STYLES[claim.verdict]),
            claim.error_pattern or claim.blocked_kind or "",
        )
    first = offset + 1 if shown else offset
    return Group(table, Text(f"{first}–{offset + shown} of {total} claims", "bright_black"))


def replay_table(replays: Iterable[Replay], chosen: Replay | None) -> RenderableType:
    """What each threshold would have done."""
    table = _table("At", "fired", "", "right", "of", "interval", "saved", "lost", "frontier")
    for found in replays:
        style = "bold" if chosen and found.threshold == chosen.threshold else None
        table.add_row(
            str(found.threshold),
            str(found.fired),
            *_rate(found.right, 6),
            str(found.saved),
            str(found.lost),
            f"{found.frontier_calls}, {found.extra_calls} new",
            style=style,
        )
    legend = Text(
        "at: failures with one pattern · fired: dispatches cut short · right: local went on failing"
        "\nsaved: local attempts · lost: local passes · frontier: calls, new ones among them",
        "bright_black",
    )
    if chosen is None or chosen.right.interval is None:
        words = (
            f"No threshold is right {LEAST_RIGHT:.0%} of the time for sure: "
            "too little history yet, or too mixed. Keep the one you have."
        )
    else:
        low, high = chosen.right.interval
        words = f"Recommended: {chosen.threshold} (right {low:.0%} to {high:.0%} of the time)."
    return Group(table, legend, Text(words))


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, no_wrap=True)
    return table
