"""``pyharness run``."""

from __future__ import annotations

import re
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyharness.cli import usage
from pyharness.cli.console import check_output, complain, complain_of, formatted, show, show_json
from pyharness.system import lifeline
from pyharness.types import Failure, InputError

if TYPE_CHECKING:
    from pyharness.store import Journal, Record
    from pyharness.suite import Suite

RESULTS = "pyharness-results"


@click.command()
@click.argument("suite_name", metavar="[SUITE]", required=False, shell_complete=usage.suites)
@click.option("-t", "--tokenizer", "rows", multiple=True, metavar="[NAME=]SPEC", shell_complete=usage.tokenizers,
              help="Measure this tokenizer and call it NAME; repeatable [default: the suite's].")  # fmt: skip
@click.option("-c", "--corpus", "texts", multiple=True, metavar="[NAME=]SPEC", shell_complete=usage.corpora,
              help="Measure on this text and call it NAME; repeatable [default: the suite's, or sample].")  # fmt: skip
@click.option(
    "-b", "--benchmark", "chosen", multiple=True, metavar="NAME[?KEY=VALUE]", shell_complete=usage.benchmarks,
    help="Run only this benchmark; repeatable [default: the suite's, or six common ones].",
)  # fmt: skip
@click.option("--reference", metavar="NAME", help="Row that NSL and ratios are relative to [default: the suite's, "
              "or none].")  # fmt: skip
@click.option("--device", type=click.Choice(["cpu", "cuda"]),
              help="Where pairs are counted and language models run [default: the suite's, or cpu].")  # fmt: skip
@click.option("--memory-limit", "memory", metavar="SIZE",
              help="Memory limit of a case, such as 4GB [default: the suite's, or 3/4 of what is free].")  # fmt: skip
@click.option("--max-bytes", metavar="SIZE", help="Read at most this much of each text, such as 20MB, in whole "
              "documents. A smaller max_bytes= of a corpus applies [default: all].")  # fmt: skip
@click.option("--time-limit", "limit", metavar="TIME", help="Begin no case after this time, such as 10m or 2h. "
              "--resume runs the rest [default: no limit].")  # fmt: skip
@click.option("--parts", type=click.IntRange(1), metavar="N", help="Read each text in N parts, each kept once it is "
              "read: --resume loses no more than a part. Needs --output [default: in one go].")  # fmt: skip
@click.option("--until", metavar="WIDTH", help="Stop once bytes per token, relative to the reference row, are known "
              "within WIDTH, such as 2%. Needs hundreds of --parts, 0.5% thousands [default: read all].")  # fmt: skip
@click.option("--on", "where", metavar="NAME[:ADDRESS]", help="Who reads the parts: this machine, or ray, or a cluster "
              "ray:HOST:PORT [default: local].")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help=f"Record to write [default: in {RESULTS}/].")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
