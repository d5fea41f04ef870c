"""``pyharness history``: add, rebuild, report, check."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyharness.cli.console import check_output, check_target, formatted, show, summarise
from pyharness.cli.usage import Example
from pyharness.features.history.gate_cli import BRANCH, BUDGET, DB, EFFECT, asks_for_gates, fill, find, gates_of, given
from pyharness.types import InputError, counted

if TYPE_CHECKING:
    from pyharness.features.history.database import Added, Place
    from pyharness.features.history.lines import History

FORMATS = ["text", "markdown", "html", "csv", "json"]
_FILE = click.Path(path_type=Path)


@click.group()
def history() -> None:
    """Find what became slower over months, and since when.

    \b
    pyharness gate --base ANCHOR --head HEAD --launches 5 -o gate.json
    pyharness history add gate.json
    pyharness history check --confirm
    pyharness history report
    pyharness history fill --anchor v1.0 v1.0..main
    pyharness history find encode

    Every revision is measured against one anchor. Steps are found by ranks: docs/history.md.
    """


@history.command()
@click.argument("records", metavar="RECORD...", nargs=-1, required=True)
@DB
@BRANCH
@click.option("--revision", default="", metavar="COMMIT", help="The commit measured, for records that name none.")
def add(records: tuple[str, ...], db: str | None, branch: str, revision: str) -> None:
    """Add records of gates and runs, or other histories.

    Adding twice adds once. Records of one command are added together, or none of them. Revisions are placed on the
    branch as far as this clone knows it.
    """
    from pyharness.features.history import collecting
    from pyharness.features.history.database import opened, place_of
    from pyharness.features.history.places import branch_line

    place, line = place_of(db), branch_line(Path(), branch)
    files, histories = _parted(records)
    commit = _full(revision)
    entries = [collecting.read(file, commit) for file in files]
    others = []
    for other in histories:
        if other == place or _is_same(other, place):
            raise InputError(f"{str(other)!r} is the history itself: name another one")
        with opened(other) as read:  # what is refused is refused before anything is made
            others.append(read.contents())
    with opened(place, create=True) as database:
        added = database.add(entries, line, others)
    show(f"{place}: {_in_words(added)}\n")


def _parted(records: tuple[str, ...]) -> tuple[list[Path], list[Place]]:
    """Return the files of records, and the places of histories."""
    from pyharness.features.history.database import is_history
    from pyharness.features.history.servers import is_address, server_place

    addresses = [record for record in records if is_address(record)]
    paths = [Path(record) for record in records if record not in addresses]
    histories: list[Place] = [path for path in paths if is_history(path)]
    files = [path for path in paths if path not in histories]
    return files, [*histories, *(server_place(address, "RECORD") for address in addresses)]


def _is_same(one: Place, other: Place) -> bool:
    return isinstance(one, Path) and isinstance(other, Path) and other.exists() and one.samefile(other)


def _full(revision: str) -> str:
    """Return the commit that ``--revision`` names: a whole id as it is, else as this checkout knows it."""
    from pyharness.features.history.collecting import is_commit

    if not revision or is_commit(revision):
        return revision
    if (commit := _known_here(revision)) is None:
        raise InputError(f"--revision {revision!r} names no commit here: give its whole id, or run it in the checkout")
    return commit


def _known_here(revision: str) -> str | None:
    """Return the commit that a revision names in this checkout, or None."""
    from pyharness.features.gate.builds.checkouts import Checkout

    checkout = Checkout.around(Path())
    return None if checkout is None else checkout.commit(revision)


def _in_words(added: Added) -> str:
    words = [f"{counted(added.new, 'record')} added", f"{added.known:,} known"]
    if added.waiting:
        words.append(f"{counted(added.waiting, 'revision')} not on the line yet")
    if gone := added.rewritten:
        words.append(f"{counted(len(gone), 'revision')} kept that a rewritten branch has left: {gone[0][:10]}")
    return ", ".join(words)


@history.command()
@DB
@BRANCH
def rebuild(db: str | None, branch: str) -> None:
    """Make all tables again from the records, after an update."""
    from pyharness.features.history.database import opened, place_of
    from pyharness.features.history.places import branch_line

    place = place_of(db)
    with opened(place, any_schema=True) as database:
        count = database.rebuild(branch_line(Path(), branch))
    show(f"{place}: made again of {counted(count, 'record')}\n")


@history.command()
@DB
@EFFECT
@click.option("--format", "form", type=click.Choice(FORMATS), help="[default: by the suffix of --output, or text]")
@click.option("-o", "--output", type=_FILE, help="File to write [default: standard output].")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
def report(db: str | None, effect: str, form: str | None, output: Path | None, force: bool) -> None:
    """Show what changed, the largest growth first, and every line.

    Formats: tables (text, markdown, html), or a row for each point (csv, json).
    """
    from pyharness import report as room
    from pyharness.cli.report import export
    from pyharness.features.history import page
    from pyharness.features.history import report as shown
    from pyharness.features.history.database import place_of

    place = place_of(db)
    check_target(output, force, _files(place))
    form = form or room.FORMATS_OF_SUFFIXES.get("" if output is None else output.suffix, "text")
    if form not in FORMATS:
        raise InputError(f"a history is not written as {form}: choose {', '.join(FORMATS)} with --format")
    content = _read(place, effect, None)
    export(
        lambda: shown.sheets(content),
        lambda: shown.visible_texts(shown.flat(content)) if form == "csv" else shown.flat(content),
        f"History {place.name}",
        form,
        output,
        force,
        lambda: page.page_of(content, place.name),
    )


@history.command()
@DB
@EFFECT
@click.option(
    "--since", metavar="REV", help="Count changes at this revision and later: a name of git, or the beginning of an id."
)
@click.option("--confirm", is_flag=True, help="Ask a gate about what is suspected; this builds both revisions.")
@click.option("--budget", default=BUDGET, metavar="PERCENT", show_default=True, help="Slowdown that it allows.")
@click.option("--declared", type=_FILE, metavar="FILE", help="Accept what it declares [default: gate.toml, if any].")
@BRANCH
@asks_for_gates
@click.option("--strict", is_flag=True, help="End with 3 where something is suspected.")
@click.option("--markdown", type=_FILE, help="Write a comment for a pull request.")
@click.option("--junit", type=_FILE, help="Write JUnit XML.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def check(
    db: str | None, since: str | None, effect: str, strict: bool, force: bool, confirm: bool, markdown: Path | None,
    junit: Path | None, **of_gates: Any,
) -> None:  # fmt: skip
    """Look for growth that is still there.

    What is suspected is no verdict yet. --confirm asks a gate: the tenth point before a step against the last one, ten
    launches. Only what it calls a regression is an alert. Its record is added to the history.

    \b
    Exit status:
      0  nothing is suspected, or something without --strict
      1  confirmed by a gate
      2  nothing to compare, a gate that gave no figure, or wrong usage
      3  something is suspected, with --strict
    """
    from pyharness import report as room
    from pyharness.features.history import report as shown
    from pyharness.features.history.database import place_of
    from pyharness.features.history.places import branch_line
    from pyharness.system import atomic_file

    place = place_of(db)
    if of_gates["branch"] != "HEAD":
        branch_line(Path(), of_gates["branch"])  # refuses a name that nothing has
    files = {name: file for name, file in (("markdown", markdown), ("junit", junit)) if file is not None}
    check_output()
    for file in files.values():
        check_target(file, force, _files(place))
    if len({file.resolve() for file in files.values()}) < len(files):
        raise InputError("--markdown and --junit name one file: give each a name of its own")
    content = _read(place, effect, since)
    if confirm:
        content = _confirmed(content, db, **of_gates)
    elif given(of_gates["gates"]) or of_gates["declared"] is not None or of_gates["budget"] != BUDGET:
        raise InputError("options of gates need --confirm: without it, check measures nothing")
    comment = room.to_pull_request(shown.comment(content))
    texts = {"markdown": comment, "junit": shown.to_junit(content, strict=strict)}
    for name, file in files.items():
        atomic_file.write(file, texts[name], overwrite=force)
    summarise(comment)
    show(formatted(shown.sheets(content)[:2]))
    code = content.exit_code
    sys.exit(0 if code == 3 and not strict else code)


def _confirmed(
    content: History, db: str | None, branch: str, budget: str, declared: Path | None, gates: Mapping[str, Any]
) -> History:
    from pyharness.features.gate.builds.names import absent
    from pyharness.features.history.measuring.confirming import confirmed

    if declared is not None and not declared.exists():
        raise absent(
            "--declared", str(declared), declared, "write an [[accepted]] entry for each change that you allow"
        )
    with gates_of(db, branch, gates, budget, declared) as running:
        return confirmed(content, running)


def _files(place: Place) -> list[Path]:
    """Return the files that no output may replace."""
    return [place] if isinstance(place, Path) else []


def _read(place: Place, effect: str, since: str | None) -> History:
    from pyharness.features.gate.cli import share
    from pyharness.features.history.database import opened
    from pyharness.features.history.lines import history_of

    size = share(effect, "--effect")
    with opened(place) as database:
        return history_of(database, size, since, since and _known_here(since))


history.add_command(fill)
history.add_command(find)
COMMANDS = (history,)
EXAMPLES = (Example("pyharness history check", "what became slower over months", 95),)
