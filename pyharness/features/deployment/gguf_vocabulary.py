"""The vocabulary of a GGUF file as a file that our engine runs: a tokenizer.json, or a SentencePiece model.

What llama.cpp does with it decides, also where the original tokenizer does more: no normaliser, tokens of the type
CONTROL are text, those of the type USER_DEFINED are matched first. Source: docs/deployment.md "GGUF files".
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

from pyharness.features.deployment.gguf_file import Value
from pyharness.types import InputError
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID, Kind
from pyharness.vocabularies.huggingface.file import AddedToken
from pyharness.vocabularies.huggingface.pre_tokenizer import BYTE_LEVEL_ONLY, pre_tokenizer
from pyharness.vocabularies.patterns.split_patterns import GPT2_RELEASE, O200K
from pyharness.vocabularies.sentencepiece_file import written_field

PREFIX = "tokenizer.ggml."
_LARGEST_SCORE = float.fromhex("0x1.fffffep127")  # of a float in a SentencePiece model
_READ = ("model", "pre", "tokens", "token_type", "scores", "merges", "add_space_prefix")
_DECODER = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}

# Names of pre-tokenizers by the split pattern that cuts as they do.
PATTERNS: Mapping[str, tuple[str, ...]] = {
    "gpt2": (
        "gpt-2", "phi-2", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code", "roberta-bpe",
        "gigachat", "a.x-4.0", "mellum", "modern-bert", "exaone4", "mpt", "olmo", "jais", "trillion", "granite-docling",
    ),
    "llama3": (
        "llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano",
        "dbrx", "smaug-bpe", "glm4", "chatglm-bpe",
    ),
    "qwen2": (
        "qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "hunyuan", "solar-open", "megrez", "grok-2",
    ),
    "deepseek_v3": ("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"),
}  # fmt: skip
_WHOLE_PIECES = frozenset(PATTERNS["llama3"][:9])  # a piece that is a token is that token
_PUNCTUATION = r"[\p{P}\$\+<=>\^~\|%s]+"


def _letters(pattern: str) -> str:
    """Return a pattern as llama.cpp spells it: upper case is any letter but a to z, lower case any but A to Z."""
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    return pattern.replace(upper, r"[^\P{L}a-z]").replace(lower, r"[^\P{L}A-Z]")


# Others, as expressions that cut one after another.
STEPS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"): (
        r"\p{N}", GPT2_RELEASE,
    ),
    ("default",): (_PUNCTUATION % "", GPT2_RELEASE, r"\p{N}+", "[0-9][0-9][0-9]"),
    ("falcon",): (_PUNCTUATION % "`", GPT2_RELEASE, "[0-9][0-9][0-9]"),
    ("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"): (_letters(O200K),),
}  # fmt: skip


class GgufTokenType(IntEnum):
    """Types of tokens in a GGUF file."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, slots=True)
class GgufVocabulary:
    """The checked vocabulary of a file; ids are positions in ``tokens``."""

    label: str
    model: str  # "gpt2" or "llama"
    pre: str
    tokens: Sequence[str]
    types: Sequence[GgufTokenType]
    scores: Sequence[float]
    merges: Sequence[str]
    space_before: bool  # llama: whether a text gets a space before it

    @property
    def kind(self) -> Kind:
        """Kind of the file that ``content`` is."""
        return "huggingface" if self.model == "gpt2" else "sentencepiece"

    def content(self) -> bytes:
        """Return the file that our engine runs."""
        return _tokenizer_json(self) if self.model == "gpt2" else _sentencepiece(self)


def is_wanted(key: str) -> bool:
    """Return whether a key of the metadata is read: lists of others would only take memory."""
    return key.startswith(PREFIX) and key.removeprefix(PREFIX) in _READ


def vocabulary_of(values: Mapping[str, Value], label: str) -> GgufVocabulary:
    """Check the metadata of a file.

    Raises:
        InputError: it has no tokenizer, one of another kind, or lists that do not fit each other.
    """
    tokens: Any = values.get(f"{PREFIX}tokens")
    if tokens is None:
        raise InputError(
            f"{label} has no tokenizer: of a model in several files, name the first (-00001-of-); projectors and "
            "adapters have none"
        )
    if not _is_list(tokens, str) or not tokens or len(tokens) > BIGGEST_ID:
        raise InputError(f"{label}: {PREFIX}tokens is not a list of 1 to {BIGGEST_ID:,} texts")
    model = values.get(f"{PREFIX}model")
    if model not in ("gpt2", "llama"):
        raise InputError(f"{label} has a tokenizer of the kind {str(model)[:40]!r}; kinds that are read: gpt2, llama")
    pre = values.get(f"{PREFIX}pre", "default")
    vocabulary = GgufVocabulary(
        label, model, str(pre), tokens, _types(values, label, len(tokens)), _scores(values, label, model, len(tokens)),
        _merges(values, label, model), bool(values.get(f"{PREFIX}add_space_prefix", True)),
    )  # fmt: skip
    _check_distinct(vocabulary)
    if model == "gpt2":
        _splitter(vocabulary)
    return vocabulary