@click.option("--resume", is_flag=True, help="Continue an unfinished run. Finished cases are kept.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would run, on how much text and about how long. Write nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Write the plan of --dry-run as JSON.")
@click.option("--traceback", "tracebacks", is_flag=True, help="Show where in the code a failure happened.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no tables, only the record's name and errors.")
def run(
    suite_name: str | None, rows: tuple[str, ...], texts: tuple[str, ...], chosen: tuple[str, ...],
    reference: str | None, device: str | None, memory: str | None, max_bytes: str | None, limit: str | None,
    parts: int | None, until: str | None, where: str | None, output: Path | None, force: bool, resume: bool,
    dry_run: bool, as_json: bool, tracebacks: bool, quiet: bool,
) -> None:  # fmt: skip
    """Measure tokenizers on texts and write a record.

    \b
    pyharness run                                       the suite "quick", offline
    pyharness run -t deepseek -t mistral:v3 -c sample
    pyharness run -t new=file:./tokenizer.json -c path:books.jsonl -b compression
    pyharness run my-suite.toml -o nightly.json

    SUITE is a TOML file or a name of "pyharness list suites". Without SUITE and tokenizers, the suite "quick" runs. It
    has production tokenizers from installed packages. Its texts are the sample and text of your Python installation.

    Each tokenizer runs in processes of its own. Its ids and round trips are verified before anything is timed. All
    results go to one record. The record's file is never replaced without --force.

    \b
    Exit status:
      0         everything was measured
      1         a case failed or was not begun in time, or nothing was measured
      2         bad input; if a case finds it, the record has the other cases
      129, 130, 143
                hung up, interrupted, terminated
    Finished cases are kept. The last line says how to go on.
    """
    from pyharness import suite
    from pyharness.cli.progress import listener
    from pyharness.corpora.options import size
    from pyharness.running import runner
    from pyharness.running.progress import Deadline

    if as_json and not dry_run:
        raise InputError("--json needs --dry-run; for the numbers of a run, use pyharness report --format json")
    if parts is not None and (output is None or limit is not None or dry_run or tracebacks):
        raise InputError("--parts needs --output, and knows no --time-limit, --dry-run or --traceback")
    if parts is None and (where, until) != (None, None):
        raise InputError("--on and --until are about parts: give their number with --parts")
    deadline = None if limit is None else Deadline.after(limit)
    if not quiet:
        check_output()
    named = suite.DEFAULT if suite_name is None else suite_name
    base = suite.read(suite.find(named)) if suite_name is not None or not rows else None
    if max_bytes is not None:
        size("--max-bytes", max_bytes)
    declared = suite.declare(rows, texts, chosen, base, device, memory, max_bytes, reference)
    if resume and (finished := _find_finished(declared, output)) is not None:
        shares = [text["parts"] for text in finished.data["corpora"].values() if "parts" in text]
        if shares and until is None:
            read = f"{shares[0]['read']:,} of {shares[0]['of']:,} parts, which are no longer kept"
            raise InputError(f"{str(finished.path)!r} has {read}: choose another --output to read them all")
        anew = "; to measure it again, leave --resume out" if force else ""
        complain(f"{finished.path} is finished: nothing is left to resume{anew}")
        if parts is not None and output is not None:
            _executor(where).clear(output)
        sys.exit(_status(finished))
    if dry_run:
        _foresee(declared, output, force, resume, as_json=as_json)
        return
    if parts is not None and output is not None:
        _end(_in_parts(_executor(where), declared, parts, output, force, resume, quiet, until), output, quiet)
        return
    with _claim(declared.name, output, force, resume) as journal, listener(quiet) as watching:
        try:
            plan = suite.plan(declared, watching.preparing)
            record = runner.run(plan, journal, watching, resume, tracebacks, deadline)
        except (KeyboardInterrupt, lifeline.Ended) as end:
            if journal.resumable:
                end.add_note(_to_go_on(journal.record, output))
            raise
    for result in record.results if tracebacks else ():
        for line in str(result.details.get("traceback", "")).splitlines():
            complain(line)
    late = "" if record.data["complete"] else f"time limit of {limit} reached; {_to_go_on(journal.record, output)}"
    _end(record, journal.record, quiet, late)


def _end(record: Record, path: Path, quiet: bool, late: str = "") -> None:
    """Show a record, say where it is and what comes next, and exit."""
    from pyharness import report

    if not quiet:
        show(formatted(report.sheets(record)))
    complain(f"record: {path}")
    if not quiet and not late:
        page = shlex.quote(str(path.with_suffix(".html")))
        complain(f"next: pyharness report {shlex.quote(str(path))} \\")
        complain(f"  --format html -o {page}")
    if late:
        complain(late)
    sys.exit(_status(record))


def _in_parts(
    executor: Any, declared: Suite, parts: int, output: Path, force: bool, resume: bool, quiet: bool, until: str | None
) -> Record:
    """Run a suite in parts."""
    from pyharness.cli.progress import listener
    from pyharness.system.child_process import ChildDied

    how = {"force": force, "resume": resume, "quiet": quiet} | ({} if until is None else {"until": until})
    try:
        with listener(quiet) as watching:
            record: Record = executor.run(declared, parts, output, watching, complain, **how)
            return record
    except (KeyboardInterrupt, lifeline.Ended) as end:
        end.add_note(_to_go_on(output, output))
        raise
    except ChildDied as death:
        complain(f"error: the process that has the parts done {death}")
        complain(_to_go_on(output, output))
        sys.exit(1)


