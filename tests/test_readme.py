"""What the README, CONTRIBUTING and docs/ show works as it stands there."""

from __future__ import annotations

import doctest
import io
import itertools
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from pyharness import suite
from pyharness.bpe import BpeTokenizer
from pyharness.cli import main
from pyharness.commands import catalogue

ROOT = Path(__file__).parents[1]
PAGES = {
    path.name: path.read_text(encoding="utf-8") for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").glob("*.md"))]
}
README, MEASURE = PAGES["README.md"], PAGES["measure.md"]
WRITTEN = "\n".join(text for name, text in PAGES.items() if name != "CHANGELOG.md")
FENCED_OR_INLINE = r"```\w*\n.*?```|(?<!`)`[^`\n]+`(?!`)"
COMMANDS = "\n".join(code.strip("`") for code in re.findall(FENCED_OR_INLINE, WRITTEN, re.DOTALL))
BLOCKS: list[str] = re.findall(r"```python\n(.*?)```", WRITTEN, re.DOTALL)
MOST_LINES, LINES_ABOVE_THE_PICTURE = 100, 25
# Commands and suites of features: whoever deletes a folder need not mend what is written.
OF_FEATURES = {
    "actions": {"actions"},
    "adaptation": {"adapt", "adaptation", "adaptation-own", "adaptation-curves"},
    "audit": {"audit", "bytes", "diff", "overlap"},
    "code": {"code"},
    "costs": {"chat", "cost", "words"},
    "curriculum": {"curriculum"},
    "deployment": {"coverage"},
    "engines": {"encoding"},
    "distribution": {"distribution", "documents", "languages", "papers"},
    "gate": {"gate"},
    "glitch": {"glitch"},
    "history": {"history"},
    "logs": {"canonical", "ids"},
    "morphology": {"morphology"},
    "paper_trainers": {"bpe-knockout", "parity-bpe", "picky-bpe", "unigram-published"},
    "parts": {"merge", "plan", "work"},
    "pipes": {"decode", "encode", "show"},
    "profiling": {"profile"},
    "remote": {"s3", "gs", "hf", "https", "http"},
    "robustness": {"noise", "numbers"},
    "segmentation": {"segmentation", "segmentation-full", "symbols"},
    "serving": {"control", "hostile", "streaming"},
    "training": {"algorithms", "train", "training"},
}
GONE = {
    word for name, words in OF_FEATURES.items() for word in words if not (ROOT / "pyharness/features" / name).is_dir()
}
TERMINAL = ROOT / "tests" / "cli" / "first_job" / "terminal.txt"  # what a run prints today


def block(word: str) -> str:
    (example,) = (text for text in BLOCKS if word in text)
    return example


def test_the_example_of_a_plug_in_is_the_file_that_a_test_runs() -> None:
    example = (ROOT / "examples" / "my_plugin.py").read_text(encoding="utf-8")
    assert block("TOKENIZERS =") == block("METRICS =")
    assert block("TOKENIZERS =") in example
    (command,) = re.findall(r"^PYTHONPATH=examples .*$", PAGES["plugins.md"], re.MULTILINE)
    assert command in example.splitlines()


def test_the_kernels_give_what_their_page_shows() -> None:
    pytest.importorskip("torch")
    example = doctest.DocTestParser().get_doctest(block("kernels.entropy"), {}, "kernels", "profile.md", 0)
    report = io.StringIO()
    doctest.DocTestRunner().run(example, out=report.write)
    assert report.getvalue() == ""


