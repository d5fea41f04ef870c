"""``pyharness history fill`` and ``find``, and what every command that asks for gates takes."""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pyharness.cli.console import complain, formatted, show
from pyharness.types import InputError, counted

if TYPE_CHECKING:
    from pyharness.features.history.measuring.filling import Filled
    from pyharness.features.history.measuring.gates import HistoryGates

BUDGET = "3%"  # of a gate that confirms
F = TypeVar("F", bound=Callable[..., Any])
DB = click.option("--db", metavar="PLACE", help="The history: a file, or the address of a database on PostgreSQL "
                  "[default: PYHARNESS_HISTORY, or pyharness-history.db].")  # fmt: skip
BRANCH = click.option("--branch", default="HEAD", show_default=True, metavar="NAME",
                      help="The branch whose first-parent line orders the revisions.")  # fmt: skip
EFFECT = click.option(
    "--effect", default="1.5%", metavar="PERCENT", show_default=True, help="Leave out smaller steps of times."
)
_OF_GATES = (
    click.option("--suite", metavar="SUITE", help="Benchmarks: a name or a TOML file [default: gate]."),
    click.option("--pytest", "tests", metavar="PATH", help="Run these tests, not a suite [default: a suite]."),
    click.option("--with", "requirements", multiple=True, metavar="REQ", help="Packages that the tests need."),
    click.option("--library", metavar="NAME", help="Library under test [default: the one that is built]."),
    click.option("--max-minutes", "minutes", metavar="M", help="Stop after so many minutes: a gate that is cut "
                 "short is not added [default: no limit]."),
    click.option("--no-cache", "cache", flag_value=False, default=True, help="Build revisions again."),
    click.option("--no-build-isolation", "isolated", flag_value=False, default=True,
                 help="Build with what is installed here."),
    click.option("--pass", "passed", multiple=True, metavar="NAME", help="Pass this variable to builds."),
)  # fmt: skip


def asks_for_gates(command: F) -> F:
    """Give a command the options of gates, as ``gates``: a mapping for ``gates_of``."""
    names = ("suite", "tests", "requirements", "library", "minutes", "cache", "isolated", "passed")

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return command(*args, gates={name: kwargs.pop(name) for name in names}, **kwargs)

    return functools.reduce(lambda one, option: option(one), reversed(_OF_GATES), wrapped)  # type: ignore[return-value]


def given(gates: Mapping[str, Any]) -> bool:
    """Whether an option of gates is not at its default."""
    return any(value not in (None, (), True) for value in gates.values())


@contextmanager
def gates_of(
    db: str | None, branch: str, gates: Mapping[str, Any], budget: str = BUDGET, declared: Path | None = None
) -> Iterator[HistoryGates]:
    """Make what runs gates of a command, with its progress display.

    Raises:
        InputError: an option is wrong, or this is no checkout.
    """
    from pyharness.features.gate import commands
    from pyharness.features.gate.builds.workshop import BuildOptions
    from pyharness.features.gate.cli import gate_listener, minutes, share
    from pyharness.features.gate.session import GateRequest
    from pyharness.features.gate.types import GateRules
    from pyharness.features.history.database import place_of
    from pyharness.features.history.measuring.gates import HistoryGates

    limit = minutes(gates["minutes"])
    deadline = math.inf if limit is None else time.monotonic() + 60 * limit
    options = {name: gates[name] for name in ("library", "requirements", "isolated", "cache", "passed")}
    rules = GateRules(budget=share(budget))
    asked = GateRequest("", "", gates["suite"], gates["tests"], rules, declared, build=BuildOptions(**options))
    if asked.tests is not None and asked.suite is not None:
        raise InputError("--pytest and --suite do not go together: leave one out")
    with gate_listener() as listener:
        yield HistoryGates(place_of(db), asked, lambda one: commands.gate(one, listener), branch, deadline)


