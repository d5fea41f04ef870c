"""Specifications: names of tokenizers, corpora and benchmarks, ``[engine+]name[:argument][?key=value&...]``.

The argument ends at the first ``?``, that of a corpus at the first that only options follow; write another ``?`` as
``%3F``. Values of options are percent-decoded: write ``&`` in a value as ``%26``, and ``%`` as ``%25``.

>>> TOKENIZER.parse("gigatoken+file:/x/cl100k_base.tiktoken?pattern=cl100k_base").argument
'/x/cl100k_base.tiktoken'
>>> TOKENIZER.write("trained", "bpe", {"corpus": "sample?max_bytes=2kB&name=a"})
'trained:bpe?corpus=sample?max_bytes=2kB%26name=a'
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from pyharness.plugins.registry import suggest
from pyharness.types import InputError

_PAIRS = re.compile(r"[A-Za-z_]\w*=[^&]*(&[A-Za-z_]\w*=[^&]*)*", re.ASCII)
# A user before the host of an address, or a parameter that gives access to whoever has the address.
_SECRET = re.compile(
    r"://[^/?#]*@|https?://[^/?#:\[]*:(?!\d*(?:[/?#]|\Z))|[?&;](?:[\w.-]*(?:token|secret|signature|credential|passw(?:or)?d|"
    r"apikey|keyid)|(?:[\w.-]*[_-])?(?:key|sig|sign|auth|jwt|pwd))=",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Specification:
    """A parsed specification string."""

    text: str
    name: str
    argument: str | None
    options: Mapping[str, str]
    engine: str | None
    head: str  # the text without its options

    @property
    def home(self) -> str:
        """The same specification without its engine."""
        return self.text if self.engine is None else self.text[len(self.engine) + 1 :]


@dataclass(frozen=True, slots=True)
class Grammar:
    """Syntax for the names of one kind of thing."""

    kind: str  # its name in messages
    shape: str
    example: str
    engines: bool = False  # whether another engine may stand before the name
    globs: bool = False  # arguments are paths: they may be empty, and keep a "?" that no options follow
    files: str = ""  # the family of files

    def parse(self, text: str) -> Specification:
        """Parse a specification, without looking up its names.

        Raises:
            InputError: it breaks the grammar, or gives an option twice.
        """
        if "\0" in text or not (text.strip() or self.globs):
            raise InputError(f"{self.kind} specification {text!r} is empty, or has a NUL; {self._write()}")
        decoded = unquote(text)
        if "://" in decoded and any(map(_SECRET.search, (text, decoded, unquote(decoded)))):
            # Not quoted: messages end up in logs.
            raise InputError(
                f"a {self.kind} specification holds a user, a password, a token or a signature; specifications are "
                "written into records: leave it out, and set the environment variables of the service"
            )
        head, mark, query = self._cut(text)
        family, colon, argument = head.partition(":")
        engine, plus, name = family.rpartition("+") if self.engines else ("", "", family)
        if "+" in engine:  # a "+" after the first ":" belongs to the argument
            raise InputError(f"{self.kind} {text!r} names two engines; one engine runs one vocabulary: {self.shape}")
        if not self.globs and (not name or (plus and not engine) or (colon and not argument)):
            raise InputError(f"incomplete {self.kind} specification {text!r}; {self._write()}")
        options = self._options(text, query) if mark else {}
        # The escape of "?" is the only one in an argument: a file may be called 100%25.txt.
        argument = argument.replace("%3F", "?").replace("%3f", "?")
        return Specification(text, name, argument if colon else None, options, engine or None, head)

    def of_path(self, text: str, names: Callable[[], Container[str]]) -> str:
        """Return a specification; a path that exists, and is no such name, gets the family of files before it."""
        head, _, _ = self._cut(text)
        start = head.find("+") + 1 if self.engines and not os.path.exists(head) else 0  # noqa: PTH110 - never raises
        is_path = ":" not in head and os.path.exists(head[start:]) and head[start:] not in names()  # noqa: PTH110
        return f"{text[:start]}{self.files}:{text[start:]}" if is_path else text

    def write(
        self, name: str, argument: str | None = None, options: Mapping[str, str] | None = None,
        engine: str | None = None,
    ) -> str:  # fmt: skip
        """Write a specification that ``parse`` reads back as the same.

        An argument that contains ``%3F`` cannot be written: there it stands for a ``?``.
        """
        text = (f"{engine}+" if engine else "") + name
        text += "" if argument is None else f":{argument.replace('?', '%3F')}"
        pairs = (f"{key}={escaped(value)}" for key, value in (options or {}).items())
        return "?".join(part for part in (text, "&".join(pairs)) if part)

    def _cut(self, text: str) -> tuple[str, str, str]:
        """Cut at the ``?`` before the options: the first, or in a path the first that only pairs follow."""
        if not self.globs:
            return text.partition("?")
        for match in re.finditer(r"\?", text):
            if _PAIRS.fullmatch(text, match.end()):
                return text[: match.start()], "?", text[match.end() :]
        return text, "", ""

    def _options(self, text: str, query: str) -> dict[str, str]:
        options: dict[str, str] = {}
        for pair in query.split("&"):
            key, equals, value = pair.partition("=")
            if not key or not equals:
                written = "write '&' inside a value as %26, '?' before the options as %3F"
                raise InputError(f"{self.kind} {text!r}: option {pair!r} is not key=value ({written})")
            if key in options:
                raise InputError(f"{self.kind} {text!r} gives {key}= twice; give it once")
            options[key] = unquote(value)
        return options

    def _write(self) -> str:
        return f"it is written {self.shape}, e.g. {self.example!r}"


def escaped(value: str) -> str:
    """Escape the value of an option.

    >>> escaped("50% & more")
    '50%25 %26 more'
    """
    return value.replace("%", "%25").replace("&", "%26")


TOKENIZER = Grammar("tokenizer", "[engine+]name[:argument][?key=value&...]", "mistral:v3", engines=True, files="file")
CORPUS = Grammar("corpus", "family[:argument][?key=value&...]", "sample:prose", globs=True, files="path")
BENCHMARK = Grammar("benchmark", "name[?parameter=value&...]", "throughput?threads=1,2")


def check_options(text: str, options: Mapping[str, str], known: Collection[str]) -> None:
    """Raise ``InputError`` for options that a tokenizer does not have."""
    for key in options:
        if not known:
            raise InputError(f"tokenizer {text!r} takes no options, not {key!r}")
        if key not in known:
            raise suggest(f"option of tokenizer {text!r}:", key, known)
