"""The stages before the model as data, for the analysis of reachability."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, AnyStr, Literal, Protocol, TypeAlias, runtime_checkable

from pyharness.types import Vocabulary
from pyharness.vocabularies.files.byte_alphabet import alphabet_bytes
from pyharness.vocabularies.huggingface.file import AddedToken, HuggingFaceFile
from pyharness.vocabularies.huggingface.traits import is_byte_level
from pyharness.vocabularies.huggingface.vocabulary import fallback_ids, unknown_id
from pyharness.vocabularies.patterns.split_patterns import GPT2_RELEASE
from pyharness.vocabularies.patterns.syntax import Dialect

ModelKind: TypeAlias = Literal["bpe", "unigram", "wordpiece", "other"]
MARK = "▁"
_BERT_PUNCTUATION = r"\p{P}!-/:-@\[-`{-~"
_RUST_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"


@dataclass(frozen=True, slots=True)
class SplitStep:
    """One step of a pre-tokenizer: it cuts where the matches of an expression start and end.

    ``inserted`` are characters of the model's text that this step may not have seen, because later steps insert them.
    """

    expression: str
    dialect: Dialect
    keeps_matches: bool = True
    keeps_gaps: bool = True
    inserted: str = ""


@dataclass(frozen=True, slots=True)
class TokenForm:
    """Form of a token in the pre-tokenizer's input.

    ``starts``: True only at the start of a piece, False only after it, None either. ``goes_on``: never at its end.
    """

    text: str
    starts: bool | None = None
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Stages:
    """All stages between a text and the model.

    ``normalizer`` has steps as tokenizer.json writes them, or is None for any other normaliser. ``added`` tokens are
    searched before it, or with ``normalized`` after it; special ones are matched and treated as text. ``forms`` gives
    every form of a token, or no form where they are unknown. ``inserted``: characters that the splits may insert.
    ``spelled_once`` tells whether a token of a BPE model can be merged only from its own characters.
    """

    normalize: Callable[[str], str]  # the normaliser alone
    normalizer: Sequence[Mapping[str, Any]] | None
    splits: Sequence[SplitStep]
    added: Sequence[AddedToken]
    forms: Callable[[int], Sequence[TokenForm]]
    model: ModelKind
    whole_pieces: bool = False  # a piece that is a token is that token, whatever the model says
    inserted: str = ""
    spelled_once: Callable[[int], bool] = lambda _: True
    scores: Sequence[float] | None = None  # of a Unigram model that adds them up in 64 bits


@runtime_checkable
class HasStages(Protocol):
    """Ability: the stages before the model, each by itself."""

    def stages(self) -> Stages:
        """Return the stages."""


def split_steps(stages: Sequence[Mapping[str, Any]]) -> tuple[tuple[SplitStep, ...], str]:
    """Return the expression steps of a pre-tokenizer of tokenizer.json, and the characters it may insert.

    Unknown steps are left out: every step only adds cuts, so the cuts of the others remain. After a ``ByteLevel`` step
    text is in another alphabet, and further steps are not read.
    """
    steps: list[SplitStep] = []
    inserted = ""
    kinds = [stage["type"] for stage in stages]
    for stage in reversed(stages[: kinds.index("ByteLevel") + 1] if "ByteLevel" in kinds else stages):
        if stage["type"] == "ByteLevel" and stage.get("use_regex", True) is not False:
            steps.append(SplitStep(GPT2_RELEASE, "oniguruma", inserted=inserted))
        elif (step := _step(stage)) is not None:
            expression, matches, gaps = step
            steps.append(SplitStep(expression, "oniguruma", matches, gaps, inserted))
        if stage["type"] == "ByteLevel" and stage.get("add_prefix_space", True) is not False:
            inserted += " "
        if stage["type"] == "Metaspace":
            inserted += str(stage.get("replacement", MARK))
    return tuple(reversed(steps)), inserted


def _step(stage: Mapping[str, Any]) -> tuple[str, bool, bool] | None:
    """Return a step's expression, and whether its matches and the gaps between them are kept; None: unknown."""
    kind = stage["type"]
    if kind == "Split":
        return _split(stage)
    if kind == "Metaspace" and stage.get("split", True) is True:
        mark = str(stage.get("replacement", MARK))
        return (f"[{mark} ]?[^{mark} ]+|[{mark} ]", True, True) if mark.isprintable() and not mark.isascii() else None
    if kind == "Digits":
        return (r"\p{N}" if stage.get("individual_digits") else r"\p{N}+"), True, True
    if kind == "Punctuation" and stage.get("behavior", "Isolated") == "Isolated":
        return f"[{_BERT_PUNCTUATION}]", True, True
    expressions = {
        "BertPreTokenizer": rf"[{_BERT_PUNCTUATION}]|[^\s{_BERT_PUNCTUATION}]+",
        "Whitespace": rf"[{_RUST_WORD}]+|[^{_RUST_WORD}\s]+",
        "WhitespaceSplit": r"\S+",
    }
    return (expressions[kind], True, False) if kind in expressions else None


