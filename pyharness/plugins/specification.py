"""Reads specification strings: ``[engine+]name[:argument][?key=value&...]``.

>>> parse("gigatoken+file:/x/cl100k_base.tiktoken?pattern=cl100k_base").argument
'/x/cl100k_base.tiktoken'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from pyharness.plugins.registry import suggest
from pyharness.types import InputError

SHAPE = "[engine+]name[:argument][?key=value&...]"


@dataclass(frozen=True, slots=True)
class Specification:
    """A specification string, taken apart."""

    text: str
    name: str
    argument: str | None
    options: Mapping[str, str]
    engine: str | None = None

    @property
    def home(self) -> str:
        """The same specification without its engine."""
        return self.text if self.engine is None else self.text[len(self.engine) + 1 :]


def parse(text: str) -> Specification:
    """Take a specification apart; the names in it are not looked up here."""
    if not text.strip() or "\0" in text:
        raise InputError(f"empty tokenizer specification {text!r}; it is written {SHAPE}, e.g. 'mistral:v3'")
    body, mark, query = text.partition("?")
    head, colon, argument = body.partition(":")
    engine, plus, name = head.rpartition("+")  # a '+' after the first ':' belongs to the argument
    if "+" in engine:
        raise InputError(f"tokenizer {text!r} names two engines; one engine runs one vocabulary: {SHAPE}")
    if not name or (plus and not engine) or (colon and not argument):
        raise InputError(f"incomplete tokenizer specification {text!r}; it is written {SHAPE}, e.g. 'mistral:v3'")
    return Specification(text, name, argument if colon else None, _options(text, query) if mark else {}, engine or None)


def _options(text: str, query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in query.split("&"):
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise InputError(f"tokenizer {text!r}: option {pair!r} is not key=value (write '&' inside a value as %26)")
        if key in options:
            raise InputError(f"tokenizer {text!r} gives option {key!r} twice")
        options[key] = unquote(value)
    return options


def check_options(text: str, options: Mapping[str, str], known: Collection[str]) -> None:
    """Refuse options that a tokenizer does not have."""
    for key in options:
        if not known:
            raise InputError(f"tokenizer {text!r} takes no options, not {key!r}")
        if key not in known:
            raise suggest(f"option of tokenizer {text!r}:", key, known)
