"""Every text of a shipped suite names the works that its documents are parts of, or its documents are works.

What an interval says is of other works: chapters of four novels are no sample of novels. docs/measuring.md has the
table that is checked here with the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pyharness import suite
from pyharness.corpora import families, open_corpus
from pyharness.corpora.streaming import read
from pyharness.plugins.specification import CORPUS
from pyharness.statistics.jackknife import GROUPS, group_of, too_few, unequal
from pyharness.types import Tally

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(suite.shipped())
CODE = ("cpp", "go", "java", "javascript", "kotlin", "python", "rust", "typescript")
# Documents that are works, and why: file below the folder of data.
WHOLE = {
    **dict.fromkeys(
        (
            f"code/{name}.jsonl.xz"
            for name in ["cpp", "go", "java", "javascript", "kotlin", "python", "rust", "typescript"]
        ),
        "a source file each, of one to three projects",
    ),
    "english/wikitext2_valid.jsonl.xz": "an article each",
    "multilingual/et/ud_ewt.jsonl.xz": "36 documents: too few for an interval, whatever they are",
    "multilingual/fi/ud_tdt.jsonl.xz": "45 documents: too few for an interval, whatever they are",
    "multilingual/fi/gnome_help.jsonl.xz": "a page of help each",
    "multilingual/ko/kolaw.jsonl.xz": "one document: no interval",
    "multilingual/ko/nsmc_reviews.jsonl.xz": "the reviews of a film each",
    "multilingual/th/thaigov_news.jsonl.xz": "an article each",
    "multilingual/th/wisesight_social.jsonl.xz": "twenty messages each, by as many people",
    "multilingual/zh/tang_song_poetry.jsonl.xz": "a poem each",
}
FAMILIES = {
    "sample": "a smoke test, which says so",
    "installed": "a module or a page of documentation each",
    "motions": "a clip each, and intervals of their own (docs/measuring.md, CIs over few clips)",
}
TIMED = {"encoding"}  # times alone: no interval of these is of other text
SHARD = re.compile(r"^(?:shard:[^:]+:)+")


def texts(name: str) -> Iterator[tuple[str, str]]:
    """Label and specification of each text that a suite measures, without the part of it that is taken."""
    for entry in suite.read(suite.find(name)).corpora:
        yield entry.label, SHARD.sub("", entry.spec)


@pytest.mark.parametrize("name", [one for one in SHIPPED if one not in TIMED])
def test_every_text_names_works_or_is_of_works(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_DATA", "/data")
    for label, spec in texts(name):
        parsed = CORPUS.parse(spec)
        if parsed.name in FAMILIES:
            continue
        file = str(parsed.argument).removeprefix("/data/corpora/")
        assert ("work" in parsed.options) != (file in WHOLE), f"{name}, {label}: {spec}"


def test_no_reason_is_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_DATA", "/data")
    met = [CORPUS.parse(spec) for name in SHIPPED for _, spec in texts(name)]
    files = {str(one.argument).removeprefix("/data/corpora/") for one in met}
    assert set(WHOLE) <= files
    assert set(FAMILIES) & families().keys() <= {one.name for one in met}


@cache
def counted(spec: str) -> tuple[int, int, bool]:
    """Documents, works and whether there is an interval."""
    documents, sizes, works = [0] * GROUPS, [0] * GROUPS, set()
    for one in read(open_corpus(spec), Tally()):
        documents[group_of(one.key)] += one.opens
        sizes[group_of(one.key)] += len(one.text.encode())
        works.add(one.key)
    return sum(documents), len(works), (too_few(documents) or unequal(documents, sizes)) is None


def rows() -> dict[str, list[str]]:
    """What docs/measuring.md says of the texts of full.toml, by label."""
    said = (ROOT / "docs/measuring.md").read_text(encoding="utf-8")
    _, _, section = said.partition("## Which texts have CIs")
    lines = [line.strip("| ").split(" | ") for line in section.partition("\n## ")[0].splitlines() if line[:2] == "| "]
    return {cells[0].strip("`"): cells for cells in lines if cells[0].startswith("`")}


@pytest.mark.data
def test_documents_that_are_taken_for_works_are_not_parts(data: Path) -> None:
    for file, reason in WHOLE.items():
        field = "path" if file.startswith("code/") else "id"
        documents, works, _ = counted(f"path:{data}/corpora/{file}?work={field}&max_bytes=2MB")
        assert documents == works, f"{file}: {reason}"


@pytest.mark.data
def test_the_documented_texts_have_intervals_and_the_others_none(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_DATA", str(data))
    said, measured = rows(), dict(texts("full"))
    assert said.keys() == measured.keys()
    for label, spec in measured.items():
        documents, works, interval = counted(spec)
        assert said[label][1:4] == [f"{documents:,}", f"{works:,}", "yes" if interval else "no"], label
