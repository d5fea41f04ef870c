"""What a tokenizer's file defines, in one form whatever its serialisation: tokens, rules, stages and added tokens.

Order of keys, merges as strings or pairs, left-out defaults and white space make no difference here. Tokens are spelled
as the model has them. A byte-level model has bytes. Others have pieces, such as ``▁the``, ``##ing`` and ``<0x41>``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from pyharness import tokenizers
from pyharness.tokenizers.families.huggingface import HuggingFaceTables
from pyharness.tokenizers.families.sentencepiece import SentencePieceTables
from pyharness.tokenizers.families.tiktoken import RankTables
from pyharness.types import HasMergeModel, HasVocabulary, Tokenizer, TokenKind, Unsupported, Vocabulary
from pyharness.vocabularies.files.byte_alphabet import alphabet_bytes
from pyharness.vocabularies.huggingface.file import STAGES, AddedToken, HuggingFaceFile, flat_stages
from pyharness.vocabularies.huggingface.traits import is_byte_level
from pyharness.vocabularies.sentencepiece_file import PieceType, SentencePieceModel
from pyharness.vocabularies.stages import HasStages

HOME_LIBRARIES = {"huggingface": "tokenizers", "sentencepiece": "sentencepiece", "rank_file": "tiktoken",
                  "tekken": "tiktoken"}  # fmt: skip
# The spelling of a token, and its number among tokens that are spelled alike: 0 but for rare files.
Key: TypeAlias = tuple[bytes, int]
Rule: TypeAlias = tuple[bytes, bytes]
Form: TypeAlias = Literal["bytes", "pieces", "word pieces"]
NORMALISER, PATTERN, POST_PROCESSOR, DECODER, OPTIONS = (
    "normaliser", "split pattern", "post-processor", "decoder", "model option",
)  # fmt: skip
OTHER = "other"  # kind of a row without a file that is known here
ADDED = "added token"  # the stage that matches added tokens
LIMITS = ("truncation", "padding")  # rows switch both off, so no text shows them: other programs may obey them
_OF_STAGES = dict(zip((*STAGES, *LIMITS), (NORMALISER, PATTERN, POST_PROCESSOR, DECODER, *LIMITS), strict=True))
_NO_OPTIONS = ("vocab", "merges")
_FORMS: Mapping[bool, Form] = {True: "bytes", False: "pieces"}
_DEFAULTS: Mapping[str, Any] = {  # of a model in tokenizer.json: leaving one out says the same
    "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
    "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definition:
    """What a file defines. ``kind`` is that of the file; of a row that is ``OTHER``, not all of it is here."""

    kind: str
    form: Form
    tokens: Mapping[Key, int]
    by_bytes: Mapping[Key, int]  # the same tokens, spelled as decoded text: equal for all kinds of files
    rules: tuple[Rule, ...] = ()  # in their order
    scores: Mapping[Key, float] = field(default_factory=dict)  # of Unigram models and SentencePiece
    added: Mapping[str, AddedToken] = field(default_factory=dict)  # by content
    settings: Mapping[str, Any] = field(default_factory=dict)  # JSON values by stage
    pieces: Mapping[str, int] = field(default_factory=dict)  # ids as written: two pieces may decode to the same bytes

    def comparable(self, other: Definition) -> bool:
        """Whether rules and scores can be compared: the files are of one kind, and spell tokens alike."""
        return self.kind == other.kind and self.form == other.form


def definition(tokenizer: Tokenizer) -> Definition:
    """Return what the file of a loaded row defines.

    Raises:
        Unsupported: the row hides its vocabulary.
    """
    if not isinstance(tokenizer, HasVocabulary):
        raise Unsupported("this row does not give its vocabulary, so there is nothing to compare")
    by_bytes = _keys((token, string) for token, string in _present(tokenizer.vocabulary()))
    if isinstance(tokenizer, HuggingFaceTables):
        return _of_json(tokenizer.file, by_bytes)
    if isinstance(tokenizer, RankTables):
        special = {
            content: AddedToken(token, content, special=True) for content, token in tokenizer.ranks.special.items()
        }
        return Definition("rank file", "bytes", by_bytes, by_bytes, added=special,
                          settings={PATTERN: tokenizer.ranks.pattern})  # fmt: skip
    if isinstance(tokenizer, SentencePieceTables):
        return _of_sentencepiece(tokenizer.model, by_bytes)
    return _of_other(tokenizer, by_bytes)


def home(spec: str) -> Tokenizer:
    """Load the row without its engine, in its own library: what its file defines is read from there."""
    return tokenizers.load(tokenizers.obtain(tokenizers.without_engine(spec).text))


def _present(vocabulary: Vocabulary) -> Iterable[tuple[int, bytes]]:
    """Return tokens by id. Pieces such as ``<0x41>`` come last: a text has them only where no other piece is equal."""
    strings, last = vocabulary.strings(), vocabulary.kinds == TokenKind.BYTE_FALLBACK
    order = np.argsort(last, kind="stable")
    return ((token, strings[token]) for token in order[vocabulary.kinds[order] != TokenKind.ABSENT].tolist())


def _keys(tokens: Iterable[tuple[int, bytes]]) -> dict[Key, int]:
    spelled: dict[bytes, int] = {}  # how often so far, but once
    keys: dict[Key, int] = {}
    for token, string in tokens:
        key = string, 0
        if key in keys:
            spelled[string] = number = spelled.get(string, 0) + 1
            key = string, number
        keys[key] = token
    return keys


# ---------------------------------------------------------------------------------------------- kinds of files


def _of_json(file: HuggingFaceFile, by_bytes: Mapping[Key, int]) -> Definition:
    in_bytes = is_byte_level(file)
    spell = alphabet_bytes if in_bytes else _utf8
    outside = [token for token in file.added if token.content not in file.vocab]
    # Pieces that decode to the same bytes are numbered as they are written: their ids may be what changed.
    spelled = [(token, spell(piece)) for piece, token in sorted(file.vocab.items())]
    numbered = _keys([*spelled, *sorted((token.id, _utf8(token.content)) for token in outside)])
    tokens = dict(sorted(numbered.items(), key=lambda one: one[1]))
    scores: dict[Key, float] = {}
    if file.model_type == "Unigram":
        by_id = {token: key for key, token in tokens.items()}
        scores = {by_id[number]: float(score) for number, (_, score) in enumerate(file.model["vocab"])}
    options = {key: value for key, value in file.model.items() if key not in _NO_OPTIONS}
    options = {**_DEFAULTS, **options, "type": file.model_type} if file.model_type == "BPE" else options
    settings = {**_stages(file.content), OPTIONS: options}
    rules = tuple((spell(left), spell(right)) for left, right in file.merges)
    added = {token.content: token for token in file.added}
    kind = f"tokenizer.json of {file.model_type}"
    form: Form = "word pieces" if file.model_type == "WordPiece" else _FORMS[in_bytes]
    return Definition(kind, form, tokens, by_bytes, rules, scores, added, settings, file.vocab)


def _stages(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return stages as the library writes them again: with all defaults, and sequences flattened."""
    import tokenizers as library

    stages = {name: content.get(name) for name in _OF_STAGES}
    try:
        stub = {"model": {"type": "BPE", "vocab": {}, "merges": []}, **stages}
        written = json.loads(library.Tokenizer.from_str(json.dumps(stub)).to_str())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in Rust is no Exception
        written = stages  # what one stage refuses alone may be fine with its vocabulary
    return {
        setting: flat_stages(written.get(name)) if name in STAGES else written.get(name)
        for name, setting in _OF_STAGES.items()
    }


