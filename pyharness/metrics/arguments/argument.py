"""Arguments that a token is unreachable, and the verdict that each kind proves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "merges_alone",
    "better_path",
    "longer_than_words",
    "added_token_inside",
    "normal_form",
    "character_never_made",
    "string_replaced",
    "ideograph_alone",
    "always_cut",
]


@dataclass(frozen=True, slots=True)
class Argument:
    """Why no text makes a tokenizer emit a token."""

    kind: Kind
    text: str  # one line
