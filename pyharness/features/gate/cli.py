"""``pyharness gate``."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyharness.cli.console import check_output, formatted, show, summarise
from pyharness.cli.usage import Example
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.features.gate.measurement.plan import GateListener
    from pyharness.features.gate.session import GateRequest
    from pyharness.features.gate.types import Gate


@contextmanager
def gate_listener() -> Iterator[GateListener]:
    """Pick the progress display that suits standard error, for a gate."""
    from pyharness.features.gate.measurement.plan import GateLines, GateStatus

    if not sys.stderr.isatty():
        yield GateLines()
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    with console.status("") as status:
        yield GateStatus(lambda line: status.update(escape(line)))


FORMATS = ["text", "markdown", "json"]
LARGEST_BUDGET = 10.0
_SHARE = re.compile(r"(\d{1,4}(?:\.\d{1,6})?)\s*(%?)", re.ASCII)
_FILE = click.Path(path_type=Path)
_OF_TWO_SIDES = (
    "head", "tests", "requirements", "counter", "declared", "strict", "output", "markdown", "junit", "form",
    "launches", "only",
)  # fmt: skip


def share(text: str, option: str = "--budget") -> float:
    """Read ``3%`` or ``0.03``.

    >>> share("2.5%"), share("0.1")
    (0.025, 0.1)

    Raises:
        InputError: it is no slowdown from 0 to ``LARGEST_BUDGET``, or a number from 1 on without "%".
    """
    match = _SHARE.fullmatch(text.strip())
    value = 0.0 if match is None else float(match[1]) / (100 if match[2] else 1)
    if match is not None and not match[2] and value >= 1:
        raise InputError(f"{option} {text!r} would be {value:.0%}; write {match[1]}% or {value / 100:g}")
    if not 0 < value <= LARGEST_BUDGET:
        raise InputError(f"{option} {text!r} is not a slowdown between 0 and {LARGEST_BUDGET:.0%}; write 3% or 0.03")
    return value


def minutes(text: str | None) -> float | None:
    """Read the limit of ``--max-minutes``; None: no limit.

    Raises:
        InputError: it is no finite number above 0.
    """
    if text is None:
        return None
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not 0 < limit < math.inf:
        raise InputError(f"--max-minutes {text!r} is not a time: write minutes above 0, such as 10 or 0.5")
    return limit


@click.command()
@click.option("--base", metavar="X", help="A git revision, PATH@REVISION, wheel, virtual environment or tokenizer.")
@click.option("--head", metavar="Y", help="The same. A dot is the working tree as it is.")
@click.option("--suite", metavar="SUITE", help="Benchmarks: a name or a TOML file [default: gate].")
@click.option("--pytest", "tests", metavar="PATH", help="Run these tests for pytest-benchmark, not a suite.")
@click.option(
    "--with", "requirements", multiple=True, metavar="REQ", help="Packages that the tests need; may be repeated."
)
@click.option("--library", metavar="NAME", help="Library under test [default: the one that is built, or that differs].")
@click.option("--budget", default="3%", metavar="PERCENT", show_default=True, help="Slowdown that is allowed.")
@click.option("--strict", is_flag=True, help="End with 3 where the verdict is inconclusive.")
@click.option("--launches", type=click.IntRange(2, 100), metavar="N",
              help="Launches of every benchmark, whatever the first shows: for a history [default: up to 10, of what "
              "looks changed].")  # fmt: skip
@click.option("--only", multiple=True, metavar="BENCHMARK", help="Measure this benchmark and the controls; may be "
              "repeated.")  # fmt: skip
@click.option("--max-minutes", "minutes", metavar="M",
              help="Stop after so many minutes: what was not measured is inconclusive, and a gate that still builds is "
              "incomparable [default: no limit].")  # fmt: skip
@click.option("--counter", type=click.Choice(["instructions"]), help="Count instructions as well, with valgrind: slow.")
@click.option("--declared", type=_FILE, metavar="FILE", help="Accept what it declares [default: gate.toml, if any].")
@click.option("--calibrate", is_flag=True, help="Measure the minimum detectable effect of this machine, and keep it.")
@click.option("-o", "--output", type=_FILE, help="Write a record with all raw samples.")
@click.option("--markdown", type=_FILE, help="Write a comment for a pull request.")
@click.option("--junit", type=_FILE, help="Write JUnit XML.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--no-cache", "cache", flag_value=False, default=True, help="Build revisions again.")
@click.option("--no-build-isolation", "isolated", flag_value=False, default=True,
              help="Build with what is installed here; dependencies come from the index.")  # fmt: skip
@click.option("--pass", "passed", multiple=True, metavar="NAME", help="Pass this variable to builds; may be repeated.")
@click.option("--force", is_flag=True, help="Replace files that exist, and measure even while another gate runs.")
def gate(**given: Any) -> None:
    """Fail if a new version is slower than an old one.

    \b
    pyharness gate --base main --head HEAD
    pyharness gate --base old.whl --head new.whl --budget 2% --strict
    pyharness gate --base tiktoken:cl100k_base --head native+tiktoken:cl100k_base
    pyharness gate --base HEAD~1 --head HEAD --pytest bench/speed
    pyharness gate --base HEAD --calibrate

    It also fails if memory grows, and for results or work that differ. Revisions are built before anything is timed,
    into equal environments. Base and head are interleaved; in a suite, each call gets new text. What looks slower is
    measured again in fresh processes before it is a regression. A build runs the code of its revision.

    \b
    Exit status:
      0  pass or improvement; inconclusive without --strict
      1  regression, or a gate.toml entry fails
      2  failed or incomparable, or wrong usage
      3  inconclusive, with --strict
    """
    from pyharness.features.gate import commands
    from pyharness.features.gate.builds.workshop import BuildOptions
    from pyharness.features.gate.session import GateRequest
    from pyharness.features.gate.types import BELOW_ALL, GateRules

    if given["base"] is None:
        raise InputError("--base is missing: name the version to compare with, such as main or HEAD~1")
    if given["calibrate"]:
        _check_alone(given)
    elif given["head"] is None:
        raise InputError("--head is missing: name the version to judge, such as HEAD or . for the working tree")
    outputs = {name: path for name in ("output", "markdown", "junit") if (path := given[name]) is not None}
    _check(outputs, force=given["force"])
    rules = GateRules(budget=share(given["budget"]), minutes=minutes(given["minutes"]), strict=given["strict"])
    if given["launches"] is not None:
        rules = replace(rules, launches=given["launches"], screen=BELOW_ALL)
    head = given["base"] if given["head"] is None else given["head"]  # "" is refused: it comes from an unset variable
    options = {name: given[name] for name in ("library", "requirements", "isolated", "cache", "passed")}
    asked = GateRequest(
        given["base"], head, given["suite"], given["tests"], rules, given["declared"],
        instructions=given["counter"] is not None, force=given["force"], build=BuildOptions(**options),
        only=given["only"],
    )  # fmt: skip
    if given["calibrate"]:
        _calibrate(asked)
        return
    with gate_listener() as listener:
        done = commands.gate(asked, listener)
    show(_write(done, outputs, given["form"], force=given["force"]))
    sys.exit(done.exit_code)


def _check_alone(given: Mapping[str, Any]) -> None:
    """Refuse options that a calibration has no use for: it has one version, prints a table, and gives no verdict."""
    options = {"tests": "pytest", "requirements": "with", "form": "format"}
    for name in _OF_TWO_SIDES:
        if given[name] not in (None, False, (), "text"):
            option = options.get(name, name)
            raise InputError(f"--calibrate measures --base against itself and prints a table: leave out --{option}")


def _calibrate(asked: GateRequest) -> None:
    from pyharness.features.gate.calibration import place
    from pyharness.features.gate.commands import calibrate
    from pyharness.features.gate.report import calibration_sheet

    with gate_listener() as listener:
        done = calibrate(asked, listener)
    show(formatted([calibration_sheet(done)]))
    show(f"Kept: {place(done.machine, done.suite_digest)}; pyharness report shows it.\n")


def _check(outputs: dict[str, Path], *, force: bool) -> None:
    from pyharness.system import atomic_file

    check_output()
    if len({path.resolve() for path in outputs.values()}) < len(outputs):
        raise InputError("--output, --markdown and --junit name one file: give each a name of its own")
    for path in outputs.values():
        atomic_file.check_writable(path, overwrite=force)


def _write(done: Gate, outputs: dict[str, Path], form: str, *, force: bool) -> str:
    """Write all outputs, and the summary of the CI step if there is one; return the text to print."""
    from pyharness.features.gate.records import dump_gate
    from pyharness.features.gate.report import gate_comment, gate_sheets, to_junit
    from pyharness.report import to_pull_request
    from pyharness.system import atomic_file

    comment = to_pull_request(gate_comment(done))
    record = dump_gate(done)
    texts = {"output": record, "json": record, "junit": to_junit(done), "markdown": comment}
    for name, path in outputs.items():
        atomic_file.write(path, texts[name], overwrite=force)
    summarise(comment)
    return formatted(gate_sheets(done)) if form == "text" else texts[form]


COMMANDS = (gate,)
EXAMPLES = (Example("pyharness gate --base main --head HEAD", "fail on a real regression", 90),)
