"""The suites of adaptations: what is measured was not learnt from, and every row has its base beside it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from adapted.bases import write_base
from pyharness import report, store, suite
from pyharness.commands import session
from pyharness.features.training import training_process
from pyharness.plugins.specification import CORPUS, TOKENIZER
from pyharness.running import runner

SHARD = re.compile(r"shard:(\d)(?:-(\d))?/(\d):([^|]+)")
WORKS = {"et": "id", "hi": "id", "ar": "id", "ja": "id", "en": "id"}


def shards(corpus: str) -> dict[str, set[float]]:
    """Parts of a text, of thirty, that are read."""
    found: dict[str, set[float]] = {}
    for first, last, count, text in SHARD.findall(corpus):
        wanted = range(int(first), int(last or first) + 1)
        found.setdefault(text, set()).update(part for part in range(30) if part % int(count) in wanted)
    return found


def test_bases_by_languages_by_sizes_by_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_DATA", "/data")
    declared = suite.read(suite.find("adaptation"))
    rows = {entry.label: TOKENIZER.parse(TOKENIZER.parse(entry.spec).home) for entry in declared.tokenizers}
    assert len(rows) == 6 + 6 * 7 * 5 * 2 + 6 * 9 * 2
    texts = {entry.label: entry.spec for entry in declared.corpora}
    for label, row in rows.items():
        if row.name == "file":
            continue
        base, language, *_ = label.split(" ")
        assert row.options["base"] == rows[base].argument
        extends = "tokens" in row.options
        assert label.endswith(f" {row.options['tokens' if extends else 'share']}")
        learnt, held_out = row.options["corpus"], texts[language if extends else "en"]
        read = CORPUS.parse(re.sub("^shard:[^:]+:", "", held_out))
        assert read.options.get("work") == WORKS.get(language if extends else "en")
        if not held_out.startswith("shard:"):
            assert str(read.argument).endswith("/xquad.jsonl.xz")
            assert "xquad" not in learnt
            continue
        ((text, parts),) = shards(held_out).items()
        assert len(parts) in (6, 15)
        assert shards(learnt) == {text: set(range(30)) - parts}
        assert text not in texts[f"{language} elsewhere"]
    for chosen in declared.selections:
        for language in {row.split(" ")[1] for row in chosen.tokenizers or () if " " in row}:
            assert set(chosen.corpora or ()) <= {language, f"{language} elsewhere", "en"}


def test_what_curves_are_measured_on_was_not_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_DATA", "/data")
    declared = suite.read(suite.find("adaptation-curves"))
    specs = {entry.label: entry.spec for entry in (*declared.tokenizers, *declared.corpora)}
    for chosen in declared.selections:
        for text in chosen.corpora or ():
            ((held_out, parts),) = shards(specs[text]).items()
            rows = [TOKENIZER.parse(TOKENIZER.parse(specs[row]).home) for row in chosen.tokenizers or ()]
            learnt = [shards(row.options["corpus"]) for row in rows if row.name == "trained"]
            assert all(read for read in learnt)
            for file, of in ((file, of) for read in learnt for file, of in read.items()):
                if CORPUS.parse(file).argument == CORPUS.parse(held_out).argument:
                    assert CORPUS.parse(file).options.get("work") == CORPUS.parse(held_out).options.get("work")
                    assert not parts & of
    amounts = [row for row in specs if row.startswith("gpt2 et ") and row.endswith("8192")]
    assert amounts == ["gpt2 et 1 MB 8192", "gpt2 et 3 MB 8192", "gpt2 et all 8192",
                       "gpt2 et looked up 8192", "gpt2 et merged 8192"]  # fmt: skip
    weighed = {
        TOKENIZER.parse(specs[f"gpt2 et+ja+th {how} 12288"]).options["balance"] for how in ("balanced", "as they are")
    }
    assert weighed == {"0", "1"}


def test_a_tokenizer_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = write_base(tmp_path)
    monkeypatch.setattr(training_process, "run", training_process.train_and_keep)
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYHARNESS_ADAPTATION_BASE", str(base))
    monkeypatch.setenv("PYHARNESS_ADAPTATION_TEXT", "sample:prose")
    text = Path(suite.find("adaptation-own")).read_text(encoding="utf-8")
    small = tmp_path / "small.toml"
    small.write_text(text.replace("[256, 1024]", "[64]").replace('["0.25", "0.5"]', '["0.5"]'), encoding="utf-8")
    declared = suite.read(small)
    wanted = {"continued 64", "leaf 0.5"}
    fewer = dataclasses.replace(
        declared,
        tokenizers=tuple(entry for entry in declared.tokenizers if entry.label in wanted),
        selections=tuple(one for one in declared.selections if wanted.intersection(one.tokenizers or ())),
    )
    record = runner.run(suite.plan(fewer), store.Journal(tmp_path / "record.json"), session.SilentListener())
    assert {result.status for result in record.results} == {"ok"}
    (table,) = (table for table in report.sheets(record) if table.title.startswith("Adaptation"))
    assert [row[0] for row in table.texts] == ["continued 64", "leaf 0.5"]
    assert table.columns[3:6] == ("vs base %", "vs naive-extension %", "vs frequency-pruning %")
    assert (table.texts[0][3][0], table.texts[1][3][0]) == ("+", "-")
    assert any(re.match("vs: .*bytes/token", note) for note in table.notes)
