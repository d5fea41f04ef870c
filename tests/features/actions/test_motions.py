"""Clips of motion as a corpus: chunks, what is left out, shards by clip, and what is refused."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.corpora import open_corpus
from pyharness.features.actions import motions
from pyharness.features.actions.motions import clips_behind, clips_of
from pyharness.features.actions.types import ActionChunk
from pyharness.types import InputError, Tally, kind_of

RANDOM = np.random.default_rng(1)
CLIPS = [RANDOM.normal(size=(length, 5)).round(4).tolist() for length in (10, 3, 8, 4, 13)]


def written(path: Path, clips: list[Any] = CLIPS) -> Path:
    """Write a file of clips."""
    path.write_text("".join(json.dumps({"id": f"c{n}", "frames": clip}) + "\n" for n, clip in enumerate(clips)))
    return path


def chunks_of(spec: str, tally: Tally | None = None) -> list[ActionChunk]:
    """Read a corpus."""
    return list(motions.read_chunks(open_corpus(spec), Tally() if tally is None else tally))


def test_clips_are_cut_and_what_is_left_is_counted(tmp_path: Path) -> None:
    tally = Tally()
    found = chunks_of(f"motions:{written(tmp_path / 'a.jsonl')}?chunk=4&skip=1", tally)
    expected = [np.array(CLIPS[n])[start : start + 4, 1:] for n, start in
                [(0, 0), (0, 4), (2, 0), (2, 4), (3, 0), (4, 0), (4, 4), (4, 8)]]  # fmt: skip
    assert all(np.array_equal(one.frames, frames) for one, frames in zip(found, expected, strict=True))
    assert [one.opens for one in found] == [True, False, True, False, True, True, False, False]
    assert [one.left_out for one in found] == [0, 2, 0, 0, 0, 0, 0, 1]
    assert len({one.clip for one in found}) == 4
    assert (tally.empty_documents, tally.cut_documents, tally.documents) == (1, 3, 8)  # the clip of 3 frames


def test_compressed_files_are_the_same_clips(tmp_path: Path) -> None:
    plain = written(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "a.jsonl.xz").write_bytes(lzma.compress(plain.read_bytes()))
    read = [[one.frames.tolist() for one in chunks_of(f"motions:{plain}{suffix}?chunk=4")] for suffix in
            ("", ".gz", ".xz")]  # fmt: skip
    assert read[0] == read[1] == read[2]


def test_chunks_of_one_frame_are_frames(tmp_path: Path) -> None:
    found = chunks_of(f"motions:{written(tmp_path / 'a.jsonl')}?chunk=1")
    assert [one.frames.shape for one in found] == [(1, 5)] * 38


def test_shards_keep_clips_whole_and_know_that_they_are_motion(tmp_path: Path) -> None:
    spec = f"motions:{written(tmp_path / 'a.jsonl')}?chunk=4"
    shards = [chunks_of(f"shard:{n}/2:{spec}") for n in range(2)]
    assert [{one.clip for one in shard} for shard in shards] == [
        {one.clip for one in chunks_of(spec) if one.clip in clips}
        for clips in ({one.clip for one in shard} for shard in shards)
    ]
    assert not {one.clip for one in shards[0]} & {one.clip for one in shards[1]}
    assert sum(map(len, shards)) == 8
    shard = open_corpus(f"shard:0/2:{spec}")
    assert kind_of(shard) == "motions"
    assert clips_behind(shard).chunk_frames == 4
    with pytest.raises(InputError, match="is text"):
        clips_behind(open_corpus("shard:0/2:sample"))


def test_a_clip_is_the_same_whatever_the_chunk_and_its_name(tmp_path: Path) -> None:
    one = written(tmp_path / "a.jsonl")
    two = tmp_path / "b.jsonl"
    two.write_text(one.read_text().replace('"c', '"other'))
    found = [{chunk.clip for chunk in chunks_of(f"motions:{path}?chunk={size}")} for path, size in
             ((one, 4), (one, 2), (two, 4))]  # fmt: skip
    assert found[0] == found[2] < found[1]


def test_clips_of_several_widths_are_chosen_by_dims(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", [[[1.0, 2.0]] * 4, [[1.0]] * 4])
    with pytest.raises(InputError, match=r"line 1 .*\b2 values.*line 2 .*\b1\b.*\?dims="):
        chunks_of(f"motions:{path}?chunk=2")
    assert [one.frames.shape for one in chunks_of(f"motions:{path}?chunk=2&dims=1")] == [(2, 1)] * 2
    with pytest.raises(InputError, match=r"a\.jsonl.*\b7 values.*dims="):
        chunks_of(f"motions:{path}?dims=7")


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([[1, 2], [1]], r"line 1: frame 1 .*\b1 values.*frame 0 .*\b2\b"),
        ([[1, 2], [1, 2, 3]], r"frame 1 .*\b3 values.*frame 0 .*\b2\b"),
        ([[1, float("nan")]], r"frame 0 .*finite number \(NaN"),
        ([[1, float("inf")]], "frame 0 .*finite number"),
        ([[1, 10**400]], "frame 0 .*finite number"),
        ([[1, "2"]], "frame 0 has a string among its values"),
        ([[1, True]], "a boolean among its values"),
        ([[1, None]], "null among its values"),
        ([[1], 2], "frame 1 is a number, not a list"),
        ([], "line 1: 'frames' is a list,"),
        ({"a": 1}, "line 1: 'frames' is an object,"),
        ([[]], "frame 0 has 0 values"),
        ([[1, 2]] * 3, r"a\.jsonl.*chunk=4 .*\b3; .*chunk="),
    ],
)
def test_what_is_no_clip_is_refused(tmp_path: Path, frames: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chunks_of(f"motions:{written(tmp_path / 'a.jsonl', [frames])}?chunk=4")


def test_a_clip_without_a_name_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"id": one, "frames": [[1]]} for one in (None, "None", 7, "")] + [{"frames": [[1]]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [clip.name for clip in clips_of(path)] == ["line 1", "None", "7", "", "line 5"]


@pytest.mark.parametrize(("name", "kind"), [(["a"], "a list"), ({"a": 1}, "an object"), (True, "a boolean")])
def test_a_name_is_text_or_a_number(tmp_path: Path, name: Any, kind: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": name, "frames": [[1]]}))
    with pytest.raises(InputError, match=f"line 1: 'id' is {kind}; .*text.* whole number"):
        list(clips_of(path))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("motions", "names nothing"),
        ("motions:nowhere.jsonl", r"no file 'nowhere\.jsonl'"),
        ("motions:{folder}/a.txt", r"a\.txt .*JSON Lines.* clips\.jsonl\.xz"),
        ("motions:{folder}/a.jsonl?chunk=0", "chunk=0 .*whole number.* 1 to 4,096"),
        ("motions:{folder}/a.jsonl?chunk=2.5", r"chunk=2\.5 .*whole number.* 1 to 4,096"),
        ("motions:{folder}/a.jsonl?skip=5", "frames have 5 values, so skip=5 leaves none"),
        ("motions:{folder}/a.jsonl?field=angles", "has no field 'angles'"),
        ("motions:{folder}/a.jsonl?clips=3", "clips= .*motions:made"),
        ("motions:made?skip=1", "skip= .*motions:made"),
        ("motions:{folder}/a.jsonl?chunk=4&max_bytes=10", r"max_bytes=10 .*\d+ bytes"),
        ("sample:prose", r"'sample:prose' is text.*'motions:.*\?chunk=32'"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, spec: str, message: str) -> None:
    written(tmp_path / "a.jsonl")
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(InputError, match=message):
        chunks_of(spec.format(folder=tmp_path))


def test_made_clips_are_the_same_everywhere() -> None:
    found = chunks_of("motions:made?clips=8&chunk=16&dims=3")
    assert len({one.clip for one in found}) == 8
    again = chunks_of("motions:made?clips=12&chunk=16&dims=3")
    assert all(np.array_equal(a.frames, b.frames) for a, b in zip(found, again, strict=False))
    assert found[0].frames[0].tolist() == [0.688818, -0.952749, 0.0]
    assert set(np.concatenate([one.frames[:, 2] for one in found]).tolist()) == {0.0, 1.0}
    assert open_corpus("motions:made").smoke_test
