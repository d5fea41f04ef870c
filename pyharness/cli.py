"""The command line: parses and calls, no logic."""

from __future__ import annotations

import functools
import glob
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.profiling.record import ProfileRecord
    from pyharness.store import Record

RESULTS = "pyharness-results"
F = TypeVar("F", bound=Callable[..., Any])


def _reports_errors(command: F) -> F:
    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except InputError as error:
            for line in str(error).splitlines():
                _complain(f"error: {line}")
            sys.exit(2)
        except BrokenPipeError:  # the reader of a pipe, such as head, has gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)

    return wrapped  # type: ignore[return-value]


def _complain(line: str) -> None:
    """Write a line to standard error; what is in it must not drive the terminal."""
    from pyharness.report import visible

    click.echo(visible(line), err=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88})
@click.version_option(package_name="pyharness", prog_name="pyharness")
def main() -> None:
    """Measure tokenizers: speed, compression, distribution, fairness, integrity, dead tokens.

    \b
    pyharness run                                   the default suite, offline
    pyharness run -t deepseek -t mistral:v3 -c sample
    pyharness run -t file:./tokenizer.json -c path:corpus.jsonl
    pyharness list tokenizers                       what can be measured here
    pyharness profile entropy                       a kernel against this machine's roofs
    """


@main.command()
@click.argument("suite_name", metavar="[SUITE]", required=False)
@click.option("-t", "--tokenizer", "rows", multiple=True, metavar="SPEC", help="Measure this tokenizer; repeatable.")
@click.option("-c", "--corpus", "texts", multiple=True, metavar="SPEC", help="Measure on this text; repeatable.")
@click.option(
    "-b",
    "--benchmark",
    "chosen",
    multiple=True,
    metavar="NAME[?KEY=VALUE]",
    help="Run only this; repeatable.",
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]),
              help="Where pairs are counted and language models run [default: the suite's, or cpu].")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help=f"Record to write [default: in {RESULTS}/].")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
@click.option("--resume", is_flag=True, help="Continue an unfinished run: finished cases are kept.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no tables; the record and errors only.")
@_reports_errors
def run(
    suite_name: str | None,
    rows: tuple[str, ...],
    texts: tuple[str, ...],
    chosen: tuple[str, ...],
    device: str | None,
    output: Path | None,
    force: bool,
    resume: bool,
    quiet: bool,
) -> None:
    """Run a SUITE (a TOML file, or quick, full, engines), or the tokenizers and corpora given.

    Without arguments the suite "quick" runs: production tokenizers that travel inside installed packages, on the
    shipped sample and on text of your Python installation. Every tokenizer runs in processes of its own, its ids and
    round trips are verified before anything is timed, and all results go to one JSON record.

    \b
    Exit status: 0 measured, 1 some cases failed, 2 bad input, 130 interrupted
    (what was finished is kept: continue with --resume).
    A file that is there already is never overwritten without --force.
    """
    from pyharness import report, runner, session, store, suite
    from pyharness.progress import listener

    base = suite.read(suite.find(suite_name or suite.DEFAULT)) if suite_name or not rows else None
    plan = suite.plan(session.declare(rows, texts, [_benchmark(name) for name in chosen], base, device))
    path = output or _default_output(plan.suite.name, resume)
    store.check_output(path, force, resume)
    with listener(quiet) as watching:
        record = runner.run(plan, path, watching, resume)
    if not quiet:
        _print(report.to_text(report.tables(record), width=_width(), color=_color()))
    _complain(f"record: {path}")
    sys.exit(_status(record))


def _benchmark(text: str) -> dict[str, Any]:
    name, _, options = text.partition("?")
    found: dict[str, Any] = {"name": name}
    for pair in filter(None, options.split("&")):
        key, _, value = pair.partition("=")
        if key == "name":
            raise InputError(f"benchmark {text!r}: 'name' is no parameter; the name stands before the question mark")
        if key in found:
            raise InputError(f"benchmark {text!r} gives {key}= twice; give it once")
        listed = "," in value or key in ("tokenizers", "corpora")
        literal = str if key in ("tokenizers", "corpora") else _literal
        found[key] = [literal(one) for one in value.split(",")] if listed else literal(value)
    return found


def _literal(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    return int(value) if re.fullmatch(r"[0-9]{1,18}", value) else value


def _default_output(name: str, resume: bool) -> Path:
    folder = Path(RESULTS)
    if resume:
        journals = sorted(folder.glob(f"{glob.escape(name)}-{'[0-9]' * 8}-{'[0-9]' * 6}.json.journal"))
        if not journals:
            raise InputError(f"no unfinished run of suite {name!r} in {RESULTS}/; name its record with --output")
        return journals[-1].with_suffix("")
    return folder / f"{name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.json"


def _status(record: Record) -> int:
    failures = [result for result in record.results if result.status == "failed"]
    if any(result.details.get("failure") == "input" for result in failures):
        for reason in dict.fromkeys(r.reason for r in failures if r.details.get("failure") == "input"):
            _complain(f"error: {reason}")
        return 2
    return 1 if failures else 0


@main.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["table", "markdown", "html", "csv", "json", "parquet"]),
              default="table", show_default=True)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here instead of to standard output.")
@_reports_errors
def report(record: Path, form: str, output: Path | None) -> None:
    """Show a RECORD as tables, or as flat rows for other programs."""
    from pyharness import report as room
    from pyharness import store

    found = store.read(record)
    if form == "parquet":
        if output is None:
            raise InputError("Parquet is binary: name a file with --output")
        room.to_parquet(found, output)
        return
    text = {
        "table": lambda: room.to_text(room.tables(found), width=_width(), color=_color() and output is None),
        "markdown": lambda: room.to_markdown(room.tables(found)),
        "html": lambda: room.to_html(room.tables(found)),
        "csv": lambda: room.to_csv(found),
        "json": lambda: room.to_json(found),
    }[form]()
    if output is None:
        _print(text)
    else:
        store.write(output, text)