def test_methods_of_a_tokenizer_exist() -> None:
    page = PAGES["train.md"]
    section = page[page.index("has these methods, most named") :].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)[`(]", section)) - {"tokenizers"}
    assert len(named) == 8
    assert all(callable(getattr(BpeTokenizer, name)) for name in named)


def test_a_plug_in_that_cannot_be_imported_is_named() -> None:
    environment = os.environ | {"PYHARNESS_PLUGINS": "no_such_module"}
    command = [sys.executable, "-P", "-m", "pyharness", "list", "tokenizers"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "PYHARNESS_PLUGINS names 'no_such_module'" in done.stderr


@pytest.mark.parametrize("name", ["quick", "full"])
def test_suites_of_the_trunk_are_on_the_page(name: str) -> None:
    assert f"{name}.toml" in MEASURE
    assert (ROOT / "bench" / "suites" / f"{name}.toml").is_file()


def test_no_placeholder_is_left() -> None:
    assert "@@" not in WRITTEN


def test_the_readme_is_short_and_begins_with_a_picture() -> None:
    lines = README.splitlines()
    assert len(lines) <= MOST_LINES
    assert "</picture>" in lines[:LINES_ABOVE_THE_PICTURE]
    pictures = re.findall(r'src(?:set)?="([^"]+)"', README)
    assert len(pictures) == 2
    assert all((ROOT / picture).is_file() for picture in pictures)


@pytest.mark.parametrize("job", ["algorithms", "gate", "profile", "train", "adapt"])
def test_the_readme_names_the_jobs(job: str) -> None:
    (line,) = (line for line in README.splitlines() if re.match(rf"\| .* \| `pyharness (run )?{job} ", line))
    assert re.search(r"\]\(docs/\w+\.md(#[\w-]+)?\)", line)


@pytest.mark.parametrize("title", ["Compression: ", "Unreachable and unused", "Throughput, MB/s: "])
def test_the_page_shows_the_columns_of_today(title: str) -> None:
    def headings(shown: str) -> list[str]:
        table = shown[shown.index(title) :].split("\n")
        return " ".join(itertools.takewhile(lambda line: not line.startswith("raw_bytes"), table[1:])).split()

    today = headings(TERMINAL.read_text(encoding="utf-8"))  # of a run without a reference row
    assert [one for one in headings(MEASURE) if one != "NSL"] == today


def test_the_readme_shows_the_ranking_of_today() -> None:
    title = "Ranking: fewest tokens\n"
    shown = README[README.index(title) :].split("```")[0].splitlines()
    today = TERMINAL.read_text(encoding="utf-8")
    assert len(shown) == 8
    assert shown[1].split()[::2] == ["tokenizer", "#", "#", "#"]
    assert today[today.index(title) :].splitlines()[1].split()[::2] == ["tokenizer", "#"]


def test_the_two_commands_stand_in_the_readme() -> None:
    assert "\npip install '.[zoo]' && pyharness run\n" in README
    assert "\npip install -e '.[dev,zoo,engines]' && python -m pytest -n auto\n" in README


def test_extras_named_in_documents_exist() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = re.findall(r"pip install (?:-e )?'\.\[([a-z,]+)\]'", WRITTEN)
    assert {extra for one in named for extra in one.split(",")} <= known.keys()


def test_every_script_that_a_document_runs_is_there() -> None:
    named = re.findall(r"(?:python|bash|^) ?((?:bench|\.ci)/[\w/.]+)", WRITTEN, re.MULTILINE)
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).is_file() and not (ROOT / name).is_dir()] == []


def test_commands_and_kinds_named_in_documents_exist() -> None:
    named = set(re.findall(r"(?:^|&& |[A-Z]=\S+ )pyharness ([a-z][a-z-]*)", COMMANDS, re.MULTILINE))
    assert {"run", "compare", "report", "list"} <= named <= set(main.commands) | GONE
    (kinds,) = re.findall(r"pyharness list ([a-z|]+)", MEASURE)
    assert set(kinds.split("|")) == set(catalogue.KINDS)
    (forms,) = re.findall(r"report \S+ --format ([a-z|]+)$", MEASURE, re.MULTILINE)
    (option,) = (one for one in main.commands["report"].params if one.name == "form")
    assert isinstance(option.type, click.Choice)
    assert set(forms.split("|")) < set(option.type.choices)


def test_options_named_in_documents_exist() -> None:
    context = click.Context(main)
    groups = [command for command in main.commands.values() if isinstance(command, click.Group)]
    below = [group.get_command(context, name) for group in groups for name in group.list_commands(context)]
    commands = [command for command in (*main.commands.values(), *below) if command is not None]
    known = {name for command in commands for one in command.get_params(context) for name in one.opts}
    lines = re.findall(r"^(?:.*&& )?pyharness (.*?)(?:#.*)?$", COMMANDS, re.MULTILINE)
    lines = [line for line in lines if not GONE.intersection(line.split()[:2])]
    assert {word for line in lines for word in re.findall(r"(?<=\s)--?[a-z][a-z-]*", line)} <= known


def test_every_suite_is_named_and_every_name_is_a_suite() -> None:
    named = set(re.findall(r"\b([a-z-]+)\.toml", MEASURE)) - {"my-suite", "suite", "pyproject"}
    assert named == set(suite.shipped()) | (named & GONE)
    assert {
        "quick",
        "segmentation",
        "segmentation-full",
        "full",
        "encoding",
        "algorithms",
        "training",
        "adaptation",
        "adaptation-own",
        "adaptation-curves",
        "actions",
        "curriculum",
        "papers",
    } == named


def test_entry_points_of_plug_ins_are_those_looked_up() -> None:
    groups = set(re.findall(r"\| `(pyharness\.[a-z]+)` \|$", PAGES["plugins.md"], re.MULTILINE))
    assert groups == {
        f"pyharness.{kind}" for kind in ("tokenizers", "metrics", "corpora", "trainers", "benchmarks", "cli")
    }
    rooms = {path.stem for path in (ROOT / "pyharness").iterdir()}
    assert all(group.partition(".")[2] in rooms for group in groups)


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
