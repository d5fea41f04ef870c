"""What a tokenizer.json implies, from the file alone: can text come back unchanged, and what is worth noting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyharness.types import RoundTrip
from pyharness.vocabularies.huggingface_file import HuggingFaceFile

# The character that stands for each byte in byte-level vocabularies (GPT-2's table).
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTE_ALPHABET = {byte: chr(byte) for byte in _PRINTABLE} | {
    byte: chr(256 + index) for index, byte in enumerate(sorted(set(range(256)) - set(_PRINTABLE)))
}

SPECIAL_IN_MODEL = "special tokens are entries of the Unigram model, which finds them in text that spells them"

_NEVER_IN_UTF8 = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))

_EXACT, _NORMALISED, _LOSSY = 0, 1, 2
_CLASSES: tuple[RoundTrip, ...] = ("exact", "normalised", "lossy")

_NORMALIZERS = {
    "ByteLevel": _EXACT,
    **dict.fromkeys(("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Strip", "Prepend", "Replace"), _NORMALISED),
    **dict.fromkeys(("Lowercase", "StripAccents", "BertNormalizer"), _LOSSY),
}
_PRE_TOKENIZERS = {
    **dict.fromkeys(("ByteLevel", "Digits", "UnicodeScripts", "FixedLength", "Split", "Punctuation"), _EXACT),
    "Metaspace": _NORMALISED,
    **dict.fromkeys(("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "CharDelimiterSplit"), _LOSSY),
}
_DECODERS = {
    **dict.fromkeys(("ByteLevel", "ByteFallback", "Fuse"), _EXACT),
    **dict.fromkeys(("Metaspace", "Replace", "Strip"), _NORMALISED),
    **dict.fromkeys(("WordPiece", "BPEDecoder", "CTC"), _LOSSY),
}


def round_trip(file: HuggingFaceFile) -> tuple[RoundTrip, list[str]]:
    """Class of the round trip, and the reasons it is not exact."""
    losses = list(_losses(file))
    worst = max((level for level, _ in losses), default=_EXACT)
    return _CLASSES[worst], [f"{_CLASSES[level]}: {reason}" for level, reason in losses]


def is_byte_level(file: HuggingFaceFile) -> bool:
    """Whether the model sees text in the byte alphabet."""
    return any(step["type"] == "ByteLevel" for step in (*file.stages("normalizer"), *file.stages("pre_tokenizer")))


def has_byte_fallback(file: HuggingFaceFile) -> bool:
    """Whether every byte has a ``<0xNN>`` token to fall back on."""
    return bool(file.model.get("byte_fallback")) and all(f"<0x{byte:02X}>" in file.vocab for byte in range(256))


def notes(file: HuggingFaceFile) -> list[str]:
    """What was found in the file and is switched off or kept when measuring."""
    found = [f"{stage} switched off" for stage in ("truncation", "padding") if file.content.get(stage) is not None]
    if file.content.get("post_processor") is not None:
        found.append(f"post-processor {file.content['post_processor']['type']} not applied")
    stages = {name: [step["type"] for step in file.stages(name)] for name in ("normalizer", "pre_tokenizer", "decoder")}
    found.extend(f"{name}: {', '.join(types)}" for name, types in stages.items() if types)
    options = ("ignore_merges", "byte_fallback", "fuse_unk")
    found.extend(f"{option} is on" for option in options if file.model.get(option))
    if file.model.get("dropout"):
        found.append(f"dropout {file.model['dropout']} switched off")
    kept = [token.content for token in file.added if not token.special]
    if file.added:
        found.append(
            f"{len(file.added) - len(kept)} special tokens are plain text, {len(kept)} other added tokens stay on"
        )
    if file.model_type == "Unigram" and any(token.special and token.content in file.vocab for token in file.added):
        # The library has no other way to leave them out than to change the vocabulary, and then it is not theirs.
        found.append(SPECIAL_IN_MODEL)
    return found


def _losses(file: HuggingFaceFile) -> Iterator[tuple[int, str]]:
    for stage, table in (("normalizer", _NORMALIZERS), ("pre_tokenizer", _PRE_TOKENIZERS), ("decoder", _DECODERS)):
        for step in file.stages(stage):
            level = max(table.get(step["type"], _LOSSY), _options(stage, step))
            if level != _EXACT:
                yield level, f"{stage} {step['type']}"
    yield from _model_losses(file)
    if any(not token.special and (token.lstrip or token.rstrip) for token in file.added):
        yield _NORMALISED, "added tokens take the spaces beside them"


def _options(stage: str, step: Mapping[str, Any]) -> int:
    if stage != "pre_tokenizer":
        return _EXACT
    if str(step.get("behavior", "")).lower() == "removed":
        return _LOSSY
    return _NORMALISED if step.get("add_prefix_space") and step["type"] == "ByteLevel" else _EXACT


def _model_losses(file: HuggingFaceFile) -> Iterator[tuple[int, str]]:
    if file.model_type in ("WordPiece", "WordLevel"):
        yield _LOSSY, f"{file.model_type} has an unknown token"
        return
    if is_byte_level(file):
        # Files of 2022 leave out the 13 bytes that valid UTF-8 never has, and texts are valid UTF-8.
        if not all(character in file.vocab for byte, character in BYTE_ALPHABET.items() if byte not in _NEVER_IN_UTF8):
            yield _LOSSY, "some bytes are not in the vocabulary"
    elif not has_byte_fallback(file):
        yield _LOSSY, "characters outside the vocabulary have no byte fallback"
    if file.model.get("end_of_word_suffix"):
        yield _LOSSY, f"words end in {file.model['end_of_word_suffix']!r}"
    decoders = {step["type"] for step in file.stages("decoder")}
    if not decoders:
        yield _LOSSY, "no decoder: tokens are joined with spaces"
    elif is_byte_level(file) != ("ByteLevel" in decoders):
        yield _LOSSY, "the decoder does not undo the pre-tokenizer"
