"""``pyharness report`` and ``pyharness compare``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from pyharness.cli import console, usage
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.report import Comment, Sheet
    from pyharness.report.comparison import Pair
    from pyharness.report.failures import FailOn
    from pyharness.report.page import Page, RecordFile
    from pyharness.report.record_kinds import Other, RecordKind
    from pyharness.store import Record

FORMATS = ["text", "markdown", "latex", "html", "csv", "json", "parquet", "table"]  # table: an old name of text
JUNIT = "junit"  # for records with verdicts
FOR_PROGRAMS = ("csv", "json", "parquet")
_FORMATS_IN_WORDS = "Tables (text, markdown, latex), a page (html), or a row per number (csv, json, parquet)"
_DEFAULT = "[default: by the suffix of --output, or text]"
_FORMAT = click.option("--format", "form", type=click.Choice(FORMATS), help=f"{_FORMATS_IN_WORDS} {_DEFAULT}.")
_OUTPUT = click.option("-o", "--output", type=click.Path(path_type=Path),
                       help="File to write instead of standard output.")  # fmt: skip
_FOR = click.option("--for", "reader", type=click.Choice(["pr"]),
                    help="Write a Markdown comment of at most 60 kB for a pull request. What matters is first; the "
                    "rest is folded. It is also appended to the file in GITHUB_STEP_SUMMARY.")  # fmt: skip
_FORCE = click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")


@click.command()
@click.argument("records", metavar="RECORD...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice([*FORMATS, JUNIT]),
              help=f"{_FORMATS_IN_WORDS}; junit for verdicts {_DEFAULT}.")  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Show every metric, not only those of the tables.")
@click.option("--list-dead", "listed", is_flag=True,
              help="List all unreachable tokens that the record names, not only ten of a row.")  # fmt: skip
@_FOR
@_OUTPUT
@_FORCE
@click.option("--rederive", is_flag=True, help="Compute every number again from the state file and show what differs.")
def report(
    records: tuple[Path, ...], form: str | None, every: bool, listed: bool, reader: str | None, output: Path | None,
    force: bool, rederive: bool,
) -> None:  # fmt: skip
    """Show a record as tables, as a page or as data.

    \b
    pyharness report RECORD
    pyharness report RECORD --format html -o report.html
    pyharness report MONDAY FRIDAY --format html -o both.html

    A RECORD is of a run, a profile or a gate. Several records of runs make one page. The first is the baseline of the
    others. In Markdown, a record with verdicts makes a pull-request comment. An existing file is never replaced
    without --force.

    \b
    Exit status of --rederive:
      0  every number is equal to the last bit
      1  a number differs or is missing
      2  the state file is missing, damaged or of another run
    """
    from pyharness import report as room
    from pyharness.report import comments, record_kinds
    from pyharness.report import page as pages

    console.check_target(output, force, records)
    form = _form("text" if rederive and form is None else form, output, reader)
    if len(records) > 1:
        if rederive:
            raise InputError("--rederive takes one record: name one")
        _report_several(records, form, output, force, every)
        return
    (record,) = records
    read = record_kinds.read(record)
    if isinstance(read, record_kinds.Other):
        _refuse_for_other(record, read.kind, form, rederive=rederive)
        _export_other(read, str(record), form, output, force)
        return
    if form == JUNIT:
        raise InputError(f"--format junit shows verdicts, and record {str(record)!r} has none: choose another --format")
    if rederive:
        _rederive(read, form, output, force)
    source = pages.RecordFile(record.name, read, record)
    export(
        lambda: room.sheets(read, every, listed), lambda: room.flat_sheet(read),
        str(record), form, output, force, lambda: pages.page_of([source], every),
        lambda: comments.record_comment(read, record.name, every, listed),
    )  # fmt: skip


def _form(form: str | None, output: Path | None, reader: str | None) -> str:
    """Return the given format, that of the output's suffix, or text; with ``--for``, that of a pull request.

    Raises:
        InputError: ``--for`` is given, and the format is not Markdown.
    """
    from pyharness.report import FORMATS_OF_SUFFIXES

    suffix = "" if output is None else output.suffix
    return console.for_a_pull_request(form or FORMATS_OF_SUFFIXES.get(suffix, "text"), reader)


def _report_several(paths: Sequence[Path], form: str, output: Path | None, force: bool, every: bool) -> None:
    """Write one page about several records."""
    from pyharness import store
    from pyharness.report import page as pages

    if form != "html":
        raise InputError("several records make a page: add -o PAGE.html, or name one record")
    if (lack := pages.lack()) is not None:
        raise InputError(f"a page of several records cannot be written: {lack}")
    sources = [pages.RecordFile(path.name, store.read(path), path) for path in paths]
    _put(pages.render(pages.page_of(sources, every)), output, force)


def _refuse_for_other(path: Path, kind: RecordKind, form: str, *, rederive: bool) -> None:
    """Refuse formats and options that do not apply to a file other than a run's record."""
    if rederive:
        raise InputError(f"{str(path)!r} is {kind.noun}: --rederive is for records of runs")
    if form == console.PULL_REQUEST and kind.comment is None:
        raise InputError(f"{str(path)!r} is {kind.noun}, which has no comment for a pull request: leave --for out")
    if form == JUNIT and form not in kind.texts:
        raise InputError(f"{str(path)!r} is {kind.noun}, which has no JUnit XML: choose another --format")


