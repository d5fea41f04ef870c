"""Files of codecs: what was written comes back; what was cut, edited or made up is refused before anything is made."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.corpora import open_corpus
from pyharness.features.actions import motions
from pyharness.features.actions.codecs import codec_files, streams
from pyharness.features.actions.codecs.quantiles import Quantiles
from pyharness.features.actions.codecs.recipe import CodecRecipe, FittedCodec
from pyharness.features.actions.motions import Clip
from pyharness.types import InputError, Tally

MADE = "motions:made?clips=12&dims=3&chunk=8"
FAST = CodecRecipe(vocab_size=400).fit([MADE])


def altered(fitted: FittedCodec, path: Path, change: Callable[[dict[str, Any]], Any], *, signed: bool = True) -> Path:
    """Write the file of a codec with a change, with the digest that it then has."""
    content = json.loads(codec_files.content_of(fitted))
    del content["digest"]
    change(content)
    path.write_text(json.dumps({**content, "digest": codec_files.digest_of(content) if signed else "sha256:0"}))
    return path


@pytest.mark.parametrize(
    "recipe", [CodecRecipe(vocab_size=400), CodecRecipe(bins=64), CodecRecipe(vocab_size=400, reference=True)]
)
def test_a_codec_comes_back(recipe: CodecRecipe, tmp_path: Path) -> None:
    if recipe.reference:
        pytest.importorskip("tokenizers")
    fitted = recipe.fit([MADE])
    codec_files.save(fitted, tmp_path / "codec.json")
    assert codec_files.is_one(tmp_path / "codec.json")
    found = codec_files.load(tmp_path / "codec.json")
    assert (found.chunk_frames, found.codec.skip, found.source) == (8, 0, fitted.source)
    assert (found.codec.settings, found.codec.notes) == (fitted.codec.settings, fitted.codec.notes)
    assert found.codec.trained_on == fitted.codec.trained_on
    assert len(found.codec.trained_on) == 12
    assert codec_files.meaning_of(found) == codec_files.meaning_of(fitted)
    for one in motions.read_chunks(open_corpus(MADE), Tally()):
        numbers = fitted.codec.quantised(one.frames)
        ids = found.codec.encode(found.codec.quantised(one.frames))
        assert ids.tolist() == fitted.codec.encode(numbers).tolist()
        assert np.array_equal(found.codec.restored(numbers, 8), fitted.codec.restored(numbers, 8))


def test_the_same_clips_give_the_same_file() -> None:
    assert codec_files.content_of(CodecRecipe(vocab_size=400).fit([MADE])) == codec_files.content_of(FAST)


def test_any_byte_changed_or_cut_off_is_noticed(tmp_path: Path) -> None:
    content = codec_files.content_of(FAST)
    path = tmp_path / "codec.json"
    for place in np.random.default_rng(5).integers(0, len(content) - 2, 120).tolist():
        path.write_bytes(content[:place])
        with pytest.raises(InputError):
            codec_files.load(path)
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(InputError):
            codec_files.load(path)


def rules_of(rules: list[int]) -> Callable[[dict[str, Any]], None]:
    return lambda content: content.update(alphabet=1, rules=rules)


DOUBLING = [value for step in range(60) for value in (step, step, step + 1)]  # of 2^60 numbers, were they made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(format="other"), r"codec\.json.*pyharness train fast"),
        (lambda content: content.update(version=2), "is version 2 of pyharness-actions; version 1 can be read"),
        (lambda content: content.update(codec="slow"), "'codec' is 'slow'; known: fast, bins, fast-reference"),
        (lambda content: content.update(low=[0.0]), "'low'.*'high'.*bounds"),
        (lambda content: content.update(low=[9.0, 9.0, 9.0]), "'low'.*'high'.*bounds"),
        (lambda content: content.update(low=[0.0, "1", 2.0]), "'low'.*finite"),
        (lambda content: content.update(low=[0.0, -(10**400), 2.0]), "'low'.*finite"),
        (lambda content: content.update(low=[-1.7e308] * 3, high=[1.7e308] * 3), r"codec\.json.*dimension spans"),
        (lambda content: content.update(scale=0), "'scale' is 0,"),
        (lambda content: content.update(scale="10"), "'scale' is '10',"),
        (lambda content: content.update(minimum=1 << 50), "'minimum' is"),
        (lambda content: content.update(alphabet=1 << 40), "'alphabet' is"),
        (lambda content: content.update(chunk_frames=0), "'chunk_frames' is 0,.* 1 to 4,096"),
        (lambda content: content.update(trained_on=["xyz"]), "'trained_on'.*digest"),
        (lambda content: content["rules"].pop(), "'rules'.*three"),
        (rules_of([0, 5, 1]), "rule 0 .*rule before"),
        (rules_of([0, 0, 2]), "rule 0 .*rule before"),
        (rules_of([0, 0, 0]), r"rule 0 .*\b2 numbers"),
        (lambda content: content.update(alphabet=2, rules=[0, 1, 2, 1, 0, 2]), r"rule 1 .*\bid 2\b.*other"),
        (rules_of(DOUBLING), r"rule 23 .*\b16,777,216 numbers"),
        (
            lambda content: content.update(chunk_frame=9, surprise=1),
            "has a member 'chunk_frame', which version 1 does not know",
        ),
        (lambda content: content.update(bins=64), "has a member 'bins', which version 1 does not know"),
        (lambda content: content.pop("source"), "'source' is 'None', not an object"),
    ],
)
def test_what_contradicts_itself_is_refused(change: Callable[[dict[str, Any]], Any], message: str,
                                            tmp_path: Path) -> None:  # fmt: skip
    with pytest.raises(InputError, match=message):
        codec_files.load(altered(FAST, tmp_path / "codec.json", change))


def test_a_digest_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"codec\.json.*digest is sha256:.*'sha256:"):
        codec_files.load(altered(FAST, tmp_path / "codec.json", lambda _: None, signed=False))


def test_a_bpe_that_the_library_refuses_is_said(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    fitted = CodecRecipe(vocab_size=400, reference=True).fit([MADE])
    path = altered(fitted, tmp_path / "codec.json", lambda content: content.update(tokenizer='{"version": "1.0"}'))
    with pytest.raises(InputError, match=r"\bBPE\b.*refused.* tokenizers: "):
        codec_files.load(path).codec.decode(np.zeros(3, np.uint32), 8)


def test_a_dimension_that_never_moved_in_training_is_said_and_may_move_later(tmp_path: Path) -> None:
    moving = np.cumsum(np.random.default_rng(2).normal(size=(64, 2)), axis=0)
    rows = [np.column_stack([moving, np.full(64, 3.25)]), np.column_stack([moving[::-1], np.linspace(3, 4, 64)])]
    (tmp_path / "clips.jsonl").write_text("".join(json.dumps({"frames": row.tolist()}) + "\n" for row in rows))
    spec = f"motions:{tmp_path / 'clips.jsonl'}?chunk=8"
    codec = CodecRecipe(vocab_size=400).fit([f"shard:0/2:{spec}"]).codec
    assert re.match(r"1 dimensions? .*: 2$", codec.notes[0])
    assert codec.quantiles.unscaled.tolist() == [False, False, True]
    for one in motions.read_chunks(open_corpus(f"shard:1/2:{spec}"), Tally()):
        numbers = codec.quantised(one.frames)
        assert codec.decode(codec.encode(numbers), 8).tolist() == numbers.tolist()
        off = (codec.restored(numbers, 8) - one.frames) / codec.half_widths
        assert np.linalg.norm(off) <= np.sqrt(24) / 20 * (1 + 1e-6)


def test_ids_whose_values_no_number_holds_are_said() -> None:
    bounds = Quantiles(np.zeros(3), np.full(3, 1.79e308))
    fitted = FittedCodec(replace(FAST.codec, quantiles=bounds), 12)
    edge = streams.written(fitted, [Clip("edge", "edge", [[1.79e308] * 3] * 12)])  # rounded up
    with pytest.raises(InputError, match=r"^line: .*values that"):
        list(streams.read(fitted, (("line", line) for line in edge)))


def test_other_files_are_none(tmp_path: Path) -> None:
    assert not codec_files.is_one(tmp_path)
    assert not codec_files.is_one(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    assert not codec_files.is_one(tmp_path / "pipe"), "nobody writes into it"
    (tmp_path / "model.json").write_text('{"format": "pyharness-bpe"}')
    assert not codec_files.is_one(tmp_path / "model.json")
    with pytest.raises(InputError, match=r"model\.json.*pyharness train fast"):
        codec_files.load(tmp_path / "model.json")
    with pytest.raises(InputError, match="cannot read"):
        codec_files.load(tmp_path / "nothing")


def test_meaning_is_what_decides_ids_and_nothing_else() -> None:
    other = FittedCodec(FAST.codec, 16, {"corpora": ["elsewhere"]})
    assert codec_files.meaning_of(other) == codec_files.meaning_of(FAST)
    finer = CodecRecipe(vocab_size=800, scale=11).fit([MADE])
    assert codec_files.meaning_of(finer) != codec_files.meaning_of(FAST)
