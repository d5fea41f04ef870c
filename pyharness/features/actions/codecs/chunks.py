"""Corpora of motion as arrays, chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from pyharness import corpora
from pyharness.features.actions.types import Chunk
from pyharness.types import Corpus, InputError, Tally


def read(corpus: Corpus, tally: Tally) -> Iterator[Chunk]:
    """Stream the chunks of a corpus and count them as its text.

    Raises:
        InputError: it is text and no motion, or its chunks differ in their number of dimensions.
    """
    for one in corpora.read(corpus, tally):
        try:
            row = json.loads(one.text)
            frames = np.array(row["frames"], np.float64)
            left_out = int(row.get("left_out", 0))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise _no_motion(corpus) from None
        if frames.ndim != 2 or not frames.size:
            raise _no_motion(corpus)
        yield Chunk(frames, one.key, one.opens, left_out)


def _no_motion(corpus: Corpus) -> InputError:
    return InputError(
        f"corpus {corpus.name!r} is text, and no clips of motion: name a file of clips, like "
        "'motions:clips.jsonl?chunk=32'"
    )
