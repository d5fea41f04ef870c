"""Properties that follow from a tokenizer.json alone: its round trip, and notes on its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.types import RoundTrip
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET, NEVER_IN_UTF8
from pyharness.vocabularies.huggingface.file import HuggingFaceFile, flat_stages

_LETTERS = frozenset(BYTE_ALPHABET.values())

SPECIAL_IN_MODEL = "special tokens are entries of the Unigram model, which finds them in text that spells them"

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
_JOINING = ("Fuse", "ByteLevel")  # decoders that join all tokens to one text
_STEPS = {"normalizer": _NORMALIZERS, "pre_tokenizer": _PRE_TOKENIZERS, "decoder": _DECODERS}


def round_trip(file: HuggingFaceFile) -> tuple[RoundTrip, list[str]]:
    """Return the class of the round trip, and the reasons why it is not exact."""
    losses = list(_losses(file))
    return worst([kind for kind, _ in losses]), [f"{kind}: {reason}" for kind, reason in losses]


def worst(classes: Sequence[RoundTrip]) -> RoundTrip:
    """Return the class of several losses together."""
    return max(classes, key=_CLASSES.index, default="exact")


def is_byte_level(file: HuggingFaceFile) -> bool:
    """Return whether the model receives text in the byte alphabet."""
    return any(step["type"] == "ByteLevel" for step in (*file.stages("normalizer"), *file.stages("pre_tokenizer")))


def writes_bytes(stage: Mapping[str, Any] | None) -> bool:
    """Return whether a stage turns text into letters of the byte alphabet."""
    return any(step["type"] == "ByteLevel" for step in flat_stages(stage))


def written_twice(steps: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether steps before the model write text in the byte alphabet twice, which a decoder undoes only once."""
    return [step["type"] for step in steps].count("ByteLevel") > 1


def has_byte_fallback(file: HuggingFaceFile) -> bool:
    """Return whether every byte has a ``<0xNN>`` token to fall back on."""
    return bool(file.model.get("byte_fallback")) and all(f"<0x{byte:02X}>" in file.vocab for byte in range(256))


def notes(file: HuggingFaceFile) -> list[str]:
    """Return notes on settings of the file that measurements switch off or keep."""
    notes = [f"{stage} switched off" for stage in ("truncation", "padding") if file.content.get(stage) is not None]
    if file.content.get("post_processor") is not None:
        notes.append(f"post-processor {file.content['post_processor']['type']} not applied")
    stages = {name: [step["type"] for step in file.stages(name)] for name in ("normalizer", "pre_tokenizer", "decoder")}
    notes.extend(f"{name}: {', '.join(types)}" for name, types in stages.items() if types)
    options = ("ignore_merges", "byte_fallback", "fuse_unk")
    notes.extend(f"{option} is on" for option in options if file.model.get(option))
    if file.model.get("dropout"):
        notes.append(f"dropout {file.model['dropout']} switched off")
    kept = [token.content for token in file.added if not token.special]
    if file.added:
        notes.append(
            f"{len(file.added) - len(kept)} special tokens are plain text, {len(kept)} other added tokens stay on"
        )
    if file.model_type == "Unigram" and any(token.special and token.content in file.vocab for token in file.added):
        # The library can leave them out only by a change of the vocabulary, which would then differ from the file's.
        notes.append(SPECIAL_IN_MODEL)
    return notes


def stage_losses(name: str, steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[RoundTrip, str]]:
    """Yield the losses of the steps of a normalizer, pre_tokenizer or decoder, each with the class that remains."""
    for step in steps:
        level = _STEPS[name].get(step["type"], _LOSSY)
        if name == "pre_tokenizer" and step["type"] == "ByteLevel" and step.get("add_prefix_space"):
            level = max(level, _NORMALISED)
        if name == "pre_tokenizer" and str(step.get("behavior", "")).lower() == "removed":
            level = _LOSSY
        if level != _EXACT:
            yield _CLASSES[level], f"{name} {step['type']}"


def decoder_losses(
    steps: Sequence[Mapping[str, Any]], *, byte_level: bool, byte_fallback: bool
) -> Iterator[tuple[RoundTrip, str]]:
    """Yield the losses of a decoder that does not fit its model; the steps themselves are judged elsewhere."""
    decoders = [step["type"] for step in steps]
    joined = next((at for at, kind in enumerate(decoders) if kind in _JOINING), len(decoders))
    if not decoders:
        yield "lossy", "no decoder: tokens are joined with spaces"
    elif byte_level != ("ByteLevel" in decoders):
        yield "lossy", "the decoder and the stages before the model differ about the byte alphabet"
    if byte_fallback and "ByteFallback" not in decoders[:joined]:
        yield "lossy", "the decoder does not undo the byte fallback"
    for step in steps[:joined]:
        if _depends_on_tokens(step):
            yield "lossy", f"decoder {step['type']} works on each token"


def _depends_on_tokens(step: Mapping[str, Any]) -> bool:
    """Return whether a step changes tokens in another way than the text that they form."""
    if step["type"] != "Replace":
        return step["type"] == "Strip" and bool(step.get("start") or step.get("stop"))
    pattern = step.get("pattern")
    text = pattern.get("String") if isinstance(pattern, dict) else pattern
    return not isinstance(text, str) or len(text) != 1


def _losses(file: HuggingFaceFile) -> Iterator[tuple[RoundTrip, str]]:
    for name in _STEPS:
        yield from stage_losses(name, file.stages(name))
    yield from _model_losses(file)
    if written_twice([*file.stages("normalizer"), *file.stages("pre_tokenizer")]):
        yield "lossy", "bytes are written as letters more than once"
    if any(not token.special and (token.lstrip or token.rstrip) for token in file.added):
        yield "normalised", "added tokens take the spaces next to them"
    if is_byte_level(file) and any(not token.special and _reads_as_bytes(token.content) for token in file.added):
        yield "lossy", "added tokens are decoded as if they were written in the byte alphabet"


def _reads_as_bytes(content: str) -> bool:
    """Return whether a byte-level decoder turns a text into bytes other than its own: "é" is its letter for 0xE9."""
    return not content.isascii() and all(character in _LETTERS for character in content)


def _model_losses(file: HuggingFaceFile) -> Iterator[tuple[RoundTrip, str]]:
    if file.model_type in ("WordPiece", "WordLevel"):
        yield "lossy", f"{file.model_type} has an unknown token"
        return
    byte_level = is_byte_level(file)
    byte_fallback = not byte_level and has_byte_fallback(file)
    if byte_level:
        # Files of 2022 lack the 13 bytes that never occur in UTF-8, and texts are valid UTF-8.
        if not all(character in file.vocab for byte, character in BYTE_ALPHABET.items() if byte not in NEVER_IN_UTF8):
            yield "lossy", "some bytes are not in the vocabulary"
    elif not byte_fallback:
        yield "lossy", "characters outside the vocabulary have no byte fallback"
    if file.model.get("continuing_subword_prefix"):
        yield "lossy", f"symbols inside words begin with {file.model['continuing_subword_prefix']!r}"
    if file.model.get("end_of_word_suffix"):
        yield "lossy", f"words end in {file.model['end_of_word_suffix']!r}"
    yield from decoder_losses(file.stages("decoder"), byte_level=byte_level, byte_fallback=byte_fallback)
