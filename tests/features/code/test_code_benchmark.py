"""The benchmark code: rows whose numbers are known, what is left out and said, parts, records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cases.command_line import call, refused
from cutting.cutters import Cut, Cutter, every
from pyharness import tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.features.code.benchmark import CodePass, white_space_kept
from pyharness.features.code.lexing import KINDS, lex_python
from pyharness.features.code.metrics import COLUMNS, CodeCounts, measure
from pyharness.statistics.jackknife import GROUPS, paired_lack
from pyharness.statistics.samples import interval_of
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.tokenizers.segmenting import row_of_units
from pyharness.types import Case, Corpus, InputError, Tokens

BENCHMARK = benchmarks()["code"]
NO_CI = {
    *((name, None) for name in (
        "cuts_per_identifier", "identifiers_cut_alike", "whole_compound_operators", "tokens_per_level",
        "indentation_cut_alike", "white_space_kept",
    )),
    *(("leaves_aligned", kind) for kind in ("literal", "compound operator")),
    ("rewrite_cost", "snake"), ("rewrite_cost", "spaced"),
}  # fmt: skip
TEXT = "def f_{0}(first_one, b):\n    if b != first_one:\n        return [b, '{0}', None]\n    return b\n"


def corpus(folder: Path, count: int = 80, extra: Sequence[str] = ()) -> Corpus:
    path = folder / "python.jsonl"
    texts = [*(TEXT.format(number) for number in range(count)), *extra]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return open_corpus(f"path:{path}")


def work(cut: Cut, text: Corpus, **parameters: str) -> Work:
    row = row_of_units("made", lambda _: Cutter(cut), "here")
    return Work(Case("code", "made", "t", parameters), row, lambda: row.load(row), text, 1)


def lexer(data: bytes) -> list[int]:
    """Units that end where leaves do, and where lines begin."""
    leaves = lex_python(data.decode())
    assert leaves is not None
    return sorted({*leaves.stops.tolist(), *leaves.starts.tolist(), len(data)} - {0})


def values(findings: Findings) -> dict[str, float | None]:
    return {one.metric + (f" {one.part}" if one.part else ""): one.value for one in findings.measurements}


def test_the_lexer_itself_has_one(tmp_path: Path) -> None:
    numbers = values(BENCHMARK.run(work(lexer, corpus(tmp_path), language="python")))
    for name in ("leaves_aligned", "leaf_starts_aligned", "leaf_ends_aligned", "whole_identifiers",
                 "identifiers_cut_alike", "whole_compound_operators", "tokens_per_identifier", "cuts_per_identifier",
                 "white_space_kept"):  # fmt: skip
        assert numbers[name] == 1, name
    assert numbers["tokens_across_leaves"] == 0
    of_kinds = [numbers[f"leaves_aligned {kind}"] for kind in KINDS]
    assert of_kinds == [None if kind == "operator" else 1 for kind in KINDS]


def test_bytes_miss_no_boundary(tmp_path: Path) -> None:
    numbers = values(BENCHMARK.run(work(every(1), corpus(tmp_path), language="python")))
    assert [numbers[name] for name in ("leaves_aligned", "tokens_across_leaves", "white_space_kept")] == [1, 0, 1]
    assert numbers["tokens_per_level"] == pytest.approx((4 + 8 + 4) / (1 + 2 + 1))
    assert numbers["whole_compound_operators"] == 0


def test_whole_documents_have_no_leaf(tmp_path: Path) -> None:
    numbers = values(BENCHMARK.run(work(lambda data: [len(data)], corpus(tmp_path), language="python")))
    assert numbers["leaves_aligned"] == 0
    assert numbers["tokens_across_leaves"] == 1
    assert numbers["tokens_per_identifier"] == 1
    assert {numbers[f"rewrite_cost {style}"] for style in ("camel", "tight")} == {1}
    assert numbers["rewrite_cost snake"] is None  # no name is in camel case


def test_every_value_derives_again_and_has_replicates(tmp_path: Path) -> None:
    findings = BENCHMARK.run(work(every(3), corpus(tmp_path, 80, ["x=1\n"]), language="python"))
    assert BENCHMARK.rederive is not None
    again = BENCHMARK.rederive(findings.state, Case("code", "made", "t"))
    assert again.measurements == findings.measurements
    assert {one.metric for one in findings.measurements} == set(BENCHMARK.metric_names)
    measured = [one for one in findings.measurements if one.value is not None]
    bare = {(one.metric, one.part) for one in measured if not one.replicates and one.no_interval}
    assert bare == NO_CI - {("rewrite_cost", "snake")}  # no name is in camel case
    assert all(len(one.replicates) == GROUPS for one in measured if (one.metric, one.part) not in bare)
    assert findings.details["code"]["texts"] == 81


def test_what_was_not_shown_to_hold_says_so() -> None:
    counts = CodeCounts(np.random.default_rng(1).integers(50, 100, (GROUPS, len(COLUMNS))))
    of = {(one.metric, one.part): one for one in measure(counts)}
    assert {key for key, one in of.items() if interval_of(one) is None} == NO_CI | {("leaves_aligned", "punctuation")}
    assert "too wide" in str(of["leaves_aligned", "punctuation"].no_interval)
    assert all("do not show" in str(paired_lack(of[key], of[key])) for key in NO_CI)
    assert [key for key, one in of.items() if one.no_pair] == [("rewrite_cost", "tight")]
    assert "too wide" in str(of["rewrite_cost", "tight"].no_pair)


def test_parts_add_up_to_the_whole(tmp_path: Path) -> None:
    text = corpus(tmp_path)
    whole = CodePass.start(work(every(5), text, language="python")).read(text)
    parts = []
    for index in range(3):
        part = CodePass.start(work(every(5), text, language="python"))
        restored = CodePass.start(work(every(5), text, language="python"))
        restored.restore(part.read(open_corpus(f"shard:{index}/3:{text.name}")).arrays())
        parts.append(restored)
    for other in parts[1:]:
        parts[0].merge(other)
    assert parts[0].tally == whole.tally
    assert parts[0].findings() == whole.findings()


def test_what_the_lexer_refuses_is_counted(tmp_path: Path) -> None:
    text = corpus(tmp_path, 5, ["x = '''", "if a:\n  b\n c\n"])
    findings = BENCHMARK.run(work(every(1), text, language="python"))
    assert {name: findings.details["code"][name] for name in ("texts", "unlexed", "unspelled")} == {
        "texts": 7, "unlexed": 2, "unspelled": 0,
    }  # fmt: skip
    assert values(findings)["leaves_aligned"] == 1
    nothing = values(BENCHMARK.run(work(every(1), corpus(tmp_path, 0, ["x = '''"]), language="python")))
    assert nothing["leaves_aligned"] is None


class Blind(RawBytes):
    """Writes every text in small letters and its tabs as spaces."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        return super().encode_batch([text.lower().replace("\t", " ") for text in texts], threads)


