"""Tokens whose text is in no normalised text: arguments from the normaliser alone, by its kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from itertools import compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding.normalizer import huggingface_normalizer
from pyharness.metrics.arguments.argument import Argument
from pyharness.types import InputError
from pyharness.vocabularies.patterns.code_points import LIMIT, every_character
from pyharness.vocabularies.stages import Stages, TokenForm

_VALID = np.r_[0:0xD800, 0xE000:LIMIT]  # not surrogates
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_BY_CHARACTER = ("Lowercase", "StripAccents", "Nmt", "BertNormalizer")  # they map each character by itself
# Ranges around whose characters BertNormalizer puts spaces.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class NormalizerArguments:
    """Arguments from the normaliser alone; there are none if it is not a list of known steps."""

    def __init__(self, stages: Stages) -> None:
        self._steps = list(stages.normalizer or ())
        self._normalize = stages.normalize
        self._inserted = dict.fromkeys(map(ord, stages.inserted), "\0")

    def of(self, form: TokenForm) -> Argument | None:
        """Return an argument about one form of a token, from any part of it that is in the normalised text."""
        if not self._steps:
            return None
        parts = [part for part in form.text.translate(self._inserted).split("\0") if part]
        arguments = (self._form_of(part) or self._argue_replaced(part) or self._characters(part) for part in parts)
        return next(filter(None, arguments), None) or self._ideograph(form)

    def _form_of(self, part: str) -> Argument | None:
        if self._last_form is None or self._last_form[1](part) == part:
            return None
        name = self._last_form[0]
        return Argument("normal_form", f"it is not in {name}, and every part of a text in {name} is in {name}")

    @cached_property
    def _last_form(self) -> tuple[str, Callable[[str], str]] | None:
        """Name and function of a Unicode normal form, if the result is a part of a text in that form."""
        steps = [step for step in self._steps if step["type"] != "Strip"]
        if not steps or steps[-1]["type"] not in _FORMS:
            return None
        return steps[-1]["type"], huggingface_normalizer(steps[-1])

    def _argue_replaced(self, part: str) -> Argument | None:
        for place, step in enumerate(self._steps):
            old, new = _replacement(step)
            if not old or old not in part or not _never_stays(old, new):
                continue
            if all(_makes_none_of(later, old) for later in self._steps[place + 1 :]):
                return Argument("string_replaced", f"{old!r} in it is replaced by {new!r} wherever it stands")
        return None

    def _characters(self, part: str) -> Argument | None:
        if self._steps[-1]["type"] in _FORMS:
            return None  # any character may come out of it
        changed = [character for character in part if character not in self._normalize(character)]
        character = next((character for character in changed if not self._made[ord(character)]), None)
        if character is None:
            return None
        return Argument("character_never_made", f"no text has U+{ord(character):04X} once it is normalised")

    @cached_property
    def _made(self) -> NDArray[np.bool_]:
        """Characters that normalised text may have, bool [0x110000]."""
        characters = np.ones(LIMIT, np.bool_)
        for step in self._steps:
            characters = _after(step, characters)
        return characters

    def _ideograph(self, form: TokenForm) -> Argument | None:
        text = form.text.translate(dict.fromkeys(self._inserted, " "))
        if not any(map(_is_ideograph, text)) or not self._isolates:
            return None
        if any(any(map(_is_ideograph, pair)) and " " not in pair for pair in pairwise(text)):
            return Argument("ideograph_alone", "the normaliser puts a space on either side of its ideograph")
        return None

    def starts_behind_space(self, form: TokenForm) -> bool:
        """Return whether a space, or nothing, is right before a form in normalised text."""
        return _is_ideograph(form.text[0]) and self._isolates

    @cached_property
    def _isolates(self) -> bool:
        """Whether an ideograph of normalised text always has a space or an end of the text on each side."""
        step: Mapping[str, Any] = self._steps[-1] if self._steps else {"type": None}
        if step["type"] != "BertNormalizer" or not step.get("handle_chinese_chars", True):
            return False
        ideographs = _ideographs()
        characters = _after(step, ~ideographs)
        return not bool((characters & ideographs).any())


@lru_cache(maxsize=1)
def _ideographs() -> NDArray[np.bool_]:
    """Return the characters around which BertNormalizer puts spaces, bool [0x110000]."""
    ideographs = np.zeros(LIMIT, np.bool_)
    for first, last in _IDEOGRAPHS:
        ideographs[first : last + 1] = True
    return ideographs


def _is_ideograph(character: str) -> bool:
    return bool(_ideographs()[ord(character)])


def _replacement(step: Mapping[str, Any]) -> tuple[str, str]:
    """Return the string that a Replace step replaces, and its replacement; empty strings for any other step."""
    pattern, new = step.get("pattern"), step.get("content")
    old = pattern.get("String") if step["type"] == "Replace" and isinstance(pattern, dict) else None
    return (old, new) if isinstance(old, str) and isinstance(new, str) else ("", "")


def _never_stays(old: str, new: str) -> bool:
    """Return whether a replacement removes a string for good: the new string cannot be a part of it."""
    return old not in new if len(old) == 1 else bool(new) and not set(old) & set(new)


def _makes_none_of(step: Mapping[str, Any], string: str) -> bool:
    """Return whether a step leaves a text without a string if the text had none."""
    if step["type"] == "Strip":
        return True
    if step["type"] == "Prepend":
        return not set(str(step.get("prepend"))) & set(string)
    old, new = _replacement(step)
    return bool(old and new) and not set(new) & set(string)


def _after(step: Mapping[str, Any], made: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return characters that a step may give for a text of the given ones; all characters if this is unknown."""
    after = made.copy()
    kind = step["type"]
    if kind == "Strip":
        return after
    if kind == "Prepend":
        return _with(after, str(step.get("prepend")))
    if kind == "Replace" and isinstance(step.get("content"), str):
        old, _ = _replacement(step)
        if len(old) == 1:
            after[ord(old)] = False
        return _with(after, step["content"])
    if kind not in _BY_CHARACTER:
        return np.ones_like(made)
    return _made_of(json.dumps(step), None if made.all() else made.tobytes())


@lru_cache(maxsize=16)
def _made_of(step: str, given: bytes | None) -> NDArray[np.bool_]:
    """Return characters that a step for single characters gives; ``given``: bool [0x110000], None for all."""
    text = every_character()
    if given is not None:
        text = "".join(compress(text, np.frombuffer(given, np.bool_)[_VALID].tolist()))
    try:
        return _with(np.zeros(LIMIT, np.bool_), huggingface_normalizer(json.loads(step))(text))
    except InputError:
        return np.ones(LIMIT, np.bool_)


def _with(made: NDArray[np.bool_], characters: str) -> NDArray[np.bool_]:
    made[np.frombuffer(characters.encode("utf-32-le"), np.uint32)] = True
    return made
