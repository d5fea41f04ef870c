"""From clips of motion to a codec, for ``pyharness train fast`` and the rows ``actions:``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pyharness.corpora import open_corpus
from pyharness.features.actions import motions
from pyharness.features.actions.codecs.bins import BinCodec
from pyharness.features.actions.codecs.fast import FastCodec
from pyharness.features.actions.codecs.quantiles import Quantiles
from pyharness.features.actions.codecs.reference import ReferenceCodec
from pyharness.features.actions.declarations import DEFAULT_SCALE, DEFAULT_VOCABULARY
from pyharness.features.actions.types import ActionChunk, ActionCodec, MotionCorpus
from pyharness.types import Digest, InputError, Tally

Codec = FastCodec | BinCodec | ReferenceCodec
DEFAULT_BINS = 256
LARGEST_SCALE = 1e6
LARGEST_VOCABULARY = 1 << 20


@dataclass(frozen=True, slots=True)
class FittedCodec:
    """A codec and the other members of its file."""

    codec: Codec
    chunk_frames: int
    source: Mapping[str, Any] = field(default_factory=dict)  # clips of the fit; JSON values


@dataclass(frozen=True, slots=True)
class CodecRecipe:
    """Kind and sizes of a codec."""

    bins: int | None = None  # of a codec of bins; None: FAST
    scale: float = DEFAULT_SCALE
    vocab_size: int = DEFAULT_VOCABULARY
    reference: bool = False

    def __post_init__(self) -> None:
        """Refuse impossible sizes."""
        if self.bins is not None and not 2 <= self.bins <= LARGEST_VOCABULARY:
            raise InputError(f"bins={self.bins} is not from 2 to {LARGEST_VOCABULARY:,}")
        if not (math.isfinite(self.scale) and 1 / LARGEST_SCALE <= self.scale <= LARGEST_SCALE):
            raise InputError(f"scale={self.scale:g} is not from {1 / LARGEST_SCALE:g} to {LARGEST_SCALE:g}")
        if not 2 <= self.vocab_size <= LARGEST_VOCABULARY:
            raise InputError(f"vocab_size={self.vocab_size} is not from 2 to {LARGEST_VOCABULARY:,}")

    def fit(
        self, corpora: Sequence[str], tally: Tally | None = None, progress: Callable[[int], None] | None = None
    ) -> FittedCodec:
        """Read clips and fit a codec to them; all their chunks are held in memory.

        Raises:
            InputError: a corpus is no motion; the corpora have no chunk, or differ in ``chunk=``, ``skip=`` or
                dimensions; or the codec cannot be fitted to them.
        """
        opened = list(map(open_corpus, corpora))
        shapes = {(one.chunk_frames, one.skip) for one in map(motions.clips_behind, opened)}
        if len(shapes) > 1:
            raise InputError(f"{' and '.join(corpora)} differ in chunk= or skip=; a codec is fitted to one")
        counted = Tally() if tally is None else tally
        read = [chunk for one in opened for chunk in motions.read_chunks(one, counted)]
        chunk_frames, skip = next(iter(shapes))
        codec = replace(self._fit(read, progress), trained_on=frozenset(one.clip for one in read), skip=skip)
        left_out, short = sum(one.left_out for one in read), counted.empty_documents
        source = {
            "corpora": list(corpora), "clips": len(codec.trained_on), "chunks": len(read), "frames_left_out": left_out,
            "clips_left_out": short, "digest": f"{counted.digest:032x}",
        }  # fmt: skip
        return FittedCodec(replace(codec, notes=tuple(_notes(codec, self.vocab_size))), chunk_frames, source)

    def _fit(self, read: Sequence[ActionChunk], progress: Callable[[int], None] | None) -> Codec:
        frames = [one.frames for one in read]
        if not frames:
            raise InputError("there is nothing to learn from: the training part has no chunk")
        if len(widths := {one.shape[1] for one in frames}) > 1:
            raise InputError(
                f"frames have {' and '.join(map(str, sorted(widths)))} values; a codec is fitted to one robot: choose "
                "clips with dims="
            )
        quantiles = Quantiles.of(np.concatenate(frames))
        if self.bins is not None:
            return BinCodec(quantiles, self.bins)
        if self.reference:
            return ReferenceCodec.fit(frames, quantiles, self.scale, self.vocab_size)
        return FastCodec.fit(frames, quantiles, self.scale, self.vocab_size, progress)


def _notes(codec: Codec, asked: int) -> list[str]:
    notes = []
    if unscaled := np.flatnonzero(codec.quantiles.unscaled).tolist():
        named = ", ".join(map(str, unscaled[:8])) + (", .." if len(unscaled) > 8 else "")
        notes.append(f"{len(unscaled)} dimensions have no spread in the training part and keep their unit: {named}")
    if isinstance(codec, FastCodec) and codec.vocab_size < asked:
        notes.append(f"{codec.vocab_size:,} ids of {asked:,}: no pair of the training part occurs twice any more")
    return notes


def refuse_others(codec: ActionCodec, corpus: MotionCorpus) -> None:
    """Refuse clips read with another ``skip``: their frames may have as many values, but these are different ones."""
    if corpus.skip != codec.skip:
        raise InputError(
            f"corpus {corpus.name!r} is read with skip={corpus.skip}, and the codec was fitted to clips read with "
            f"skip={codec.skip}; write skip={codec.skip}"
        )


def refuse_training(codec: ActionCodec, clip: Digest) -> None:
    """Refuse a clip from the codec's fit."""
    if clip in codec.trained_on:
        raise InputError(
            "a measured clip was also used to fit the codec; give other clips, such as another shard: of the corpus"
        )
