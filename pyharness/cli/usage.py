"""Help at a prompt: the commands ``list`` and ``env``, examples of the help text, and shell completion of names.

Shells start a process for each completion, so names come from a file in the cache. A change of pyharness, of the
folders of packages, of the Python installation or of PYHARNESS_PLUGINS renews it. Labels and file names are strangers'
text, and a shell acts on some characters of what is completed. Names with such characters are left out.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

from pyharness.cli import console
from pyharness.types import InputError

Completing = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_BEFORE = re.compile(r"([^:?/=]+=)?([^:?/=+]+\+)?")  # the NAME= of NAME=SPEC, and an engine
_OF_PATHS = ("file:", "path:")
_TAME = re.compile(r"[\w@%+:=,./~?-]*")


def completing(kind: str, or_file: bool = False) -> Completing:
    """Return a function that completes names of a kind of ``pyharness list``; ``or_file``: files if no name fits."""

    def complete(context: click.Context, parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
        del context, parameter
        return items(kind, beginning) or ([CompletionItem(beginning, type="file")] if or_file else [])

    return complete


def items(kind: str, beginning: str) -> list[CompletionItem]:
    """Return completions of a beginning; of a row or corpus, a label (NAME=) and an engine (ENGINE+) in it are kept."""
    before = match[0] if (match := _BEFORE.match(beginning)) and kind in ("tokenizers", "corpora") else ""
    begun = beginning[len(before) :]
    names = _files(begun) if begun.startswith(_OF_PATHS) else _names(kind)
    return [CompletionItem(before + name) for name in names if name.startswith(begun) and _TAME.fullmatch(name)]


def rows_of_record(context: click.Context, parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
    """Complete the rows of the record that was named before; otherwise files."""
    del parameter
    try:
        rows = json.loads(Path(context.params["record"]).read_bytes())["tokenizers"]
    except (KeyError, TypeError, ValueError, OSError):
        rows = ()
    matches = [CompletionItem(row) for row in rows if row.startswith(beginning) and _TAME.fullmatch(row)]
    return matches or [CompletionItem(beginning, type="file")]


def _files(begun: str) -> Iterator[str]:
    """Yield specs of the files in the folder of a spec; a folder ends with a slash."""
    from pyharness.system import folders

    folder = begun[: max(begun.rfind("/"), begun.find(":")) + 1]
    for path in sorted(folders.expanded(folder.partition(":")[2] or ".").glob("*")):
        yield f"{folder}{path.name}{'/' * path.is_dir()}"


def _names(kind: str) -> list[str]:
    """Return names from the cache, or from all modules; none if a plug-in is at fault or the cache is not writable."""
    from pyharness.system import atomic_file, folders

    state = [sys.prefix, os.environ.get("PYHARNESS_PLUGINS", ""), *_changes()]
    kept = folders.cache() / "names.json"
    try:
        before = json.loads(kept.read_bytes())
        if before["state"] == state:
            return list(before["names"][kind])
    except (OSError, ValueError, KeyError, TypeError):  # absent, or written by another version
        pass
    try:
        from pyharness.commands import catalogue

        names = catalogue.names()
        kept.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.write(kept, json.dumps({"state": state, "names": names}), overwrite=True)
    except (InputError, OSError):  # a plug-in's fault, which the command itself reports, or the cache's
        return []
    return names[kind]


def _changes() -> Iterator[int]:
    """Yield when pyharness and the folders of packages changed last."""
    yield max(os.lstat(file).st_mtime_ns for file in Path(__file__).parents[1].rglob("*.py"))
    yield from (Path(folder).stat().st_mtime_ns for folder in sys.path if Path(folder).is_dir())


class Bash(BashComplete):
    """Completion in bash, which ends a word at a colon or an equals sign.

    So words are taken from the whole line, and bash gets only the end of a word.
    """

    name = "bash"
    source_template = BashComplete.source_template.replace("env ", 'env COMP_LINE="${COMP_LINE:0:COMP_POINT}" ', 1)
    _word = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words after the command without the unfinished last one, and that one, which may be empty."""
        line = os.environ.get("COMP_LINE")
        if line is None:
            return super().get_completion_args()
        words = split_arg_string(line)
        self._word = "" if line[-1:].isspace() else words.pop()
        return words[1:], self._word

    def format_completion(self, item: CompletionItem) -> str:
        """Leave out the word up to its last colon or equals sign: bash has that already."""
        match = re.match(r".*[:=]|", self._word)
        return f"{item.type},{item.value.removeprefix(match[0] if match else '')}"


add_completion_class(Bash)
tokenizers, corpora, benchmarks = map(completing, ("tokenizers", "corpora", "benchmarks"))
suites, tokenizers_or_files = completing("suites", or_file=True), completing("tokenizers", or_file=True)


# ---------------------------------------------------------------------------------------------- examples


@dataclass(frozen=True, slots=True)
class Example:
    """A command line, its description, and its position among the examples."""

    name: str
    about: str
    place: int


EXAMPLES = (
    Example("pyharness run", "the default suite, offline", 0),
    Example("pyharness run -t deepseek -t mistral:v3 -c sample", "", 10),
    Example("pyharness run -t file:./tokenizer.json -c path:corpus.jsonl", "", 20),
    Example("pyharness list tokenizers", "what can be measured here", 30),
)


# ---------------------------------------------------------------------------------------------- list, env


@click.command(name="list")
@click.argument("kind", type=click.Choice(["tokenizers", "corpora", "trainers", "metrics", "benchmarks", "suites"]))
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
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
        console.show_json(rows)
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
    console.show_in_pager(console.formatted(sheets))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def env(as_json: bool) -> None:
    """Show this machine as a record describes it."""
    from pyharness.system.environment import fingerprint

    facts = fingerprint()
    if as_json:
        console.show_json(facts)
        return
    rows = {**facts, **facts["libraries"]}
    del rows["libraries"]
    console.show("".join(f"{name:16} {'not installed' if one is None else one}\n" for name, one in rows.items()))


COMMANDS = (list_, env)
