"""``pyharness list``, ``pyharness env`` and ``pyharness show``."""

from __future__ import annotations

import codecs
import json
import sys

import click

from pyharness.cli import console, usage
from pyharness.cli.console import reports_errors
from pyharness.types import InputError


@click.command(name="list")
@click.argument("kind", type=click.Choice(["tokenizers", "corpora", "trainers", "metrics", "benchmarks", "suites"]))
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@reports_errors
def list_(kind: str, as_json: bool) -> None:
    """List the names that other commands take.

    \b
    pyharness list tokenizers
    pyharness list metrics --json
    """
    from pyharness import report as room
    from pyharness.commands import catalogue

    rows = catalogue.KINDS[kind]()
    if as_json:
        console.show(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    if not rows:
        raise InputError(f"there are no {kind} here: no feature and no package offers any")
    shown = [column for column in rows[0] if column != catalogue.GROUP]
    headings = tuple(room.Heading(column, "prose" if column in catalogue.PROSE else "word") for column in shown)
    groups: dict[str, list[tuple[room.Cell, ...]]] = {}
    for row in rows:
        cells = tuple(room.Cell(str(row[column] or "")) for column in shown)
        groups.setdefault(str(row.get(catalogue.GROUP, kind) or "other"), []).append(cells)
    sheets = [room.Sheet(title, headings, tuple(lines)) for title, lines in groups.items()]
    console.show_in_pager(room.to_text(sheets, console.width(), console.color()))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@reports_errors
def env(as_json: bool) -> None:
    """Show this machine as a record describes it."""
    from pyharness.system.environment import fingerprint

    facts = fingerprint()
    if as_json:
        console.show(json.dumps(facts, indent=1) + "\n")
        return
    libraries = facts.pop("libraries")
    lines = [
        f"{name:16} {'not installed' if value is None else value}\n" for name, value in {**facts, **libraries}.items()
    ]
    console.show("".join(lines))


STANDARD_INPUT = "-"


@click.command()
@click.option("-t", "--tokenizer", "rows", multiple=True, required=True, metavar="[NAME=]SPEC",
              shell_complete=usage.tokenizers_or_files,
              help="Show this tokenizer (a name, or the path of its file), as NAME if given; repeatable.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "json"]), help="How to write tokens [default: text in a "
              "terminal, json in a pipe].")  # fmt: skip
@click.argument("text")
@click.argument("other", required=False)
@reports_errors
def show(rows: tuple[str, ...], form: str | None, text: str, other: str | None) -> None:
    """Show the tokens of a text, side by side.

    \b
    pyharness show -t mistral:v3 -t deepseek strawberry
    pyharness show -t ./tokenizer.json -t patches:space 'Two  spaces'
    pyharness show -t deepseek 'a cat sat' 'a bat sat'
    pyharness show -t deepseek --format json - < text.txt

    Each token has its id, its bytes and its merges in the order of the rules. A dash stands for no merges, or for
    unknown ones. Special tokens in the text are read as plain text.

    A TEXT of "-" is standard input. With OTHER, brackets mark tokens that the other text does not have in the same
    order.

    \b
    Exit status: 0 shown, 2 bad input.
    """
    from pyharness import report
    from pyharness.features.pipes import units

    texts = [_text(one) for one in (text, other) if one is not None]
    cut_texts = units.show(rows, texts)
    if (form or ("text" if console.is_terminal() else "json")) == "json":
        console.show(json.dumps(units.as_json(cut_texts, texts), ensure_ascii=False, indent=1) + "\n")
        return
    colors = console.color()
    console.show(units.lines(cut_texts, color=colors) + "\n")
    console.show(report.to_text(units.sheets(cut_texts), width=console.width(), color=colors))


def _text(given: str) -> str:
    from pyharness.features.pipes.units import LONGEST

    read = given == STANDARD_INPUT
    data = sys.stdin.buffer.read(LONGEST + 4) if read else given.encode("utf-8", "surrogateescape")
    try:
        # Of a text that is too long, the last character may be cut: it is too long without it.
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) <= LONGEST)
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not UTF-8 at byte {error.start}; show takes text") from None


COMMANDS = (list_, env, show)
