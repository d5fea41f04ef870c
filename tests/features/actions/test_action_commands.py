"""``train fast``, ``encode`` and ``decode`` of clips: there and back, and one line for what is wrong."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pyharness.cli import main
from pyharness.features.actions.codecs.fast import cosine_transform
from pyharness.features.actions.motions import made_clips

CLIPS = [{"id": name, "frames": [[0.04, *frame] for frame in frames]} for name, frames in made_clips(10, 3)]


def pyharness(*arguments: object, given: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments], input=given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of clips whose first value is a duration, a codec, and a stream."""
    made = tmp_path_factory.mktemp("actions")
    lines = "".join(json.dumps(one) + "\n" for one in CLIPS)
    (made / "clips.jsonl").write_text(lines)
    (made / "clips.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    spec = f"shard:0/2:motions:{made / 'clips.jsonl'}?chunk=16&skip=1"
    trained = pyharness("train", "fast", "-c", spec, "--vocab-size", 400, "--out", made / "codec")
    assert trained.exit_code == 0, trained.output
    assert "5 in " in trained.output
    stream = pyharness("encode", made / "codec" / "actions.json", made / "clips.jsonl")
    assert stream.exit_code == 0, stream.output
    (made / "ids.jsonl").write_bytes(stream.stdout_bytes)
    return made


def test_clips_come_back_within_half_a_step(folder: Path) -> None:
    done = pyharness("decode", f"actions:{folder / 'codec' / 'actions.json'}", folder / "ids.jsonl")
    assert done.exit_code == 0
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in found] == [one["id"] for one in CLIPS]
    content = json.loads((folder / "codec" / "actions.json").read_text())
    widths = (np.array(content["high"]) - np.array(content["low"])) / 2
    for clip, made in zip(CLIPS, found, strict=True):
        off = (np.array(made["frames"]) - np.array(clip["frames"])[:, 1:]) / widths
        assert off.shape == (len(clip["frames"]), 3)
        for start in range(0, len(off), 16):
            assert np.abs(cosine_transform(off[start : start + 16])).max() <= 0.05 * (1 + 1e-6)


def test_a_stream_says_all_that_decoding_needs(folder: Path) -> None:
    header, *lines, end = [json.loads(line) for line in (folder / "ids.jsonl").read_text().splitlines()]
    assert header["codec"].keys() == {"codec", "dimensions", "minimum", "scale"}
    assert (header["chunk_frames"], header["codec"]["dimensions"], header["codec"]["scale"]) == (16, 3, 10)
    assert (end["clips"], end["chunks"]) == (10, len(lines))
    assert sum(line["frames"] for line in lines) == sum(len(one["frames"]) for one in CLIPS)


def test_compressed_clips_give_the_same_stream(folder: Path) -> None:
    done = pyharness("encode", folder / "codec" / "actions.json", folder / "clips.jsonl.xz")
    assert done.stdout_bytes == (folder / "ids.jsonl").read_bytes()
    named = pyharness("encode", folder / "codec" / "actions.json", f"motions:{folder / 'clips.jsonl'}?dims=4&skip=1")
    assert named.stdout_bytes == done.stdout_bytes