def _split(stage: Mapping[str, Any]) -> tuple[str, bool, bool] | None:
    pattern, behavior, invert = stage.get("pattern"), stage.get("behavior"), stage.get("invert", False)
    if not isinstance(pattern, dict) or behavior not in ("Isolated", "Removed") or not isinstance(invert, bool):
        return None
    expression = pattern.get("Regex")
    if isinstance(string := pattern.get("String"), str):
        expression = "".join(letter if letter.isalnum() else "\\" + letter for letter in string)
    if not isinstance(expression, str) or not expression:
        return None
    removed = behavior == "Removed"
    return expression, not (removed and not invert), not (removed and invert)


def byte_forms(vocabulary: Vocabulary) -> Callable[[int], Sequence[TokenForm]]:
    """Return the function from a token, whose bytes are those of the text, to its form."""

    def forms(token: int) -> Sequence[TokenForm]:
        try:
            text = vocabulary[token].decode()
        except UnicodeDecodeError:
            return ()
        return [TokenForm(text)] if text else ()

    return forms


def spelled_once(
    string: Callable[[int], AnyStr], fallback: Sequence[int], unknown: int | None
) -> Callable[[int], bool]:
    """Return the function from a token of a BPE model to whether only its own characters can be merged into it.

    ``<0xC3>`` and the unknown token are symbols that stand for other text, and merge like any other. A token whose
    string contains such a symbol may come from it. A symbol of one character is that character.
    """
    others = {string(number) for number in (*fallback, *(() if unknown is None else (unknown,))) if number >= 0}
    longer = [other for other in others if len(other) != 1]
    return lambda token: not any(other in string(token) for other in longer)


def huggingface_spelled_once(file: HuggingFaceFile) -> Callable[[int], bool]:
    """Return the function from a token of a tokenizer.json to whether only its own characters merge into it."""
    if file.model.get("continuing_subword_prefix"):
        # A rule cuts that many characters off its right part, prefix or not; and a text may spell the prefix.
        return lambda _: False
    strings = {number: token for token, number in file.vocab.items()}
    return spelled_once(lambda token: strings.get(token, ""), fallback_ids(file), unknown_id(file))


def huggingface_forms(file: HuggingFaceFile) -> Callable[[int], Sequence[TokenForm]]:
    """Return the function from a token of a tokenizer.json to its forms."""
    strings = {number: token for token, number in file.vocab.items()}
    prefix = file.model.get("continuing_subword_prefix") or ""
    suffix = file.model.get("end_of_word_suffix") or ""
    word_piece = file.model_type == "WordPiece"
    unknown = file.model_type not in ("BPE", "Unigram", "WordPiece") or bool(prefix and not word_piece)
    # A normaliser that writes the byte alphabet gives the pre-tokenizer other text than the token's.
    unknown |= any(step["type"] == "ByteLevel" for step in file.stages("normalizer"))
    spelled = is_byte_level(file)

    def forms(token: int) -> Sequence[TokenForm]:
        string = strings.get(token, "")
        if unknown or not string:
            return ()
        goes_on = bool(suffix) and not string.endswith(suffix)
        variants = [TokenForm(string, True if word_piece else None, goes_on)]
        if prefix and string.startswith(prefix) and len(string) > len(prefix):
            variants.append(TokenForm(string.removeprefix(prefix), starts=False))
        if suffix and string.endswith(suffix) and len(string) > len(suffix):
            variants.append(TokenForm(string.removesuffix(suffix)))  # the text may also spell the suffix
        try:
            return (
                [replace(form, text=alphabet_bytes(form.text).decode()) for form in variants] if spelled else variants
            )
        except UnicodeDecodeError:
            return ()

    return forms
