"""Spread of tokens against slow references and figures of the originals; rows of documents; damaged states."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call, refused
from pyharness import corpora, tokenizers
from pyharness.features.distribution import documents
from pyharness.features.distribution.benchmark import mean_rank
from pyharness.features.distribution.documents import DocumentRows
from pyharness.features.distribution.sequences import Successors, cut_characters, window_types
from pyharness.metrics.counting.state import Counts, Facts
from pyharness.metrics.distribution import efficiency, renyi_entropy
from pyharness.types import InputError, Tally, Tokens, digest_of

SEQUENCE = [(place * place + place // 7) % 23 for place in range(300)]
TEXTS = [SEQUENCE[:90], SEQUENCE[90:91], SEQUENCE[91:]]
# What the originals print for these ids: TokEval of 2026 (renyi efficiency, average rank, bigram entropy of the texts)
# and TkTkT of 2026-08 (entropy; MATTR of all ids as one text, window 20 and stride 1).
EFFICIENCIES = {
    0.5: 0.9913152386391942, 1.0: 0.9831661837610332, 2.0: 0.9685928689674465, 2.5: 0.9621533984815831,
    3.0: 0.9562358722250597,
}  # fmt: skip
ENTROPIES = {0.5: 4.484275899967839, 1.0: 4.447413145343169, 2.5: 4.352360509262252, 3.0: 4.325592212614275}
RANK, SUCCESSORS, MATTR = 9.89, 0.986842744763745, 0.6839857651245552


def counts_of(ids: list[int]) -> Counts:
    return Counts({}, np.bincount(ids, minlength=23).astype(np.uint64), Facts(23, np.ones(23, np.bool_), None, False))


def test_numbers_of_the_originals() -> None:
    counts = counts_of(SEQUENCE)
    for alpha, expected in EFFICIENCIES.items():
        assert efficiency(renyi_entropy(counts.shares, alpha), counts.types) == pytest.approx(expected, rel=1e-14)
    for alpha, expected in ENTROPIES.items():
        assert renyi_entropy(counts.shares, alpha) == pytest.approx(expected, rel=1e-14)
    assert mean_rank(counts) == RANK
    assert Successors.of(Tokens.from_lists(TEXTS)).efficiency() == pytest.approx(SUCCESSORS, rel=1e-14)
    sums, windows = window_types(Tokens.from_lists([SEQUENCE]), 20)
    assert sums[0] / (20 * windows[0]) == pytest.approx(MATTR, rel=1e-14)


IDS = st.lists(st.lists(st.integers(0, 4), max_size=12), max_size=4)


@given(IDS, st.integers(1, 6))
def test_windows_agree_with_every_window(texts: list[list[int]], window: int) -> None:
    sums, windows = window_types(Tokens.from_lists(texts), window)
    for text, total, number in zip(texts, sums.tolist(), windows.tolist(), strict=True):
        every = [len(set(text[start : start + window])) for start in range(len(text) - window + 1)]
        assert (total, number) == (sum(every), len(every))


@given(IDS)
def test_successors_agree_with_a_slow_reference(texts: list[list[int]]) -> None:
    behind: dict[int, Counter[int]] = defaultdict(Counter)
    for text in texts:
        for left, right in pairwise(text):
            behind[left][right] += 1
    shares, weights = [], []
    for after in behind.values():
        if after.total() >= 3:
            p = np.array(list(after.values())) / after.total()
            shares.append(float(-(p * np.log2(p)).sum() / np.log2(len(p))) if len(p) > 1 else 0.0)
            weights.append(after.total())
    ours = Successors.of(Tokens.from_lists(texts))
    assert ours.efficiency() == (pytest.approx(float(np.average(shares, weights=weights))) if weights else None)
    again = Successors.of_arrays(ours.arrays())
    assert again.efficiency() == ours.efficiency()


@given(
    st.lists(st.text(st.sampled_from("aé中🙂 "), max_size=8), max_size=4), st.sampled_from(["raw_bytes", "mistral:v3"])
)
def test_cut_characters_agree_with_a_slow_reference(texts: list[str], row: str) -> None:
    if row != "raw_bytes":
        pytest.importorskip("mistral_common")
    tokenizer = tokenizers.load(row)
    vocabulary = tokenizer.vocabulary()  # type: ignore[attr-defined]
    tokens = tokenizer.encode_batch(texts)
    wide, cut = cut_characters(tokens, texts, vocabulary)
    for place, text in enumerate(texts):
        ids = tokens.document(place).tolist()
        spelled = b"".join(vocabulary.data[vocabulary.offsets[i] : vocabulary.offsets[i + 1]].tobytes() for i in ids)
        lead = len(spelled) - len(text.encode())
        lengths = np.diff(vocabulary.offsets)[ids]
        ends = set((np.cumsum(lengths) - lead).tolist())
        start, expected = 0, {2: [0, 0], 3: [0, 0], 4: [0, 0]}
        for character in text:
            size = len(character.encode())
            if size > 1:
                expected[size][0] += 1
                expected[size][1] += bool(ends & set(range(start + 1, start + size)))
            start += size
        assert [[*pair] for pair in zip(wide[place].tolist(), cut[place].tolist(), strict=True)] == [*expected.values()]


@pytest.mark.data
def test_gpt2_on_the_sample_as_tokeval_counts(data: Path) -> None:
    """TokEval of 2026 on the aligned lines of six languages: characters and those that tokens cut, by width."""
    rows = list(corpora.open_corpus("sample").rows(Tally()))  # type: ignore[attr-defined]
    languages = ("eng_Latn", "deu_Latn", "ell_Grek", "jpn_Jpan", "tha_Thai", "hin_Deva")
    texts = [row[language] for language in languages for row in rows]
    tokenizer = tokenizers.load(f"file:{data / 'tokenizers' / 'gpt2' / 'tokenizer.json'}")
    tokens = tokenizer.encode_batch(texts)
    wide, cut = cut_characters(tokens, texts, tokenizer.vocabulary())  # type: ignore[attr-defined]
    assert (wide.sum(axis=0).tolist(), cut.sum(axis=0).tolist()) == ([3250, 7021, 0], [1122, 5830, 0])
    histogram = np.bincount(tokens.ids, minlength=tokenizer.id_limit).astype(np.uint64)
    assert mean_rank(Counts({}, histogram, Facts.of(tokenizer))) == 80.19122035098367
    assert Successors.of(tokens).efficiency() == pytest.approx(0.7752387372211703, rel=1e-14)


def test_rows_of_documents_join_pieces() -> None:
    rows = DocumentRows()
    a, b = digest_of("a"), digest_of("b")
    for key, opens, size, tokens in ((a, True, 4, 2), (a, False, 6, 3), (b, True, 1, 1), (a, False, 10, 5)):
        rows.add(key, opens, size, tokens)
    assert (rows.bytes, rows.tokens, rows.keys) == ([20, 1], [10, 1], [a, b])
    again = DocumentRows.of_arrays(rows.arrays())
    assert (again.bytes, again.tokens, again.keys) == (rows.bytes, rows.tokens, rows.keys)
    with pytest.raises(InputError):
        DocumentRows.of_arrays({**rows.arrays(), "document tokens": np.array([1, -1])})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = (json.dumps({"text": f"né {place} " * (place + 1)}) for place in range(70))
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    chosen = ("-c", "path:a.jsonl", "-b", "distribution?alpha=0.5,2.5&window=10", "-b", "compression")
    done = call("run", "-t", "raw_bytes", *chosen, "-o", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_a_run_with_a_row_for_each_document(run: Path) -> None:
    results = json.loads((run / "r.json").read_text())["results"]
    values = {
        (one["metric"], one.get("part")): one["value"] for case in results for one in case.get("measurements", ())
    }
    assert values["renyi_entropy_alpha", "alpha=2.5"] == values["renyi_entropy_2.5", None]
    assert values["wide_character_splits", "2 bytes"] == 1
    rows = [one for case in results for one in case.get("measurements", ())]
    without = ("document_bytes_per_token", "mean_rank")
    assert all(one["no_interval"] for one in rows if one["metric"] in without)
    assert call("report", "r.json", "--rederive", cwd=run).returncode == 0
    done = call("documents", "r.json", cwd=run)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 2 * 70
    assert all(row["bytes"] == row["tokens"] for row in rows)
    written = sum(len(json.loads(line)["text"].encode()) for line in (run / "a.jsonl").read_text().splitlines())
    assert sum(int(row["bytes"]) for row in rows[:70]) == written


def test_rows_of_documents_as_parquet(run: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert call("documents", "r.json", "-o", "d.parquet", cwd=run).returncode == 0
    table = parquet.read_table(run / "d.parquet").to_pydict()
    assert table["bytes_per_token"] == [1.0] * 140
    assert "pyharness" not in refused("documents", "r.json", "-o", "d.html", cwd=run)


def test_rows_of_documents_do_not_depend_on_how_many_are_written_at_once(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")

    def written(suffix: str) -> bytes:
        path = run / f"d.{suffix}"
        assert call("documents", "r.json", "-o", path.name, "--force", cwd=run).returncode == 0
        return path.read_bytes()

    whole = {suffix: written(suffix) for suffix in ("csv", "json", "parquet")}
    table = parquet.read_table(run / "d.parquet")
    assert json.loads(whole["json"])[69]["document"] == 70
    monkeypatch.setattr(documents, "ROWS_AT_ONCE", 32)
    assert written("csv") == whole["csv"]
    assert written("json") == whole["json"]
    written("parquet")
    assert parquet.read_table(run / "d.parquet") == table
    groups = parquet.ParquetFile(run / "d.parquet").metadata
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [32, 32, 6] * 2


@pytest.mark.parametrize("wrong", ["alpha=50.1", "window=0", "alpha=nan", "alpha=-1"])
def test_a_wrong_parameter_is_refused(wrong: str, tmp_path: Path) -> None:
    said = refused("run", "-t", "raw_bytes", "-c", "sample", "-b", f"distribution?{wrong}", cwd=tmp_path)
    assert wrong.partition("=")[0] in said


def test_an_order_below_zero_is_out_of_range_and_a_number(tmp_path: Path) -> None:
    said = refused("run", "-t", "raw_bytes", "-c", "sample", "-b", "distribution?alpha=-1", cwd=tmp_path)
    assert "0 to 50" in said


def test_a_record_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a word")
    call("run", "-t", "raw_bytes", "-c", "path:a.txt", "-b", "compression", "-o", "r.json", cwd=tmp_path)
    assert "distribution" in refused("documents", "r.json", cwd=tmp_path)
    (tmp_path / "r.json.state.zip").unlink()
    assert "r.json.state.zip" in refused("documents", "r.json", cwd=tmp_path)


def test_large_and_small_orders_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(bytes(range(1, 128)) * 2)
    chosen = ("-c", "path:a.txt", "-b", "distribution?alpha=0,1,50&window=2,5")
    assert call("run", "-t", "raw_bytes", *chosen, "-o", "r.json", cwd=tmp_path).returncode == 0
    text = call("report", "r.json", "--format", "markdown", cwd=tmp_path).stdout
    (head,) = (line for line in text.splitlines() if "alpha=50" in line)
    assert not {"tokens", "mattr"} & set(head.split())  # one family: no empty columns of another part
    assert "127 B, 1 document" in text or "254 B, 1 document" in text