def damaged(lines: list[str], kind: str) -> list[str]:
    row = json.loads(lines[2])
    if kind == "cut off":
        return lines[:5]
    if kind == "cut within a line":
        return [*lines[:-1], lines[-1][:-30]]
    if kind == "a line missing":
        return [*lines[:2], *lines[3:]]
    if kind == "the first missing":
        return [lines[0], *lines[2:]]
    if kind == "a clip missing":
        last = max(number for number, line in enumerate(lines[:-1]) if json.loads(line).get("chunk") == 0)
        return [*lines[:last], lines[-1]]
    if kind == "other minimum":
        return [lines[0].replace('"minimum": -', '"minimum": -1'), *lines[1:]]
    if kind == "other codec":
        return [lines[0].replace('"digest": "sha256:', '"digest": "sha256:0'), *lines[1:]]
    if kind == "no header":
        return lines[1:]
    if kind == "twice":
        return lines * 2
    changes = {
        "unknown id": {"ids": [999_999, *row["ids"][1:]]}, "no id": {"ids": [-1]},
        "id missing": {"ids": row["ids"][1:]},
        "other frames": {"frames": 7}, "too many frames": {"frames": 10**9}, "other clip": {"clip": "elsewhere"},
    }  # fmt: skip
    return [*lines[:2], json.dumps({**row, **changes[kind]}), *lines[3:]]


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("cut off", r"line 5\b.*last"),
        ("cut within a line", r"line 78\b.*cut off"),
        ("a line missing", r"line 3\b.*chunk 2\b.*\b1\b"),
        ("the first missing", r"line 2\b.*chunk 1\b.* 0\b"),
        ("a clip missing", r"line 69\b.*altered"),
        ("other minimum", r"line 1\b.*minimum\b.* -1\d"),
        ("other codec", r"line 1\b.*digest\b.*sha256:0"),
        ("no header", r"line 1\b.*header"),
        ("twice", r"line 79\b.*end of the stream"),
        ("unknown id", r"line 3\b.*\b999,999\b"),
        ("no id", r"line 3\b.*'ids'.*-1\b"),
        ("id missing", r"line 3\b.* coefficients.*\b16 frames"),
        ("other frames", r"line 3\b.*\b21 coefficients"),
        ("too many frames", r"line 3\b.*\b1000000000 frames.*\b4,096\b"),
        ("other clip", r"line 3\b.*'elsewhere'.*'made-0'"),
    ],
)
def test_a_stream_that_is_not_as_it_was_is_refused(folder: Path, kind: str, named: str) -> None:
    lines = damaged((folder / "ids.jsonl").read_text().splitlines(), kind)
    done = pyharness("decode", folder / "codec" / "actions.json", given="\n".join(lines).encode())
    assert done.exit_code == 2
    assert re.search(named, done.stderr)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("encode", "{codec}"), r"\.jsonl\.xz.*standard"),
        (("encode", "{codec}", "-"), r"\.jsonl\.xz.*standard"),
        (("encode", "{codec}", "{folder}/nothing.jsonl"), r"no file.*nothing\.jsonl"),
        (("encode", "{codec}", "{folder}/wide.jsonl"), r"wide\.jsonl.*\b6 values.*\b4\b.*\b1\b.*dims=4&skip=1"),
        (("encode", "{codec}", "motions:{folder}/clips.jsonl"), r"clips\.jsonl.*skip=0.*skip=1"),
        (("encode", "{codec}", "motions:{folder}/clips.jsonl?skip=1&dims=9"), r"clips\.jsonl.*no clip.*dims="),
        (("encode", "{codec}", "{folder}/far.jsonl"), r"far\.jsonl.*frames from 0\b.* 1\.\d+e\+30\d steps"),
        (("encode", "{codec}", "{folder}/farthest.jsonl"), r"farthest\.jsonl.*frames from 0\b.*too many"),
        (
            ("train", "fast", "-c", "motions:{folder}/farthest.jsonl?chunk=3", "--out", "{folder}/new"),
            "dimension 1 spans",
        ),
        (("train", "fast", "-c", "motions:made", "--threads", "-3", "--out", "{folder}/new"), "no option --threads"),
        (("encode", "{codec}", "{folder}/clips.jsonl", "--lines"), "--lines is for text"),
        (("decode", "{codec}", "{folder}/ids.jsonl", "--format", "json"), "--format is for text"),
        (("decode", "{codec}", "{folder}/empty"), "header.*pyharness encode"),
        (("train", "fast", "--out", "{folder}/new"), r"fast\b.*-c motions:"),
        (("train", "fast", "-c", "sample", "--out", "{folder}/new"), "'sample' is text"),
        (
            ("train", "fast", "-c", "motions:made", "--pattern", "gpt2", "--out", "{folder}/new"),
            "no option --pattern",
        ),
        (("train", "fast", "-c", "motions:made", "--scale", "0", "--out", "{folder}/new"), "scale=0 is not from"),
        (("train", "fast", "-c", "motions:made", "--vocab-size", "20", "--out", "{folder}/new"), "is too small"),
        (("train", "fast", "-c", "motions:made", "--out", "{folder}/codec"), r"/codec'.*--force"),
        (
            ("train", "bpe", "--vocab-size", "300", "--scale", "3", "--out", "{folder}/new"),
            "no option --scale; trainers with it: fast",
        ),
        (("train", "bpe", "--out", "{folder}/new"), "needs vocab_size: give --vocab-size"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, arguments: tuple[str, ...], named: str) -> None:
    (folder / "wide.jsonl").write_text(json.dumps({"frames": [[1, 2, 3, 4, 5, 6]] * 3}) + "\n")
    (folder / "far.jsonl").write_text(json.dumps({"frames": [[0, 1e300, 2, 3]] * 3}) + "\n")
    wide = [[0, 1.7e308 * (-1) ** step, 2, 3] for step in range(3)]
    (folder / "farthest.jsonl").write_text(json.dumps({"frames": wide}) + "\n")
    (folder / "empty").write_text("")
    filled = [one.format(folder=folder, codec=folder / "codec" / "actions.json") for one in arguments]
    done = pyharness(*filled)
    assert done.exit_code == 2
    assert re.search(named, done.stderr)
    assert not (folder / "new").exists()


def test_no_clips_make_no_stream(folder: Path) -> None:
    (folder / "none.jsonl").write_text("\n")
    done = pyharness("encode", folder / "codec" / "actions.json", folder / "none.jsonl")
    assert done.exit_code == 2
    assert re.search(r"none\.jsonl.* no clip", done.stderr)
    assert not done.stdout
    both = pyharness("encode", folder / "codec" / "actions.json", folder / "none.jsonl", folder / "clips.jsonl")
    assert both.stdout_bytes == (folder / "ids.jsonl").read_bytes()


def test_a_line_without_end_is_not_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyharness.features.actions.commands.MOST_LINE_BYTES", 400)
    header = (folder / "ids.jsonl").read_bytes().splitlines(keepends=True)[0]
    done = pyharness("decode", folder / "codec" / "actions.json", given=header + b"[" * 500)
    assert done.exit_code == 2
    assert "standard input line 2 has more than 400 bytes" in done.stderr


def test_a_codec_is_replaced_with_force(folder: Path) -> None:
    spec = f"motions:{folder / 'clips.jsonl'}?chunk=16&skip=1"
    for more, status in (((), 0), ((), 2), (("--force", "-q"), 0)):
        done = pyharness("train", "fast", "-c", spec, "--vocab-size", 400, "--out", folder / "again", *more)
        assert done.exit_code == status
    assert done.output == ""