def test_documents_that_tokens_do_not_spell_keep_what_decoding_keeps(tmp_path: Path) -> None:
    text = corpus(tmp_path, 3, ["A = [\t1]\n"])
    row = Blind()
    case = Case("code", "blind", "t", {"language": "python"})
    findings = BENCHMARK.run(Work(case, tokenizers.resolve("raw_bytes"), lambda: row, text, 1))
    assert findings.details["code"]["unspelled"] == 4  # each has capitals
    numbers = values(findings)
    assert numbers["leaves_aligned"] is None
    whites = sum(map(str.isspace, "".join(TEXT.format(number) for number in range(3))))
    assert numbers["white_space_kept"] == (whites + 2) / (whites + 4)  # behind the A, and the tab, are lost


# Of TokEval's own code, BasicTokenizationMetrics: white space that is kept.
@pytest.mark.parametrize(
    ("text", "decoded", "kept"),
    [("a b\tc", "a b c", 1), ("A  b c", "a b c", 1), ("x\n\n y", "x y", 1), (" lead", "lead", 0),
     ("if a:\n    b", "if a : b", 2), ("x A a b", "x a b", 2)],
)  # fmt: skip
def test_white_space_is_kept_as_in_tokeval(text: str, decoded: str, kept: int) -> None:
    assert white_space_kept(text, decoded) == kept
    assert white_space_kept(text, text) == sum(map(str.isspace, text))


def test_units_that_are_not_the_text_fail_the_case(tmp_path: Path) -> None:
    findings = BENCHMARK.run(work(lambda _: [1], corpus(tmp_path, 1), language="python"))
    assert findings.status == "failed"
    assert findings.measurements == ()


def test_a_damaged_state_is_refused() -> None:
    counts = np.zeros(GROUPS * len(COLUMNS), np.int64)
    counts[0] = -1
    for array in (counts, counts[1:]):
        with pytest.raises(InputError):
            CodeCounts.of_arrays({"code counts": array})


def test_a_run_has_three_tables_and_derives_again(tmp_path: Path) -> None:
    corpus(tmp_path)
    done = call("run", "-t", "raw_bytes", "-c", "path:python.jsonl", "-b", "code", "-o", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(title in done.stdout for title in ("Leaves of code", "Identifiers", "Rewritten code"))
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0


def test_a_text_that_the_lexer_refuses_whole_keeps_the_table_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = '''")
    done = call("run", "-t", "raw_bytes", "-c", "path:a.py", "-b", "code", "-o", "r.json", cwd=tmp_path)
    assert "1 of 1 texts" in done.stdout
    assert "Rewritten code" not in done.stdout


def test_a_text_without_a_language_is_skipped_and_a_wrong_one_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x = 1\n")
    done = call("run", "-t", "raw_bytes", "-c", "path:a.txt", "-b", "code", "-o", "r.json", cwd=tmp_path)
    (result,) = (one for one in json.loads((tmp_path / "r.json").read_text())["results"] if one["benchmark"] == "code")
    assert (done.returncode, result["status"]) == (1, "skipped")  # nothing else was measured
    assert "language" in result["reason"]
    assert "python" in refused("run", "-t", "raw_bytes", "-c", "path:a.txt", "-b", "code?language=pyton", cwd=tmp_path)
