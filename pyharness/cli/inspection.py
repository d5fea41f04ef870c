"""``pyharness list``, ``pyharness env`` and ``pyharness show``."""

from __future__ import annotations

import json
import sys

import click

from pyharness.cli import console
from pyharness.cli.console import reports_errors
from pyharness.types import InputError


@click.command(name="list")
@click.argument("kind", type=click.Choice(["tokenizers", "corpora", "trainers", "metrics", "benchmarks", "suites"]))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@reports_errors
def list_(kind: str, as_json: bool) -> None:
    """List what can be named: tokenizers, corpora, trainers, metrics, benchmarks or suites."""
    from pyharness import report as room
    from pyharness.commands import catalogue

    rows = catalogue.KINDS[kind]()
    if as_json:
        console.show(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    headings = tuple(room.Heading(column, "prose" if column in catalogue.PROSE else "word") for column in rows[0])
    cells = tuple(tuple(room.Cell(str(value or "")) for value in row.values()) for row in rows)
    console.show(room.to_text([room.Sheet(kind, headings, cells)], console.width(), console.color()))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@reports_errors
def env(as_json: bool) -> None:
    """Show what a record says about this machine."""
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
              help="Tokenizer, as for run, or the path of its file; repeatable.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "json"]), help="[default: text in a terminal, json in a "
              "pipe]")  # fmt: skip
@click.argument("text")
@click.argument("other", required=False)
@reports_errors
def show(rows: tuple[str, ...], form: str | None, text: str, other: str | None) -> None:
    """Show what tokenizers make of TEXT: tokens side by side, their ids, bytes and merges.

    \b
    pyharness show -t mistral:v3 -t deepseek strawberry
    pyharness show -t file:./tokenizer.json -t patches:space 'Two  spaces'
    pyharness show -t deepseek 'a cat sat' 'a bat sat'      what moved is in brackets
    pyharness show -t deepseek --format json - < text.txt

    TEXT is read from standard input where it is "-". With OTHER, tokens of either text that the other does not have in
    the same order are marked. Strings that look like special tokens are plain text. The merges of a token are those
    of the model's rules, in the order in which they come; a dash stands where there are none, or none are known.

    \b
    Exit status: 0 shown, 2 bad input.
    """
    from pyharness import report
    from pyharness.commands import units

    texts = [_text(one) for one in (text, other) if one is not None]
    cut_texts = units.show(rows, texts)
    if (form or ("text" if console.is_terminal() else "json")) == "json":
        console.show(json.dumps(units.as_json(cut_texts, texts), ensure_ascii=False, indent=1) + "\n")
        return
    colors = console.color()
    console.show(units.lines(cut_texts, color=colors) + "\n")
    console.show(report.to_text(units.sheets(cut_texts), width=console.width(), color=colors))


def _text(given: str) -> str:
    from pyharness.commands.units import LONGEST

    read = given == STANDARD_INPUT
    data = sys.stdin.buffer.read(LONGEST + 1) if read else given.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not UTF-8 at byte {error.start}; show takes text") from None


COMMANDS = (list_, env, show)