def _export_other(read: Other, title: str, form: str, output: Path | None, force: bool) -> None:
    from pyharness import report as room

    kind, content = read.kind, read.content
    comment = kind.comment
    if form in kind.texts:
        _put(kind.texts[form](content), output, force)
    elif form == "markdown" and comment is not None:
        _put(room.to_pull_request(comment(content)), output, force)
    else:
        export(
            lambda: kind.sheets(content), lambda: kind.rows(content), title, form, output, force,
            lambda: kind.page(content), None if comment is None else lambda: comment(content),
        )  # fmt: skip


def export(
    tables: Callable[[], Sequence[Sheet]], rows: Callable[[], Sheet], title: str, form: str, output: Path | None,
    force: bool, page: Callable[[], Page], comment: Callable[[], Comment] | None = None,
) -> None:  # fmt: skip
    """Write tables for people or rows for programs; ``page``: for HTML, ``comment``: for a pull request."""
    from pyharness import report as room

    if form == console.PULL_REQUEST and comment is not None:
        text = room.to_pull_request(comment())
        _put(text, output, force)
        console.summarise(text)
        return
    if form == "parquet":
        if output is None:
            raise InputError("Parquet is binary: name a file with --output")
        room.to_parquet(rows(), output, overwrite=force)
        return
    text = {
        "text": lambda: room.to_text(tables(), width=console.width(), color=console.color() and output is None),
        "markdown": lambda: room.to_markdown(tables()), "latex": lambda: room.to_latex(tables()),
        "html": lambda: _page(page, tables, title),
        "csv": lambda: room.to_csv(rows()), "json": lambda: room.to_json(rows()),
    }["text" if form == "table" else form]()  # fmt: skip
    _put(text, output, force)


def _page(page: Callable[[], Page], tables: Callable[[], Sequence[Sheet]], title: str) -> str:
    """Return a page; without the library that draws charts, a page of only tables, and report that."""
    from pyharness import report as room
    from pyharness.report import page as pages

    if (lack := pages.lack()) is not None:
        console.complain(lack)
        return room.to_page(tables(), title)
    return pages.render(page())


def _put(text: str, output: Path | None, force: bool) -> None:
    from pyharness.system import atomic_file

    if output is None:
        console.show_in_pager(text)
    else:
        atomic_file.write(output, text, overwrite=force)


def _rederive(record: Record, form: str, output: Path | None, force: bool) -> NoReturn:
    from pyharness.commands import rederivation

    if form not in ("text", "table"):
        raise InputError(f"--rederive prints lines of text, not {form}: leave --format out")
    outcome = rederivation.rederive(record)
    _put("".join(f"{line}\n" for line in rederivation.lines(outcome)), output, force)
    sys.exit(1 if outcome.differs else 0)


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.argument("a", metavar="BASELINE", shell_complete=usage.rows_of_record)
@click.argument("others", metavar="[CANDIDATE]...", nargs=-1, shell_complete=usage.rows_of_record)
@click.option("--fail-on", type=click.Choice(["worse", "any"]),
              help="Fail where B is worse, or where anything differs. See exit status.")  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Show every number that differs.")
