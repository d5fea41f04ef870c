"""Units that are tokens: where they end, against offsets that are added up token by token."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import tokenizers
from pyharness.tokenizers.segmenting import segmenter_of
from pyharness.types import HasVocabulary, Unsupported, Vocabulary

loaded = cache(tokenizers.load)
units_of = cache(lambda row: segmenter_of(loaded(row)))

TEXTS = st.lists(st.text("ab é日🇪\n .", max_size=20), max_size=8)


@cache
def vocabulary_of(row: str) -> Vocabulary:
    tokenizer = loaded(row)
    assert isinstance(tokenizer, HasVocabulary)
    return tokenizer.vocabulary()  # 200,000 entries: made once, not for each text


def reference(row: str, text: str) -> list[int] | None:
    """Ends of the units of one text; None where tokens spell something else."""
    vocabulary, ends, at = vocabulary_of(row), list[int](), 0
    pieces = [vocabulary[int(token)] for token in loaded(row).encode_batch([text]).ids]
    spelled, data = b"".join(pieces), text.encode()
    if spelled not in (data, b" " + data):
        return None
    before = len(spelled) - len(data)
    for piece in pieces:
        at += len(piece)
        if piece and at > before:
            ends.append(at - before)
    return ends


@pytest.mark.parametrize("row", ["raw_bytes", "mistral:v3", "tiktoken:o200k_base"])
@given(texts=TEXTS)
def test_units_end_where_tokens_do(row: str, texts: list[str]) -> None:
    found = units_of(row).segment_batch(texts)
    for index, text in enumerate(texts):
        expected = reference(row, text)
        assert bool(found.missing[index]) == (expected is None)
        assert found.document(index).tolist() == (expected or [])


def test_hidden_vocabularies_say_so() -> None:
    class Hidden:
        pass

    with pytest.raises(Unsupported, match="expose"):
        segmenter_of(Hidden())  # type: ignore[arg-type]