@main.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.argument("a")
@click.argument("b", required=False)
@click.option("--format", "form", type=click.Choice(["table", "markdown"]), default="table", show_default=True)
@_reports_errors
def compare(record: Path, a: str, b: str | None, form: str) -> None:
    """Compare two tokenizers of one record, or two records.

    \b
    pyharness compare RECORD TOKENIZER_A TOKENIZER_B
    pyharness compare RECORD_A RECORD_B

    Only metrics that the text determines are compared. Each difference B - A has a paired 95 % interval over the same
    documents; text that is not the same on both sides is refused.
    """
    from pyharness import comparison, store
    from pyharness import report as room

    first = store.read(record)
    differences = comparison.records(first, store.read(Path(a))) if b is None else comparison.rows(first, a, b)
    tables = room.difference_tables(differences)
    _print(room.to_markdown(tables) if form == "markdown" else room.to_text(tables, _width(), _color()))


@main.command(name="list")
@click.argument("kind", type=click.Choice(["tokenizers", "corpora", "metrics", "benchmarks", "suites"]))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_reports_errors
def list_(kind: str, as_json: bool) -> None:
    """List what can be named: tokenizers, corpora, metrics, benchmarks or suites."""
    import json

    from pyharness import catalogue
    from pyharness import report as room

    rows = catalogue.KINDS[kind]()
    if as_json:
        _print(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    columns = tuple(rows[0])
    cells = tuple(tuple(str(row[column] or "") for column in columns) for row in rows)
    _print(room.to_text([room.Table(kind, columns, cells)], _width(), _color()))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@_reports_errors
def env(as_json: bool) -> None:
    """Show what a record says about this machine."""
    import json

    from pyharness.environment import fingerprint

    found = fingerprint()
    if as_json:
        _print(json.dumps(found, indent=1) + "\n")
        return
    libraries = found.pop("libraries")
    for name, value in {**found, **libraries}.items():
        click.echo(f"{name:16} {value if value is not None else 'not installed'}")


@main.command()
@click.argument("kernel")
@click.option("--shape", "shapes", multiple=True, metavar="ROWSxV", help="A size of the work; repeatable.")
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="bf16, fp16 or fp32; repeatable.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="[default: cuda if there is a device]")
@click.option("--threads", type=int, metavar="N", help="Threads on the CPU [default: all cores].")
@click.option("-c", "--corpus", metavar="SPEC", help="Real text for pair_histogram; needs -t.")
@click.option("-t", "--tokenizer", metavar="SPEC", help="What encodes that text.")
@click.option("--max-seconds", type=float, metavar="S", help="Limit for each table [default: 15; on a CPU 12].")
@click.option("--once", is_flag=True, help="One launch per shape and no timing, for Nsight Compute.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Also write the JSON to this file.")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
@_reports_errors
def profile(
    kernel: str,
    shapes: tuple[str, ...],
    dtypes: tuple[str, ...],
    device: Any,
    threads: int | None,
    corpus: str | None,
    tokenizer: str | None,
    max_seconds: float | None,
    once: bool,
    as_json: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Time a KERNEL (entropy, linear_entropy or pair_histogram) against this machine's own memory and arithmetic.

    \b
    pyharness profile entropy
    pyharness profile entropy --shape 128x50257 --dtype bf16 --threads 2
    pyharness profile linear_entropy --shape 256x768x50257      ROWSxDxV
    pyharness profile pair_histogram --shape 1e7x50257          TOKENSxV
    pyharness profile pair_histogram -c path:corpus.jsonl -t mistral:v3

    Other libraries do the same work on the same data in turn with ours; each result is verified before anything is
    timed. The copy rate and the matrix rate are measured in the same run. The file that --output names is written anew
    after every problem: an interrupted run leaves what it had finished.

    \b
    Exit status: 0 measured, 1 our kernel failed on some shape, 2 bad input, 130 interrupted.
    """
    from pyharness import report, store
    from pyharness.profiling import plan, session

    wanted = plan.plan(kernel, shapes, dtypes, device or session.default_device(), threads, corpus, tokenizer)
    rule = session.rule_for(wanted.device, max_seconds)
    if once and (as_json or output is not None or max_seconds is not None):
        raise InputError("--once measures nothing: leave out --json, --output and --max-seconds")
    if output is not None:
        store.check_output(output, force)
        store.check_folder(output)

    def keep(so_far: ProfileRecord) -> None:
        if output is not None:
            store.write(output, so_far.to_json())

    with session.opened(wanted.device, wanted.threads) as opened:
        if once:
            sys.exit(0 if session.launch_once(wanted, opened, _complain) else 1)
        found = session.run(wanted, opened, rule, _complain, keep)
    _print(found.to_json() if as_json else report.to_text(report.profile_tables(found), _width(), _color()))
    sys.exit(1 if found.failed else 0)


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"  # an ASCII terminal cannot be given every name of a file
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _width() -> int:
    if sys.stdout.isatty():
        return max(60, os.get_terminal_size(sys.stdout.fileno()).columns)
    columns = os.environ.get("COLUMNS", "")
    return min(max(int(columns), 40), 1000) if re.fullmatch(r"[0-9]{1,9}", columns) else 80


def _color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


if __name__ == "__main__":
    main()
