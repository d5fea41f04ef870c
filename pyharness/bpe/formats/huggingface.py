"""Models of tokenizer.json files: reading and writing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from pyharness.bpe.model.model import BpeModel, Spaces
from pyharness.bpe.model.reachability import canonical_rules, unmergeable
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.bpe.model.token_lookup import TokenLookup
from pyharness.types import InputError
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET
from pyharness.vocabularies.huggingface import traits as huggingface_traits
from pyharness.vocabularies.huggingface import vocabulary as huggingface_vocabulary
from pyharness.vocabularies.huggingface.file import HuggingFaceFile, library_ids
from pyharness.vocabularies.huggingface.pre_tokenizer import pre_tokenizer, split_pattern
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer

_BYTE_LEVEL_DECODER = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
_FUSE = {"type": "Fuse"}
_SPACE = "▁"


def model_of_huggingface(file: HuggingFaceFile, label: str) -> BpeModel:
    """Build the model of a BPE file. Stages that the native splitters cannot express stay in the file's form.

    Raises:
        InputError: the file is no BPE model, has a token that is not text, or the library would give ids that no model
            can give.
    """
    _check(file, label)
    in_letters = huggingface_traits.writes_bytes(file.content.get("normalizer"))
    in_bytes = huggingface_traits.is_byte_level(file) and not in_letters
    vocabulary = huggingface_vocabulary.vocabulary(file)
    stage = file.content.get("pre_tokenizer")
    round_trip, reasons = huggingface_traits.round_trip(file)
    decoder, drop_space = _decoding(file)
    model = BpeModel(
        vocabulary=vocabulary,
        merges=huggingface_vocabulary.merge_model(file, vocabulary, in_bytes=in_bytes),
        alphabet=_byte_alphabet(file) if in_bytes else _character_alphabet(file),
        symbols="bytes" if in_bytes else "characters",
        splitter=(None if in_letters and huggingface_traits.writes_bytes(stage) else split_pattern(stage))
        or stage
        or "none",
        normalizer=file.content["normalizer"] if file.stages("normalizer") else None,
        decoder=decoder,
        drop_space=drop_space,
        added=file.added,
        unknown=huggingface_vocabulary.unknown_id(file),
        fuse_unknown=bool(file.model.get("fuse_unk")),
        fallback=huggingface_vocabulary.fallback_ids(file),
        prefix=file.model.get("continuing_subword_prefix") or "",
        suffix=file.model.get("end_of_word_suffix") or "",
        whole_pieces=bool(file.model.get("ignore_merges")),
        round_trip=round_trip,
        notes=(*reasons, *huggingface_traits.notes(file)),
    )
    if model.whole_pieces:
        check_whole_pieces(model, (token.content for token in file.added if token.content in file.vocab))
    return model


def _check(file: HuggingFaceFile, label: str) -> None:
    """Refuse settings with which the library's ids would differ."""
    if file.model_type != "BPE":
        raise InputError(f"{label} is a {file.model_type} model, not BPE: it has no merges")
    texts = [*file.vocab, *(token.content for token in file.added), *(end for pair in _affixes(file) for end in pair)]
    whole = "".join(texts)
    try:
        whole.encode()
    except UnicodeEncodeError as error:
        wrong = next(text for text in texts if whole[error.start] in text)
        raise InputError(f"{label}: token {wrong[:40]!r} has half a surrogate pair: it is not text") from None
    # tokenizers warns of another id of an added token, and goes on with its own.
    for token, number in zip(file.added, library_ids(file.vocab, (token.content for token in file.added)), strict=True):
        if number != token.id:
            raise InputError(
                f"{label}: added token {token.content!r} has id {token.id}, but tokenizers gives it {number}: "
                "write that id, or list the token with its own in the model's 'vocab'"
            )


def check_whole_pieces(model: BpeModel, contents: Iterable[str]) -> None:
    """Refuse added tokens that plain text would become with ``ignore_merges``, which looks up the whole vocabulary.

    Raises:
        InputError: there is such a token.
    """
    splitter = TextSplitter(model.splitter, dialect=model.dialect) if isinstance(model.splitter, str) else None
    for content in contents:
        if splitter is None or len(splitter.split(content)) == 1:
            raise InputError(
                f"tokenizers would encode plain text {content!r} as the added token: it can be a whole piece, which "
                "tokenizers looks up among all tokens"
            )


def _byte_alphabet(file: HuggingFaceFile) -> dict[bytes, int]:
    return {
        before.encode() + bytes([byte]) + behind.encode(): file.vocab[before + character + behind]
        for byte, character in BYTE_ALPHABET.items()
        for before, behind in _affixes(file)
        if before + character + behind in file.vocab
    }


def _character_alphabet(file: HuggingFaceFile) -> dict[bytes, int]:
    """Return the tokens of one character, with its affixes."""
    affixes = _affixes(file)
    return {
        token.encode(): number
        for token, number in file.vocab.items()
        if any(
            len(token) == len(before) + 1 + len(behind) and token.startswith(before) and token.endswith(behind)
            for before, behind in affixes
        )
    }