@_FORMAT
@_FOR
@_OUTPUT
@_FORCE
def compare(
    record: Path, a: str, others: tuple[str, ...], fail_on: FailOn | None, form: str | None, reader: str | None,
    output: Path | None, force: bool, every: bool,
) -> None:  # fmt: skip
    """Compare rows of one record, or two records.

    \b
    pyharness compare RECORD BASELINE CANDIDATE [CANDIDATE ...]
    pyharness compare BASELINE_RECORD CANDIDATE_RECORD

    A is the baseline and B the candidate. The output begins with a summary. Then it shows what is worse, better or
    inconclusive. --all shows the other differences too.

    Differences have paired 95 % CIs over the same documents. Different text on the two sides is refused. With too few
    documents for a CI, a signed-rank test of at least 6 documents judges bytes/token and similar metrics. A primary
    metric that nothing judges is inconclusive. Times are compared within one record. They have a CI and a verdict if
    the rows took turns (rounds=10 of a benchmark).

    --fail-on adds a line for each reason, what is worse first. Ids that differ are always named, with the first
    document. They fail under "any". Of two records, they also fail under "worse" if the row
    claims one vocabulary in both.

    \b
    Exit status of --fail-on, the first of 1, 2, 3 that applies:
      0  nothing fails
      1  something fails
      2  a case has no counterpart, or nothing can be compared
      3  a primary metric looks worse and could not be judged
    """
    from pyharness import report as room
    from pyharness import store
    from pyharness.report import comments, comparison
    from pyharness.report import page as pages

    console.check_target(output, force, [record] if others else [record, Path(a)])
    form = _form(form, output, reader)
    first = store.read(record)
    title = f"{record.name}: {' and '.join((a, *others))}" if others else f"{record.name} and {Path(a).name}"
    sources = [pages.RecordFile(record.name, first, record)]
    if others:
        pairs = comparison.pairs_of_rows(first, a, *others)
    else:
        if a in first.data.get("tokenizers", ()) and not Path(a).exists():
            raise InputError(f"rows of one record are compared in pairs: name a candidate after {a!r}")
        sources.append(pages.RecordFile(Path(a).name, store.read(Path(a)), Path(a)))
        pairs = comparison.pairs_of_records(first, sources[1].record)
    if fail_on is not None:
        _gate(pairs, fail_on, title, sources, form, output, force, every)
    differences = comparison.some(comparison.differences(pairs))
    export(
        lambda: room.difference_sheets(differences, every),
        lambda: room.flat_differences(differences),
        title, form, output, force, lambda: pages.page_of_pairs(title, pairs, sources),
        comment=lambda: comments.comparison_comment(differences, title),
    )  # fmt: skip


def _gate(
    pairs: Sequence[Pair], fail_on: FailOn, title: str, sources: Sequence[RecordFile],
    form: str, output: Path | None, force: bool, every: bool,
) -> NoReturn:  # fmt: skip
    """Show a comparison, and exit with its status even if the reader stops early."""
    from pyharness import report as room
    from pyharness.report import comments, failures
    from pyharness.report import page as pages

    judged = failures.judge(pairs, fail_on)
    try:
        export(
            lambda: [*room.difference_sheets(judged.differences, every), judged.sheet],
            lambda: room.flat_differences(judged.differences),
            title, form, output, force, lambda: pages.page_of_pairs(title, pairs, sources, [judged.sheet]),
            comment=lambda: comments.comparison_comment(judged.differences, title, judged),
        )  # fmt: skip
    except BrokenPipeError:
        console.discard_output()
    if output is not None or form in FOR_PROGRAMS:
        for line in judged.lines:
            console.complain(line)
    sys.exit(judged.exit_code)


COMMANDS = (report, compare)
