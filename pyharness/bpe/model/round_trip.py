"""Whether a model can give text back as it says it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyharness.bpe.model.model import BpeModel
from pyharness.types import InputError, RoundTrip
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET, NEVER_IN_UTF8
from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.huggingface.traits import decoder_losses, stage_losses, worst, written_twice


def check_round_trip(model: BpeModel, label: str) -> None:
    """Refuse a model that claims a better round trip than its stages and symbols allow.

    Raises:
        InputError: it does; one of the reasons is named.
    """
    for possible, reason in losses(model):
        if worst([possible, model.round_trip]) != model.round_trip:
            raise InputError(f"{label}: 'round_trip' is {model.round_trip!r}, but it is {possible} at best: {reason}")


def losses(model: BpeModel) -> Iterator[tuple[RoundTrip, str]]:
    """What makes the round trip of a model worse than exact, and the class that each reason leaves."""
    if model.drop_space:
        yield "normalised", "a leading space is dropped"
    if model.normalizer is not None and not isinstance(model.normalizer, Mapping):
        yield "normalised", "SentencePiece normalises text"
    for name, stage in (
        ("normalizer", model.normalizer),
        ("pre_tokenizer", model.splitter),
        ("decoder", model.decoder),
    ):
        if isinstance(stage, Mapping):
            yield from stage_losses(name, flat_stages(stage))
    if model.in_letters and isinstance(model.normalizer, Mapping):
        splitter = flat_stages(model.splitter) if isinstance(model.splitter, Mapping) else []
        if written_twice(flat_stages(model.normalizer), splitter):
            yield "lossy", "bytes are written as letters more than once"
    if model.decoder is not None:
        byte_level = model.symbols == "bytes" or model.in_letters
        byte_fallback = not byte_level and bool(model.fallback)
        steps = flat_stages(model.decoder) if isinstance(model.decoder, Mapping) else []
        yield from decoder_losses(steps, byte_level=byte_level, byte_fallback=byte_fallback)
    yield from _symbol_losses(model)
    yield from _added_losses(model)


def _symbol_losses(model: BpeModel) -> Iterator[tuple[RoundTrip, str]]:
    if model.prefix or model.suffix:
        yield "lossy", f"symbols carry {model.prefix or model.suffix!r}"
    letters = _letters(model)
    if letters and all(letters[byte] in model.alphabet for byte in range(256) if byte not in NEVER_IN_UTF8):
        return
    if not model.fallback:
        yield "lossy", f"some {model.symbols} have no symbol, and nothing to fall back on"
    elif model.expansion is None and (wrong := [b for b in range(256) if not _falls_back(model, b)]):
        instead = "nothing" if model.fallback[wrong[0]] < 0 else "an id that is not this byte"
        yield "lossy", f"byte 0x{wrong[0]:02X} falls back on {instead}"


def _letters(model: BpeModel) -> list[bytes]:
    """What each of the 256 bytes is to the model; nothing where it works on characters."""
    if model.symbols == "bytes":
        return [bytes([byte]) for byte in range(256)]
    return [BYTE_ALPHABET[byte].encode() for byte in range(256)] if model.in_letters else []


def _falls_back(model: BpeModel, byte: int) -> bool:
    return model.fallback[byte] >= 0 and model.vocabulary[model.fallback[byte]] == bytes([byte])


def _added_losses(model: BpeModel) -> Iterator[tuple[RoundTrip, str]]:
    for token in model.added:
        if token.special:
            continue
        if token.lstrip or token.rstrip:
            yield "normalised", f"the added token {token.content!r} takes the spaces beside it"
        if token.content.encode() != model.vocabulary[token.id]:
            yield "normalised", f"the added token {token.content!r} reads {model.vocabulary[token.id][:40]!r}"
