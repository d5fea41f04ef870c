"""``pyharness show``."""

from __future__ import annotations

import json
import sys

import click

from pyharness.cli import console
from pyharness.cli.console import reports_errors
from pyharness.types import InputError

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
    from pyharness.commands import showing

    texts = [_text(one) for one in (text, other) if one is not None]
    found = showing.show(rows, texts)
    if (form or ("text" if console.is_terminal() else "json")) == "json":
        console.show(json.dumps(showing.as_json(found, texts), ensure_ascii=False, indent=1) + "\n")
        return
    colors = console.color()
    console.show(showing.lines(found, color=colors) + "\n")
    console.show(report.to_text(showing.sheets(found), width=console.width(), color=colors))


def _text(given: str) -> str:
    from pyharness.commands.showing import LONGEST

    read = given == STANDARD_INPUT
    data = sys.stdin.buffer.read(LONGEST + 1) if read else given.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not UTF-8 at byte {error.start}; show takes text") from None


COMMANDS = (show,)
