"""The benchmark of actions: sums against plain ones, intervals by clip, refusals, and that numbers derive again."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness import run, tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.features.actions import motions
from pyharness.features.actions.benchmark import damaged, rederive
from pyharness.features.actions.codecs import codec_files
from pyharness.features.actions.codecs.fast import FastCodec
from pyharness.features.actions.codecs.recipe import CodecRecipe
from pyharness.features.actions.metrics import COUNTS, ActionState
from pyharness.features.actions.types import Damaged
from pyharness.types import Case, InputError, Measurement, Tally, Unsupported

MADE = "motions:made?clips=40&dims=3&chunk=8"
TRAIN, MEASURED = f"shard:0/4:{MADE}", f"shard:1-3/4:{MADE}"
OPTIONS = "corpus=" + TRAIN.replace("&", "%26")


def measured(row: str, corpus: str = MEASURED) -> Findings:
    """Run the benchmark in this process."""
    spec = tokenizers.resolve(row)
    work = Work(Case("actions", row, corpus), spec, lambda: tokenizers.load(spec), open_corpus(corpus), 1)
    return benchmarks()["actions"].run(work)


def by_name(findings: Findings) -> dict[tuple[str, str | None], Measurement]:
    return {(one.metric, one.part): one for one in findings.measurements}


def test_numbers_are_those_of_plain_sums() -> None:
    row = f"actions:fast?vocab_size=600&{OPTIONS}"
    found, spec = measured(row), tokenizers.resolve(row)
    assert found.status == "ok"
    assert spec.instead is not None
    codec, read = spec.instead.make(spec), list(motions.read_chunks(open_corpus(MEASURED), Tally()))
    tokens = [len(codec.encode(codec.quantised(one.frames))) for one in read]
    made = [codec.restored(codec.quantised(one.frames), 8) for one in read]
    off = np.array([a - one.frames for a, one in zip(made, read, strict=True)])
    value = {key: one.value for key, one in by_name(found).items()}
    assert value["action_clips", None] == 30
    assert value["action_chunks", None] == len(read)
    assert value["tokens_per_chunk", None] == pytest.approx(np.mean(tokens), rel=1e-12)
    assert value["values_per_token", None] == pytest.approx(24 * len(read) / sum(tokens), rel=1e-12)
    scaled = off / codec.half_widths
    assert value["action_rmse", None] == pytest.approx(np.sqrt(np.mean(scaled**2)), rel=1e-6)
    for number in range(3):
        part = f"d{number}"
        assert value["dimension_rmse", part] == pytest.approx(np.sqrt(np.mean(scaled[..., number] ** 2)), rel=1e-6)
        assert value["dimension_rmse_units", part] == pytest.approx(np.sqrt(np.mean(off[..., number] ** 2)), rel=1e-6)
        assert value["largest_action_error", part] == pytest.approx(np.abs(scaled[..., number]).max(), rel=1e-6)
        assert value["largest_action_error_units", part] == pytest.approx(np.abs(off[..., number]).max(), rel=1e-6)
    assert value["unfaithful_chunk_share", None] == 0
    assert value["damaged_failing_share", "unknown"] == value["damaged_failing_share", "deleted"] == 1
    assert found.details["frames_left_out"] == sum(one.left_out for one in read)


def test_replicates_leave_out_a_clip_each() -> None:
    row = f"actions:fast?vocab_size=600&{OPTIONS}"
    spec = tokenizers.resolve(row)
    assert spec.instead is not None
    codec, clips = spec.instead.make(spec), dict[bytes, list[int]]()
    for one in motions.read_chunks(open_corpus(MEASURED), Tally()):
        clips.setdefault(one.clip, []).append(len(codec.encode(codec.quantised(one.frames))))
    kept = [[n for clip, ns in clips.items() if clip != left for n in ns] for left in clips]
    found = by_name(measured(row))["tokens_per_chunk", None]
    assert found.replicates == pytest.approx([np.mean(one) for one in kept], rel=1e-8)


def test_bins_cost_an_id_a_value_and_clamp() -> None:
    value = {key: one.value for key, one in by_name(measured(f"actions:bins?bins=64&{OPTIONS}")).items()}
    assert value["tokens_per_chunk", None] == 24
    assert value["values_per_token", None] == 1
    assert 0 < float(value["unfaithful_chunk_share", None] or 0) < 1
    assert value["damaged_failing_share", "replaced"] == 0


def test_the_processor_of_the_authors_loses_what_ours_escapes() -> None:
    pytest.importorskip("tokenizers")
    options = f"scale=40&{OPTIONS}"
    found = [measured(f"actions:fast?{more}vocab_size=600&{options}") for more in ("", "reference=true&")]
    ours, theirs = ({key: one.value for key, one in by_name(one).items()} for one in found)
    assert ours["unfaithful_chunk_share", None] == 0
    assert float(ours["action_outside_share", None] or 0) > 0
    assert float(theirs["unfaithful_chunk_share", None] or 0) > 0
    assert float(theirs["action_rmse", None] or 0) > 2 * float(ours["action_rmse", None] or 0)


def test_every_number_derives_again() -> None:
    found = measured(f"actions:bins?bins=64&{OPTIONS}")
    again = rederive({name: np.array(array) for name, array in found.state.items()}, Case("actions", "r", "c"))
    assert again.measurements == found.measurements
    for name in found.state:
        with pytest.raises(InputError):
            rederive({key: array for key, array in found.state.items() if key != name}, Case("actions", "r", "c"))
        with pytest.raises(InputError):
            rederive({**found.state, name: found.state[name][:-1]}, Case("actions", "r", "c"))


def test_errors_too_large_to_be_kept_are_said() -> None:
    state = ActionState.empty(np.ones(1))
    state.add(dict.fromkeys(COUNTS, 1), np.full((4, 1), 2.0**40))  # as far as bins go
    assert ActionState.of_arrays(state.arrays()).squares[0, 0] == 4 << 112
    with pytest.raises(InputError, match=r"1e\+17 half ranges"):
        state.add(dict.fromkeys(COUNTS, 1), np.full((4, 1), 1e17))


def test_clips_of_the_training_part_are_refused() -> None:
    with pytest.raises(InputError, match=r"used to fit .*shard:"):
        measured(f"actions:fast?vocab_size=600&{OPTIONS}", MADE)
    with pytest.raises(InputError, match=r"used to fit .*shard:"):  # whatever the chunks are
        measured(f"actions:fast?vocab_size=600&{OPTIONS}", TRAIN.replace("chunk=8", "chunk=16"))


@pytest.mark.parametrize(
    ("row", "corpus", "error", "message"),
    [
        ("raw_bytes", MEASURED, Unsupported, "'raw_bytes'.*actions:fast"),
        (f"actions:fast?{OPTIONS}", "sample:prose", InputError, "'sample:prose' is text"),
        (
            f"actions:fast?{OPTIONS}",
            "motions:made?dims=4",
            InputError,
            "frames of 4 values; this codec .* to 3",
        ),
        (f"actions:fast?vocab_size=40&{OPTIONS}", MEASURED, InputError, "vocab_size=40 is too small"),
        (f"actions:fast?{OPTIONS}|motions:made", MEASURED, InputError, "'?motions:made.*chunk="),
    ],
)
def test_what_cannot_be_measured_says_so(row: str, corpus: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        measured(row, corpus)


def test_frames_that_begin_elsewhere_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "clips.jsonl"
    clip = [[float(value) for value in (step, step % 3, -step)] for step in range(8)]
    path.write_text(json.dumps({"frames": clip}))
    fitted = CodecRecipe(bins=4).fit(["motions:made?clips=12&dims=3&chunk=8"])
    for skip, said in ((0, None), (1, r"clips\.jsonl.*skip=0.*skip=1")):
        codec_files.save(replace(fitted, codec=replace(fitted.codec, skip=skip)), tmp_path / "codec.json")
        if said is None:
            assert measured(f"actions:{tmp_path / 'codec.json'}", f"motions:{path}?chunk=8").status == "ok"
        else:
            with pytest.raises(InputError, match=said):
                measured(f"actions:{tmp_path / 'codec.json'}", f"motions:{path}?chunk=8")


def test_rows_of_actions_are_no_tokenizers() -> None:
    with pytest.raises(Unsupported, match=r"actions:fast.*benchmark actions"):
        tokenizers.load(f"actions:fast?{OPTIONS}")


def test_every_benchmark_of_text_skips_them() -> None:
    spec = tokenizers.resolve(f"actions:bins?{OPTIONS}")
    texts = {"none": None, "parallel": open_corpus("sample:parallel")}
    for benchmark in benchmarks().values():
        if benchmark.name != "actions":
            parameters = {name: one[0] if isinstance(one, list) else one for name, one in benchmark.parameters.items()}
            corpus = texts.get(benchmark.corpus, open_corpus("sample:prose"))
            case = Case(benchmark.name, spec.name, None if corpus is None else corpus.name, parameters)
            with pytest.raises(Unsupported):
                benchmark.run(Work(case, spec, lambda: tokenizers.load(spec), corpus, 1))


def test_a_codec_that_loses_something_gets_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(self: FastCodec, ids: Any, frames: int) -> Any:
        del ids
        return np.zeros(frames * self.dimensions, np.int64)

    monkeypatch.setattr(FastCodec, "decode", decode)
    found = measured(f"actions:fast?vocab_size=600&{OPTIONS}")
    assert found.status == "failed"
    assert re.search(r"actions:fast.*quantised", str(found.reason))
    assert not found.measurements


def test_damage_is_what_it_says_and_the_same_again() -> None:
    ids = np.arange(20, dtype=np.uint32)
    kinds = dict(damaged(ids, 50, b"one"))
    assert int((kinds["replaced"] != ids).sum()) == 1
    assert kinds["replaced"].max() < 50
    assert len(kinds["deleted"]) == 19
    assert sorted(set(kinds["unknown"].tolist()) - set(ids.tolist())) == [50]
    assert all(np.array_equal(a, kinds[kind]) for kind, a in damaged(ids, 50, b"one"))
    places = {int(np.flatnonzero(dict(damaged(ids, 50, bytes([n])))["unknown"] == 50)[0]) for n in range(40)}
    assert len(places) > 10
    assert not list(damaged(ids[:0], 50, b"one"))
    with pytest.raises(Damaged):
        raise Damaged("is an error of values")


def test_a_run_shows_the_tables(tmp_path: Path) -> None:
    record = run(
        tokenizers=[f"actions:fast?vocab_size=600&{OPTIONS}", "raw_bytes"], corpora=[MEASURED, "sample:prose"],
        benchmarks=["actions"], output=tmp_path / "record.json",
    )  # fmt: skip
    data = (tmp_path / "record.json").read_text(encoding="utf-8")
    assert '"codec": {' in data
    assert '"frames_left_out"' in data
    del record