def _of_sentencepiece(model: SentencePieceModel, by_bytes: Mapping[Key, int]) -> Definition:
    tokens = _keys((token, _utf8(piece)) for token, piece in enumerate(model.pieces))
    scores = dict(zip(tokens, model.scores, strict=True))
    kinds = {PieceType.CONTROL: True, PieceType.USER_DEFINED: False}
    added = {
        piece: AddedToken(token, piece, special=kinds[kind])
        for token, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True))
        if kind in kinds
    }
    normalizer = model.normalizer
    steps = {name: getattr(normalizer, name) for name in normalizer.__slots__ if name != "charsmap"}
    digest = hashlib.sha256(normalizer.charsmap).hexdigest()[:12]
    settings = {
        NORMALISER: {**steps, "charsmap": f"{len(normalizer.charsmap)} bytes, {digest}"},
        OPTIONS: {"model_type": model.model_type.name, "byte_fallback": model.byte_fallback, **_unlike_others(model)},
    }
    return Definition("SentencePiece model", "pieces", tokens, by_bytes, scores=scores, added=added, settings=settings)


def _unlike_others(model: SentencePieceModel) -> dict[str, list[str]]:
    """Return the pieces that are neither ordinary nor added tokens, by their type: the library reads them otherwise."""
    typed = list(zip(model.pieces, model.types, strict=True))
    kinds = (PieceType.UNKNOWN, PieceType.UNUSED, PieceType.BYTE)
    return {f"{kind.name.lower()} pieces": [piece for piece, one in typed if one == kind] for kind in kinds}


def _of_other(tokenizer: Tokenizer, by_bytes: Mapping[Key, int]) -> Definition:
    rules: tuple[Rule, ...] = ()
    if isinstance(tokenizer, HasMergeModel) and (model := tokenizer.merge_model()).rules is not None:
        strings = model.strings()
        rules = tuple((strings[left], strings[right]) for left, right, _ in model.rules.tolist())
    settings: dict[str, Any] = {}
    if isinstance(tokenizer, HasStages):
        stages = tokenizer.stages()
        settings = {PATTERN: [step.expression for step in stages.splits]}
        if stages.normalizer is not None:
            settings[NORMALISER] = [dict(step) for step in stages.normalizer]
    return Definition(OTHER, "bytes", by_bytes, by_bytes, rules, settings=settings)


def _utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


# ---------------------------------------------------------------------------------------------- split patterns


def expressions(setting: Any) -> list[str]:
    """Return the regular expressions of a split pattern's setting, in order."""
    if isinstance(setting, str):
        return [setting]
    if isinstance(setting, Mapping):
        return [text for key, value in setting.items() if key in ("pattern", "Regex") for text in expressions(value)]
    return [text for step in setting or () for text in expressions(step)]


def strings_of(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from strings_of(part)


def alternatives(expression: str) -> Sequence[str]:
    r"""Cut a regular expression at its outermost bars.

    >>> alternatives(r"a|(?:b|c)|[|]|\|d")
    ['a', '(?:b|c)', '[|]', '\\|d']
    """
    parts, depth, in_class, at, start = [], 0, 0, 0, 0
    while at < len(expression):
        letter = expression[at]
        if letter == "\\":
            at += 1
        elif letter == "[":
            in_class += 1
        elif letter == "]" and in_class:
            in_class -= 1
        elif not in_class and letter in "()":
            depth += 1 if letter == "(" else -1
        elif letter == "|" and not depth and not in_class:
            parts.append(expression[start:at])
            start = at + 1
        at += 1
    return [*parts, expression[start:]]
