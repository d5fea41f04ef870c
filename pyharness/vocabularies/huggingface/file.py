"""Reading and checks of tokenizer.json files, before the native library gets them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.stage_bounds import check_steps
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
LISTS = ("normalizers", "pretokenizers", "decoders", "processors")  # keys of a Sequence, by stage
MODELS = ("BPE", "Unigram", "WordPiece", "WordLevel")
DEEPEST = 16  # published files nest sequences once
FLAGS = ("special", "normalized", "lstrip", "rstrip", "single_word")


@dataclass(frozen=True, slots=True)
class AddedToken:
    """One entry of ``added_tokens``."""

    id: int
    content: str
    special: bool = False
    normalized: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


@dataclass(frozen=True, slots=True)
class HuggingFaceFile:
    """A checked tokenizer.json: ``vocab`` and ``merges`` in one form, whatever the age of the file."""

    content: Mapping[str, Any]
    model: Mapping[str, Any]
    model_type: str
    vocab: Mapping[str, int]
    merges: tuple[tuple[str, str], ...]
    added: tuple[AddedToken, ...]

    def stages(self, name: str) -> list[Mapping[str, Any]]:
        """Return the steps of the stage with this name, with sequences flattened."""
        return flat_stages(self.content.get(name))


def read_file(data: bytes, label: str) -> HuggingFaceFile:
    """Parse and check a tokenizer.json; every defect is an ``InputError`` that names it."""
    content = parse_json(data, label)
    model = content.get("model")
    if not isinstance(model, dict):
        raise InputError(f"{label} is not a tokenizer.json: it has no 'model' object")
    for stage in STAGES:
        check_stage(content.get(stage), f"{label}: {stage}")
        check_steps(flat_stages(content.get(stage)), f"{label}: {stage}")
    kind = _model_type(model, label)
    vocab = _vocab(model, kind, label)
    _check_unknown(model, vocab, kind, label)
    _check_options(model, label)
    merges = _merges(model, vocab, label) if kind == "BPE" else ()
    return HuggingFaceFile(content, model, kind, vocab, merges, _read_tokens(content, vocab, label))


def flat_stages(stage: Any) -> list[Mapping[str, Any]]:
    """Return the steps of a checked stage, with sequences flattened."""
    if stage is None:
        return []
    if stage["type"] == "Sequence":
        inner = next(stage[key] for key in LISTS if key in stage)
        return [step for item in inner for step in flat_stages(item)]
    return [stage]


def check_stage(stage: Any, label: str, depth: int = 0) -> None:
    """Refuse a normaliser, pre-tokenizer, post-processor or decoder that is not a tree of objects with a type.

    Raises:
        InputError: the stage is no such tree, or too deep.
    """
    if stage is None:
        return
    if depth > DEEPEST:
        raise InputError(f"{label}: sequences are nested more than {DEEPEST} deep")
    if not isinstance(stage, dict) or not isinstance(stage.get("type"), str):
        raise InputError(f"{label} is {str(stage)[:60]!r}, not an object with a type")
    lists = [key for key in LISTS if key in stage]
    if stage["type"] == "Sequence" and len(lists) != 1:
        raise InputError(f"{label} is a Sequence with {lists or 'none'} of the lists {', '.join(LISTS)}; it has one")
    for key in lists:
        if not isinstance(stage[key], list):
            raise InputError(f"{label}: {key!r} is not a list")
        for item in stage[key]:
            check_stage(item or {}, label, depth + 1)


def _model_type(model: Mapping[str, Any], label: str) -> str:
    kind = model.get("type")
    if kind is None:  # files older than 2021 omit the type
        if "merges" in model:
            return "BPE"
        if isinstance(model.get("vocab"), list):
            return "Unigram"
        return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"
    if kind not in MODELS:
        raise InputError(f"{label}: unknown model type {str(kind)[:60]!r}; known: {', '.join(MODELS)}")
    return str(kind)


def _vocab(model: Mapping[str, Any], kind: str, label: str) -> dict[str, int]:
    vocab = model.get("vocab")
    if kind == "Unigram":
        return _unigram_vocab(vocab, label)
    if not isinstance(vocab, dict) or not vocab:
        raise InputError(f"{label}: the model's 'vocab' is not an object of token: id, or is empty")
    for token, number in vocab.items():
        check_id(number, token, label)
    if len(set(vocab.values())) != len(vocab):
        owners: dict[int, str] = {}
        for token, number in vocab.items():
            if number in owners:
                raise InputError(f"{label}: id {number} belongs to both {owners[number]!r} and {token!r}")
            owners[number] = token
    return vocab


def _unigram_vocab(vocab: Any, label: str) -> dict[str, int]:
    if not isinstance(vocab, list) or not vocab:
        raise InputError(f"{label}: the Unigram model's 'vocab' is not a list of [token, score], or is empty")
    ids: dict[str, int] = {}
    for number, entry in enumerate(vocab):
        if (
            not isinstance(entry, list)
            or len(entry) != 2
            or not isinstance(entry[0], str)
            or type(entry[1]) not in (int, float)
            or entry[1] != entry[1]
        ):
            raise InputError(f"{label}: vocab entry {number} is {str(entry)[:60]}, not [token, score]")
        if entry[0] in ids:
            raise InputError(f"{label}: vocab entries {ids[entry[0]]} and {number} are both {entry[0]!r}")
        ids[entry[0]] = number
    return ids


def check_id(number: Any, token: str, label: str) -> None:
    """Refuse values that are no ids, or too large to index an array.

    Raises:
        InputError: the value is refused.
    """
    if type(number) is not int:
        raise InputError(f"{label}: the id of {token!r} is {str(number)[:40]!r}, not an integer")
    if not 0 <= number < BIGGEST_ID:
        raise InputError(f"{label}: the id of {token!r} is {number}; ids are from 0 to below {BIGGEST_ID:,}")


def _check_unknown(model: Mapping[str, Any], vocab: Mapping[str, int], kind: str, label: str) -> None:
    unknown = model.get("unk_id") if kind == "Unigram" else model.get("unk_token")
    if unknown is None:
        return
    if kind == "Unigram" and (type(unknown) is not int or not 0 <= unknown < len(vocab)):
        raise InputError(f"{label}: unk_id {unknown!r} is not an id of its vocabulary of {len(vocab):,}")
    if kind != "Unigram" and not isinstance(unknown, str):
        raise InputError(f"{label}: unk_token {unknown!r} is not a string")


def _check_options(model: Mapping[str, Any], label: str) -> None:
    kinds: Mapping[str, type | tuple[type, ...]] = {
        "continuing_subword_prefix": str,
        "end_of_word_suffix": str,
        "max_input_chars_per_word": int,
        "dropout": (int, float),
        "byte_fallback": bool,
        "ignore_merges": bool,
        "fuse_unk": bool,
    }
    for option, kind in kinds.items():
        if model.get(option) is not None and not isinstance(model[option], kind):
            raise InputError(f"{label}: the model's {option!r} is {str(model[option])[:60]!r}")


def _merges(model: Mapping[str, Any], vocab: Mapping[str, int], label: str) -> tuple[tuple[str, str], ...]:
    merges = model.get("merges")
    if not isinstance(merges, list):
        raise InputError(f"{label}: the BPE model's 'merges' is not a list")
    prefix = model.get("continuing_subword_prefix") or ""
    pairs = []
    for number, merge in enumerate(merges):
        pair = merge.split(" ") if isinstance(merge, str) else merge
        try:
            left, right = pair
            # A part is never empty. So without a prefix results are longer than their parts: rules form no cycles.
            start, result = right[: len(prefix)], left + right[len(prefix) :]
            if not (left and right and left in vocab and right in vocab and result in vocab):
                raise _bad_merge(left, right, result, vocab, f"{label}: merge {number}")
            if len(start.encode()) != len(prefix.encode()):  # tokenizers cuts bytes off, and fails if there are too few
                raise InputError(f"{label}: merge {number}: the prefix {prefix!r} cannot be cut off {right[:60]!r}")
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{label}: merge {number} is {str(merge)[:60]!r}, not a pair of tokens") from None
        pairs.append((left, right))
    return tuple(pairs)


def _bad_merge(left: str, right: str, result: str, vocab: Mapping[str, int], label: str) -> InputError:
    if not left or not right:
        return InputError(f"{label} has an empty part: {left!r} + {right!r}")
    missing = next(token for token in (left, right, result) if token not in vocab)
    return InputError(f"{label} ({left!r} + {right!r}) needs {missing[:60]!r}, which is not in the vocabulary")


def _read_tokens(content: Mapping[str, Any], vocab: Mapping[str, int], label: str) -> tuple[AddedToken, ...]:
    entries = content.get("added_tokens") or []
    if not isinstance(entries, list):
        raise InputError(f"{label}: 'added_tokens' is not a list")
    added = read_added(entries, label)
    owners = {number: token for token, number in vocab.items()}
    for token in added:
        owner = owners.setdefault(token.id, token.content)
        if owner != token.content:
            raise InputError(f"{label}: added token {token.content!r} has id {token.id}, which belongs to {owner!r}")
    return added


def read_added(entries: list[Any], label: str) -> tuple[AddedToken, ...]:
    """Check and read the entries of ``added_tokens``.

    Raises:
        InputError: an entry is defect, or a content occurs twice.
    """
    added = tuple(_read_token(entry, number, label) for number, entry in enumerate(entries))
    if len({token.content for token in added}) != len(added):
        raise InputError(f"{label} lists an added token twice")
    return added


def _read_token(entry: Any, number: int, label: str) -> AddedToken:
    if not isinstance(entry, dict) or not isinstance(entry.get("content"), str) or not entry["content"]:
        raise InputError(f"{label}: added token {number} is {str(entry)[:60]!r}, not an object with a content")
    if any("\ud800" <= character <= "\udfff" for character in entry["content"]):
        raise InputError(f"{label}: added token {entry['content'][:60]!r} has half a surrogate pair, which no text has")
    check_id(entry.get("id"), entry["content"], label)
    flags = {flag: entry.get(flag, False) for flag in FLAGS}
    for flag, value in flags.items():
        if not isinstance(value, bool):
            raise InputError(f"{label}: {flag!r} of added token {entry['content']!r} is {value!r}, not true or false")
    return AddedToken(entry["id"], entry["content"], **flags)


def library_ids(vocab: Mapping[str, int], contents: Iterable[str]) -> Iterator[int]:
    """Yield the ids that ``tokenizers`` gives to added tokens: it numbers those outside the vocabulary itself.

    Source: ``AddedVocabulary::add_tokens``.
    """
    size, biggest = len(vocab), -1
    for content in contents:
        number = vocab.get(content, biggest + 1 if biggest >= size else size)
        biggest = max(biggest, number)
        yield number
