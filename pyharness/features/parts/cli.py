"""``pyharness plan``, ``work`` and ``merge``: a run in parts."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyharness.cli import usage
from pyharness.cli.console import check_output, complain, complain_of, formatted, show
from pyharness.cli.usage import Example
from pyharness.types import InputError, counted

if TYPE_CHECKING:
    from pyharness.features.parts.folder import PartDone


@click.command()
@click.argument("suite_name", metavar="SUITE|DIR", shell_complete=usage.suites)
@click.option("--parts", type=int, metavar="N", help="Number of parts of each text.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the run.")
@click.option("--script", type=click.Choice(["slurm", "parallel"]), help="Print a script that does the missing parts "
              "of DIR, a folder that has a plan.")  # fmt: skip
@click.option("--at-once", type=click.IntRange(1), metavar="K", help="Parts at a time, of each 1,000 [default: all].")
@click.option("--cost", is_flag=True, help="Show what the rest of DIR takes.")
@click.option("--workers", type=click.IntRange(1), metavar="W", help="Parts at a time, for --cost [default: 1].")
@click.option("--price", type=click.FloatRange(0), metavar="P", help="Price of an hour of a core, for --cost.")
def plan(
    suite_name: str, parts: int | None, output: Path | None, script: str | None, at_once: int | None, cost: bool,
    workers: int | None, price: float | None,
) -> None:  # fmt: skip
    """Divide the texts of a suite into parts, for many machines.

    \b
    pyharness plan suite.toml --parts 100 -o DIR      write DIR/plan.json
    pyharness plan DIR --script slurm --at-once 20    submit the missing parts
    pyharness plan DIR --cost --workers 20            time, memory and folder

    Every text must be files of "path:". Parts of JSON Lines and Parquet are of equal size. Anything compressed, and
    plain text, is divided between files. Then each "pyharness work DIR --part I" reads its share alone, and
    "pyharness merge DIR" writes the record: the numbers are those of one process, to the last bit.

    \b
    Exit status:
      0         planned, or printed
      2         bad input
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness import suite
    from pyharness.features.parts import costs, executors, planning

    if (workers is not None or price is not None) and not cost:
        raise InputError("--workers and --price are of --cost")
    if cost:
        if any(one is not None for one in (parts, output, script, at_once)):
            raise InputError("--cost is for a folder that has a plan: it takes --workers and --price alone")
        if price is not None and not math.isfinite(price):
            raise InputError(f"--price {price} is no price of an hour: write a number such as 0.05")
        check_output()
        told = costs.sheet(planning.opened(Path(suite_name)), workers or 1, price)
        show(formatted([told]))
        return
    if script is not None:
        if parts is not None or output is not None:
            raise InputError("--script is for a folder that has a plan: leave --parts and --output out")
        check_output()
        run = planning.opened(Path(suite_name))
        show(executors.SCRIPTS[script](run.folder.path, run.folder.missing(), at_once))
        return
    if parts is None or output is None or at_once is not None:
        raise InputError("a plan needs --parts N and --output DIR, and takes no --at-once (which belongs to --script)")
    run = planning.made(suite.read(suite.find(suite_name)), parts, output)
    folder = shlex.quote(str(output))
    complain(f"plan: {counted(parts, 'part')} of {counted(len(run.cases), 'case')} in {folder}")
    complain(f"next: pyharness work {folder} --part 0, and so on to {parts - 1}; then pyharness merge {folder}")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--part", "parts", type=int, multiple=True, required=True, metavar="I", help="A part; repeatable.")
def work(folder: Path, parts: tuple[int, ...]) -> None:
    """Do a part of a planned run.

    \b
    pyharness work DIR --part 3

    A part that is done is left alone, and a damaged one is done again. A case that fails is tried three times. To try
    again later, remove I.done.json. A part that another process is doing is left to it, and the others are done.

    \b
    Exit status:
      0         the part is done
      1         a case of it failed
      2         bad input, or another process is doing a part
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness.features.parts import planning, working

    run = planning.opened(folder)
    done: list[PartDone] = []

    def hear(part: PartDone, before: bool) -> None:
        done.append(part)
        for line in working.in_words(part, run.folder.plan.parts, before):
            complain(line)

    with working.lanes(run) as lanes:
        working.work(run, parts, hear, lanes)
    sys.exit(1 if any(one.failed for one in done) else 0)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Record to write.")
@click.option("--partial", is_flag=True, help="Leave out missing parts; every table says how many were read.")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no tables, only the record's name and errors.")
def merge(folder: Path, output: Path, partial: bool, force: bool, quiet: bool) -> None:
    """Add up the parts of a run and write its record.

    \b
    pyharness merge DIR -o record.json

    What is verified or timed is measured here, on the front of each text, as in any run.

    \b
    Exit status:
      0         everything was measured
      1         a part is missing, or a case failed
      2         bad input
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness import report
    from pyharness.cli.progress import listener
    from pyharness.features.parts import merging, planning

    if not quiet:
        check_output()
    merging.check_output(output, force)
    run = planning.opened(folder)
    try:
        with listener(quiet) as watching:
            record = merging.merge(run, output, watching, force=force, partial=partial)
    except merging.PartsMissing as missing:
        complain(f"error: {missing}")
        sys.exit(1)
    if not quiet:
        show(formatted(report.sheets(record)))
    complain(f"record: {output}")
    if reasons := dict.fromkeys(str(one.reason) for one in record.results if one.status == "failed"):
        complain_of(list(reasons))
        sys.exit(1)


COMMANDS = (plan, work, merge)
EXAMPLES = (Example("pyharness plan s.toml --parts 9 -o DIR", "a run in parts, on many machines", 95),)
