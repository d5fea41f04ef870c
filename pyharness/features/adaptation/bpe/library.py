"""What the library that a file is made for makes of it: ids of texts, to compare with ours before a file is written."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.model.model import BpeModel
from pyharness.types import InputError
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from pyharness.vocabularies.ranks.rank_file import read_ranks
from pyharness.vocabularies.ranks.tekken import read_tekken

_LIBRARIES = {
    "huggingface": "tokenizers",
    "rank_file": "tiktoken",
    "tekken": "tiktoken",
    "sentencepiece": "sentencepiece",
}


def check_library(data: bytes, model: BpeModel, texts: Sequence[str], label: str) -> str | None:
    """Refuse a file that its library cannot load, or that gives other ids there than here.

    Args:
        data: the file.
        model: what :func:`pyharness.bpe.import_model` makes of it.
        texts: what to encode; special tokens in it are plain text.
        label: what errors call the file.

    Returns:
        The library that agrees; None where it is not installed, or cannot be asked: tiktoken leaves out text that a
        split pattern of one's own does not match.

    Raises:
        InputError: the library refuses the file, or disagrees.
    """
    kind = str(model.origin.get("kind"))
    library = _LIBRARIES.get(kind)
    pattern = _expression(model) if library == "tiktoken" else ""
    if library is None or pattern is None or find_spec(library) is None:
        return None
    try:
        found = _ids(kind, data, model, pattern, texts)
    except Exception as error:  # libraries raise what they like
        raise InputError(f"{label}: {library} refuses the adapted file: {str(error)[:200]}") from None
    ours = BpeTokenizer(model).encode_batch(texts)
    for index, (text, ids) in enumerate(zip(texts, found, strict=True)):
        if ours.document(index).tolist() != ids:
            raise InputError(f"{label}: {library} reads the adapted file otherwise than it is meant: {text[:60]!r}")
    return library


def _expression(model: BpeModel) -> str | None:
    pattern = SPLIT_PATTERNS.get(model.splitter) if isinstance(model.splitter, str) else None
    return pattern.expressions[0] if pattern is not None and len(pattern.expressions) == 1 else None


def _ids(kind: str, data: bytes, model: BpeModel, pattern: str, texts: Sequence[str]) -> list[list[int]]:
    if kind == "huggingface":
        return _of_tokenizers(data, model, texts)
    if kind == "sentencepiece":
        import sentencepiece

        pieces: list[list[int]] = sentencepiece.SentencePieceProcessor(model_proto=data).encode(list(texts))
        return pieces
    import tiktoken

    ranks = read_ranks(data, "it") if kind == "rank_file" else dict(read_tekken(data, "it").ranks)
    special = dict(model.special)
    return tiktoken.Encoding(
        "adapted", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special
    ).encode_ordinary_batch(list(texts))


def _of_tokenizers(data: bytes, model: BpeModel, texts: Sequence[str]) -> list[list[int]]:
    import tokenizers

    library: Any = tokenizers.Tokenizer.from_buffer(data)
    for token in model.added:
        if (given := library.token_to_id(token.content)) != token.id:
            raise ValueError(f"it gives the id {given} to {token.content!r}, which has {token.id}")
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True
    library.model.dropout = None
    return [encoded.ids for encoded in library.encode_batch(list(texts), add_special_tokens=False)]
