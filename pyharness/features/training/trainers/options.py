"""The options of a trainer: a dataclass, from whose fields commands, rows, checks, help and records derive.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, kw_only=True)
... class Mine(Sized):
...     depth: int = option("How deep it looks", default=3, most=9)
>>> Mine(vocab_size=300, depth=0)
Traceback (most recent call last):
    ...
pyharness.types.results.InputError: depth is 0; it must be in 1..9
>>> declared(Mine)["depth"].read("trained:mine", "7")
7
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, cast, get_args, get_origin, get_type_hints

from pyharness.plugins.specification import TOKENIZER
from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file

BIGGEST_VOCABULARY = (1 << 31) - 1
BIGGEST_NUMBER = (1 << 63) - 1
_METAVARS: Mapping[type, str] = {int: "N", float: "X", str: "TEXT", tuple: "TEXT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option: the arguments of :func:`option`, and the facts of its field."""

    help: str  # a sentence without its full stop
    least: float = 1  # checked only together with ``most``, which every whole number has
    most: float | None = None  # None: no limit, but whole numbers must fit 64 bits
    instead: str = ""  # the default, in words
    flag: str = ""  # on the command line, if not the name
    metavar: str = ""
    example: str = ""  # a value, for messages
    is_size: bool = False  # it only says how much of one training to keep
    name: str = ""
    kind: type = str  # int, float, str, bool or tuple
    choices: tuple[str, ...] = ()
    default: Any = None
    required: bool = False  # it has no default

    @property
    def shown_default(self) -> str:
        """The default, for people; empty if the option is required."""
        value = ("off", "on")[bool(self.default)] if self.kind is bool else str(self.default or "none")
        return "" if self.required else self.instead or value

    def check(self, value: Any) -> None:
        """Check a value that is not the default.

        Raises:
            InputError: it is out of range, none of the choices, or not text.
        """
        if value is None or (value == self.default and not self.required):
            return
        if self.choices and value not in self.choices:
            raise InputError(f"{self.name} is {value!r}; it must be {' or '.join(self.choices)}")
        if self.most is not None and not self.least <= value <= self.most:
            form = ",g" if self.kind is float else ","
            raise InputError(f"{self.name} is {value:{form}}; it must be in {self.least:{form}}..{self.most:{form}}")
        for text in (value,) if self.kind is str else value if self.kind is tuple else ():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise InputError(f"{text!r} is not Unicode text; write it in UTF-8") from None

    def read(self, row: str, text: str) -> Any:
        """Read the value in a row's name.

        Raises:
            InputError: it is not of this option's kind.
        """
        if self.kind is int and not (text.isascii() and text.isdecimal() and len(text) < 16):
            raise InputError(f"{row!r}: {self.name}={text} is not a whole number of at most 15 digits")
        if self.kind is bool and text not in ("0", "1"):
            raise InputError(f"{row!r}: {self.name}={text} is neither 0 nor 1")
        try:
            return (
                text == "1" if self.kind is bool else tuple(text.split(",")) if self.kind is tuple else self.kind(text)
            )
        except ValueError:
            raise InputError(f"{row!r}: {self.name}={text} is not a number, such as 0.25") from None


def option(help: str, *, default: Any = MISSING, **about: Any) -> Any:
    """Declare a field of :class:`Options`. ``about``: fields of :class:`Option`. Without a default it is required."""
    return dataclasses.field(default=default, metadata={"option": Option(help=help, **about)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a trainer. A subclass has a field for each; impossible values raise ``InputError`` at once.

    Types are int, float, str, bool, a Literal of strings or a tuple of strings; None stands for a default in words.
    """

    def __post_init__(self) -> None:
        """Check every value, then the values together."""
        for one in declared(type(self)).values():
            one.check(getattr(self, one.name))
        self.check()

    def check(self) -> None:
        """Check the values together.

        Raises:
            InputError: they contradict each other.
        """

    def smallest(self) -> Self:
        """Return the options for a training on one letter, which shows whether a format can hold the model."""
        return self


def declared(options: type[Options]) -> Mapping[str, Option]:
    """Return the options of a class by name, in the order of its fields."""
    return _declarations(cast("Any", options))  # mypy does not take a class for Hashable


@cache
def _declarations(options: Any) -> Mapping[str, Option]:
    hints = get_type_hints(options)
    return {field.name: _option_of(field, hints[field.name]) for field in dataclasses.fields(options)}


def _option_of(field: dataclasses.Field[Any], hint: Any) -> Option:
    hint, *_ = [one for one in get_args(hint) if one is not type(None)] if type(None) in get_args(hint) else [hint]
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    kind = str if choices else get_origin(hint) or hint
    about: Option = field.metadata["option"]
    return dataclasses.replace(
        about, name=field.name, kind=kind, choices=choices, default=field.default,
        required=field.default is MISSING,
        most=BIGGEST_NUMBER if about.most is None and kind is int else about.most,
        metavar=about.metavar or _METAVARS.get(kind, ""),
        flag=about.flag or f"--{field.name.replace('_', '-')}",
    )  # fmt: skip


def located(base: str) -> tuple[Path, Mapping[str, str]]:
    """Return the file of a base, and its options.

    Raises:
        InputError: the file is absent or not named, or the specification is invalid.
    """
    if not base.startswith("file:"):
        return vocabulary_file.find(base), {}
    wanted = TOKENIZER.parse(base)
    if wanted.argument is None:
        raise InputError(f"the base {base!r} names no file: write file:PATH")
    return vocabulary_file.find(wanted.argument), wanted.options


# Options that several trainers have.


@dataclass(frozen=True, kw_only=True)
class Sized(Options):
    """A vocabulary has a size."""

    vocab_size: int = option("Ids in all, with alphabet and special tokens", most=BIGGEST_VOCABULARY, example="8192")


@dataclass(frozen=True, kw_only=True)
class Split(Options):
    """Text is split first, by any pattern."""

    pattern: str | None = option(
        "How text is split first: gpt2, cl100k, o200k, llama3, qwen2, deepseek_v3, tekken, single_digits, "
        "digits_right_to_left, whitespace, none, or a regular expression",
        default=None, instead="gpt2", metavar="P",
    )  # fmt: skip

    def check(self) -> None:
        """Refuse an empty pattern."""
        super().check()
        if self.pattern == "":
            raise InputError("the split pattern is empty; the pattern 'none' leaves text whole")


@dataclass(frozen=True, kw_only=True)
class SpecialTokens(Options):
    """Tokens that are not learnt from the text."""

    special: tuple[str, ...] = option(
        "A special token, such as '<|endoftext|>'; repeatable. Our trainers give them the last ids, those of other "
        "libraries the first, after the library's own special tokens",
        default=(),
    )

    @property
    def added(self) -> tuple[str, ...]:
        """Special tokens in the order of their ids."""
        return self.special

    def check(self) -> None:
        """Refuse names that are empty or repeated."""
        super().check()
        if "" in self.added:
            raise InputError("a special token is empty; give it a name such as <|endoftext|>")
        twice = [token for index, token in enumerate(self.added) if token in self.added[:index]]
        if twice:
            raise InputError(f"special token {twice[0]!r} is given twice; give it once")


@dataclass(frozen=True, kw_only=True)
class MinFrequency(Options):
    """Rare pairs or words get no token."""

    min_frequency: int | None = option("Ignore what occurs less often", default=None, instead="1")