@click.command()
@click.argument("wanted", metavar="RANGE")
@click.option("--anchor", required=True, metavar="REV", help="The revision that all are measured against.")
@click.option("--wheel", metavar="FILE", help="A wheel of the anchor, where it no longer builds [default: a build].")
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, metavar="N",
              help="Measure one in N revisions, from the oldest on, and the newest.")  # fmt: skip
@click.option("--launches", type=click.IntRange(2, 100), default=5, show_default=True, metavar="N",
              help="Launches of every benchmark.")  # fmt: skip
@click.option("--again", is_flag=True, help="Try revisions that gave no point before, too.")
@DB
@BRANCH
@asks_for_gates
def fill(
    wanted: str, anchor: str, wheel: str | None, every: int, launches: int, again: bool, db: str | None, branch: str,
    gates: Mapping[str, Any],
) -> None:  # fmt: skip
    """Run the gates that are missing in a RANGE, such as v1.0..main.

    The newest and the oldest come first, then the middle of the widest gap, again and again. Two fills at once do not
    measure the same revision. What is measured is added at once, so an interrupted fill goes on where it ended.

    \b
    Exit status:
      0  all were tried, or the time was over: what gave no point is listed
      2  the anchor does not build, or wrong usage
    """
    from pyharness.features.history.measuring.filling import FillRequest, revisions_of
    from pyharness.features.history.measuring.filling import fill as filled

    with gates_of(db, branch, gates) as running:
        if wheel is not None and not Path(wheel).is_file():
            raise InputError(f"--wheel {wheel!r} is no file: python -m pip wheel --no-deps . makes a wheel")
        commit = running.commit(anchor, "--anchor")
        asked = FillRequest(commit, running.checkout.subject(commit), wheel or "", launches, again)
        done = filled(running, asked, revisions_of(running, wanted, every), complain)
    show(_filled_in_words(done))


def _filled_in_words(done: Filled) -> str:
    from pyharness.report import visible  # what a build says may drive a terminal

    lines = [f"{counted(len(done.measured), 'revision')} measured, {len(done.gaps):,} without a point, "
             f"{done.left:,} left" + "; the time was over" * done.over]  # fmt: skip
    lines += [f"  {revision[:10]}: {visible(reason)}" for revision, reason in done.gaps.items()]
    return "\n".join([*lines, ""])


@click.command()
@click.argument("series", metavar="BENCHMARK")
@click.argument("wanted", metavar="[GOOD..BAD]", required=False)
@DB
@BRANCH
@EFFECT
@asks_for_gates
def find(
    series: str, wanted: str | None, db: str | None, branch: str, effect: str, gates: Mapping[str, Any]
) -> None:  # fmt: skip
    """Find the commit that changed the time of a BENCHMARK.

    Without GOOD..BAD, its largest growth in the history is searched. Each gate measures GOOD against the middle of what
    is left. What is found is confirmed against its parent.

    \b
    Exit status:
      0  the commit is found and confirmed
      2  cannot compare, or wrong usage
      3  no commit is found: the answer is a range
    """
    from pyharness.features.gate.cli import share
    from pyharness.features.history import report
    from pyharness.features.history.database import opened
    from pyharness.features.history.lines import history_of
    from pyharness.features.history.measuring import bisecting
    from pyharness.features.history.measuring.filling import revisions_of

    size = share(effect, "--effect")
    with gates_of(db, branch, gates) as running:
        if wanted is None:
            with opened(running.place) as database:
                history = history_of(database, size)
            ends = bisecting.bracket_of(history, bisecting.line_named(history, series, running.suite))
        else:
            good, dots, bad = wanted.partition("..")
            if not dots or bad.startswith("."):
                raise InputError(f"{wanted!r} is no range: write GOOD..BAD")
            ends = running.commit(good, "GOOD"), running.commit(bad, "BAD")
        revisions = [ends[0], *revisions_of(running, "..".join(ends))]
        search = bisecting.searched(running, series, revisions, complain)
        subject = running.checkout.subject(search.culprit) if search.culprit else ""
    show(formatted(report.search_sheets(search, subject)))
    sys.exit(0 if search.culprit else 2 if search.step is None else 3)