def _foresee(declared: Suite, output: Path | None, force: bool, resume: bool, *, as_json: bool) -> None:
    """Say what a run would do, or why it would be refused."""
    from pyharness import store
    from pyharness.commands import dry_run
    from pyharness.system import atomic_file

    record = _find_unfinished(declared.name) if resume and output is None else output
    if record is not None:
        atomic_file.check(record, overwrite=force or store.journal_of(record).exists())
    run = dry_run.foresee(declared, record, resume=resume)
    if as_json:
        show_json(asdict(run))
    else:
        show(formatted(dry_run.sheets(run)))


def _executor(where: str | None) -> Any:
    """Return who runs parts, of the feature that offers it; raise ``InputError`` for an unknown name."""
    from pyharness.plugins import registry

    every = registry.of_features("pyharness.running", "EXECUTORS")
    if not every:
        raise InputError("this pyharness cannot run in parts: leave --parts out")
    name, _, address = (where or "local").partition(":")
    if name not in every:
        raise registry.suggest("value of --on", name, every)
    return every[name].at(address)


def _to_go_on(record: Path, output: Path | None) -> str:
    """Return a line with the command that continues this run."""
    words = [click.get_current_context().command_path, *map(shlex.quote, sys.argv[2:])]
    words += [] if output is not None else ["-o", shlex.quote(str(record))]
    return f"go on with: {' '.join(words if '--resume' in words else [*words, '--resume'])}"


def _claim(name: str, output: Path | None, force: bool, resume: bool) -> Journal:
    """Claim the record's name; without ``output``, a new one in the default folder, or to resume, an unfinished run's.

    Raises:
        InputError: the name is taken, nothing can be written there, or there is no unfinished run to resume.
    """
    from pyharness.store import Journal

    if output is not None or resume:
        return Journal(output or _find_unfinished(name), overwrite=force, resume=resume)
    return Journal.of_a_new_name(Path(RESULTS), f"{name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}")


def _find_unfinished(name: str) -> Path:
    """Return the record path of a suite's latest unfinished run; raise ``InputError`` without one."""
    if (journal := _latest(name, ".json.journal")) is None:
        raise InputError(f"no unfinished run of suite {name!r} in {RESULTS}/; name its record with --output")
    return journal.with_suffix("")


def _latest(name: str, ending: str) -> Path | None:
    """Return the file with this ending of a suite's latest run in the default folder, or None."""
    form = re.compile(rf"{re.escape(name)}-([0-9]{{8}}-[0-9]{{6}})(?:-([0-9]{{1,9}}))?{re.escape(ending)}")
    folder = Path(RESULTS)
    runs = [
        (match[1], int(match[2] or 1), path)
        for path in (folder.iterdir() if folder.is_dir() else ())
        if (match := form.fullmatch(path.name))
    ]
    return max(runs)[2] if runs else None


def _find_finished(declared: Suite, output: Path | None) -> Record | None:
    """Return the record of this run if it is finished, and no run of its name is unfinished; otherwise None."""
    from pyharness import store

    if output is None and _latest(declared.name, ".json.journal") is not None:
        return None
    record = _latest(declared.name, ".json") if output is None else output
    if record is None or not record.is_file() or store.journal_of(record).exists():
        return None
    try:
        read = store.read(record)
    except InputError:  # another file of this name
        return None
    return read if read.data["complete"] and read.data["suite"].get("digest") == declared.digest else None


def _status(record: Record) -> int:
    failures = [result for result in record.results if result.status == "failed"]
    if any(result.failure is Failure.INPUT for result in failures):
        complain_of(list(dict.fromkeys(str(r.reason) for r in failures if r.failure is Failure.INPUT)))
        return 2
    if not failures and record.data["complete"] and (reasons := _nothing(record)):
        complain(f"error: nothing was measured: {'; '.join(reasons[:3])}")
        return 1
    return 1 if failures or not record.data["complete"] else 0


def _nothing(record: Record) -> list[str]:
    """Return why a run without failures has no number of a requested benchmark; empty where it has one."""
    names = {one["name"] for one in record.data["suite"]["benchmarks"]}
    chosen = [result for result in record.results if result.case.benchmark in names]
    if any(measurement.value is not None for result in chosen for measurement in result.measurements):
        return []
    reasons = [result.reason or "it has no numbers" for result in chosen]
    reasons += [one.reason for result in chosen for one in result.measurements if one.reason]
    return list(dict.fromkeys(reasons)) or ["there were none"]


COMMANDS = (run,)