def _affixes(file: HuggingFaceFile) -> list[tuple[str, str]]:
    """Return the possible affixes of a symbol: none, the prefix, the suffix, or both."""
    prefix, suffix = (file.model.get(key) or "" for key in ("continuing_subword_prefix", "end_of_word_suffix"))
    return sorted({(before, behind) for before in ("", prefix) for behind in ("", suffix)})


def _decoding(file: HuggingFaceFile) -> tuple[Mapping[str, Any] | Spaces | None, bool]:
    """Return the decoder, where joining bytes is not enough, and whether one leading space is dropped."""
    if file.content.get("decoder") is None:
        return "spaces", False
    steps = [_essence(step) for step in file.stages("decoder")]
    if file.model.get("end_of_word_suffix") or file.model.get("continuing_subword_prefix"):
        return file.content.get("decoder"), False
    if huggingface_traits.is_byte_level(file) and steps == [("ByteLevel",)]:
        return None, False
    joins = [("Replace", "▁", " "), ("ByteFallback",), ("Fuse",)]
    if not huggingface_traits.is_byte_level(file) and steps in (joins, [*joins, ("Strip", " ", 1, 0)]):
        return None, len(steps) == 4
    return file.content.get("decoder"), False


def _essence(step: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return type and options of a decoder step; a ByteLevel decoder has no relevant options."""
    if step["type"] == "Replace":
        pattern = step.get("pattern")
        return "Replace", pattern.get("String") if isinstance(pattern, dict) else pattern, step.get("content")
    if step["type"] == "Strip":
        return "Strip", step.get("content"), step.get("start"), step.get("stop")
    return (step["type"],)


def tokenizer_json(model: BpeModel) -> bytes:
    """Return the content of a tokenizer.json.

    Raises:
        InputError: ``tokenizers`` cannot express the model.
    """
    _check_exportable(model)
    strings, merges = _strings(model), model.merges
    rules = canonical_rules(merges) if merges.rules is None else merges.rules
    vocab = {string: token for token, string in enumerate(strings) if string is not None}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [asdict(token) for token in model.added],
        "normalizer": model.normalizer,
        "pre_tokenizer": pre_tokenizer(model.splitter, byte_level=model.symbols == "bytes")
        if isinstance(model.splitter, str)
        else model.splitter,
        "post_processor": None,
        "decoder": _decoder(model),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if model.unknown is None else strings[model.unknown],
            "continuing_subword_prefix": model.prefix or None,
            "end_of_word_suffix": model.suffix or None,
            "fuse_unk": model.fuse_unknown,
            "byte_fallback": bool(model.fallback),
            "ignore_merges": _ignore_merges(model),
            "vocab": vocab,
            "merges": [[strings[left], strings[right]] for left, right, _ in rules.tolist()],
        },
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _check_exportable(model: BpeModel) -> None:
    if isinstance(model.normalizer, SentencePieceNormalizer):
        raise InputError(
            "tokenizer.json cannot express a SentencePiece model exactly: pieces of equal score and unknown characters "
            "merge differently there; keep the original file"
        )


def _strings(model: BpeModel) -> list[str | None]:
    """Return the spelling of each token in the file; None where no token has the id.

    The vocabulary includes added tokens; without them, tokenizers would number them without gaps.
    """
    lookup = TokenLookup(model)
    strings: list[str | None] = [lookup.string_of(token) for token in range(model.id_limit)]
    seen: dict[str, int] = {}
    for token, string in enumerate(strings):
        if string is not None and seen.setdefault(string, token) != token:
            raise InputError(f"tokenizer.json cannot express two tokens that read {string!r}: {seen[string]}, {token}")
    symbols = set(model.alphabet.values())
    for added in model.added:
        if len(added.content) == 1 and added.id not in symbols:
            raise InputError(f"tokenizer.json would take the added token {added.content!r} for a base symbol")
    return strings


def _ignore_merges(model: BpeModel) -> bool:
    """Return whether whole pieces must be looked up: only if merging would not give them anyway."""
    if not model.whole_pieces or not len(unmergeable(model.merges)):
        return False
    check_whole_pieces(model, (token.content for token in model.added))
    return True


def _decoder(model: BpeModel) -> Mapping[str, Any] | None:
    if model.decoder == "spaces":
        return None
    if model.decoder is not None:
        return model.decoder
    if model.prefix or model.suffix:
        return _decoder_of_affixes(model)
    if model.symbols == "bytes" or model.in_letters:
        return _BYTE_LEVEL_DECODER
    steps: list[Mapping[str, Any]] = [{"type": "ByteFallback"}, {"type": "Fuse"}]
    if any(_SPACE.encode() in symbol for symbol in model.alphabet):
        steps.insert(0, {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "})
    if model.drop_space:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _decoder_of_affixes(model: BpeModel) -> Mapping[str, Any]:
    """Return a decoder that removes prefix and suffix everywhere; pieces contain the spaces between them."""
    steps: list[Mapping[str, Any]] = [
        {"type": "Replace", "pattern": {"String": affix}, "content": ""}
        for affix in (model.suffix, model.prefix)
        if affix
    ]
    return {"type": "Sequence", "decoders": [*steps, _BYTE_LEVEL_DECODER if model.symbols == "bytes" else _FUSE]}