def _is_list(value: Value | None, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def _types(values: Mapping[str, Value], label: str, count: int) -> list[GgufTokenType]:
    types: Any = values.get(f"{PREFIX}token_type", [GgufTokenType.NORMAL] * count)
    if not _is_list(types, int) or len(types) != count:
        raise InputError(f"{label}: {PREFIX}token_type is not a list of {count:,} numbers, one for each token")
    by_number = {int(one): one for one in GgufTokenType}
    if wrong := set(types) - by_number.keys():
        raise InputError(f"{label}: a token has the type {min(wrong)}; types are from 1 to {max(by_number)}")
    return [by_number[one] for one in types]


def _scores(values: Mapping[str, Value], label: str, model: str, count: int) -> list[float]:
    if model != "llama":
        return []
    scores: Any = values.get(f"{PREFIX}scores")
    if not _is_list(scores, (float, int)) or len(scores) < count:  # type: ignore[arg-type]
        raise InputError(f"{label}: {PREFIX}scores is not a list of {count:,} numbers, one for each token")
    if not all(abs(one) <= _LARGEST_SCORE for one in scores[:count]):  # nor NaN
        raise InputError(f"{label}: a score is not a number of 32 bits")
    return [float(one) for one in scores[:count]]


def _merges(values: Mapping[str, Value], label: str, model: str) -> list[str]:
    merges: Any = values.get(f"{PREFIX}merges", [])
    if model == "gpt2" and (not _is_list(merges, str) or not merges):
        raise InputError(f"{label}: {PREFIX}merges is not a list of texts, without which there is no BPE")
    return merges if model == "gpt2" else []


def _check_distinct(vocabulary: GgufVocabulary) -> None:
    first: dict[str, int] = {}
    for token, text in enumerate(vocabulary.tokens):
        if first.setdefault(text, token) != token and vocabulary.types[token] is not GgufTokenType.UNUSED:
            raise InputError(f"{vocabulary.label}: tokens {first[text]} and {token} are both {text[:40]!r}")


# ------------------------------------------------------------------------------------------------- byte-level BPE


def _tokenizer_json(vocabulary: GgufVocabulary) -> bytes:
    """Return a tokenizer.json. Fillers (UNUSED) that no merge names are left out: no text has their ids."""
    merges = [_pair(merge, vocabulary.label) for merge in vocabulary.merges]
    named = {part for left, right in merges for part in (left, right, left + right)}
    types, special = vocabulary.types, (GgufTokenType.CONTROL, GgufTokenType.UNKNOWN)
    vocab = {
        text: token
        for token, text in enumerate(vocabulary.tokens)
        if text and (types[token] is not GgufTokenType.UNUSED or text in named)
    }
    added = [
        AddedToken(token, text, special=types[token] in special)
        for token, text in enumerate(vocabulary.tokens)
        if types[token] in (*special, GgufTokenType.USER_DEFINED) and text
    ]
    content = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [asdict(token) for token in added],
        "normalizer": None, "pre_tokenizer": _splitter(vocabulary), "post_processor": None, "decoder": _DECODER,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": vocabulary.pre in _WHOLE_PIECES, "vocab": vocab, "merges": merges,
        },
    }  # fmt: skip
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _pair(merge: str, label: str) -> list[str]:
    """Return the parts of a merge: the first space behind the first character parts them."""
    place = merge.find(" ", 1)
    if place < 0 or place == len(merge) - 1:
        raise InputError(f"{label}: the merge {merge[:40]!r} is not two tokens with a space between")
    return [merge[:place], merge[place + 1 :]]


def _splitter(vocabulary: GgufVocabulary) -> Mapping[str, Any]:
    for pattern, names in PATTERNS.items():
        if vocabulary.pre in names:
            stage = pre_tokenizer(pattern, byte_level=True)
            assert stage is not None  # noqa: S101 -- a byte level is always one
            return stage
    for names, expressions in STEPS.items():
        if vocabulary.pre in names:
            splits = [
                {"type": "Split", "pattern": {"Regex": one}, "behavior": "Isolated", "invert": False}
                for one in expressions
            ]
            return {"type": "Sequence", "pretokenizers": [*splits, BYTE_LEVEL_ONLY]}
    names_of_all = sorted(name for names in (*PATTERNS.values(), *STEPS) for name in names)
    raise InputError(
        f"{vocabulary.label} cuts text by the pre-tokenizer {vocabulary.pre[:40]!r}, which is not known here; known: "
        f"{', '.join(names_of_all)}"
    )


# ------------------------------------------------------------------------------------------------- SentencePiece


def _sentencepiece(vocabulary: GgufVocabulary) -> bytes:
    """Return a SentencePiece model of the type BPE, without a normaliser. Fillers (UNUSED) keep their ids."""
    if sum(one is GgufTokenType.UNKNOWN for one in vocabulary.types) != 1:
        raise InputError(f"{vocabulary.label} has no unknown token, or several; a vocabulary of this kind has one")
    pieces = b"".join(
        written_field(1, written_field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + bytes([0x18, kind]))
        for text, score, kind in zip(vocabulary.tokens, vocabulary.scores, vocabulary.types, strict=True)
    )
    fallback = GgufTokenType.BYTE in vocabulary.types
    trainer = bytes([0x18, 2, 0x98, 0x02, fallback])  # model_type BPE, byte_fallback
    normalizer = written_field(1, b"identity") + bytes([0x18, vocabulary.space_before, 0x20, 0, 0x28, 1])
    return pieces + written_field(2, trainer) + written_field(3, normalizer)
