"""How long the sentences of a document are, how many commas it has, and which turns of phrase it must not use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_WORDS = 30  # of a sentence that is read once
_CODE = re.compile(r"```.*?```", re.DOTALL)
_NO_PROSE = re.compile(r"^(?:    .*|\|.*|#.*)$", re.MULTILINE)  # indented code, tables, headings
_END = re.compile(r"(?<=[.!?])\s+|\n\n|\n[-*] ")
_WORD = re.compile(r"[A-Za-z']+")

# Each turn stands for a plainer one, which is given with it.
BANNED = {
    r"\bis none\b": "there is no ...",
    r"\bas [\w' ]{1,40} has it\b": "in ...",
    r"\bwho is\b": "name the person's job, or leave it out",
    r"\banew\b": "again",
    r"\btold apart\b": "differ, are distinguished",
    r"\bbeside\b": "next to, with",
    r"\bbefell\b": "happened to",
    r"\bwhat is there\b": "name the thing",
    r"\bwhat was found\b": "results",
}


@dataclass(frozen=True, slots=True)
class Prose:
    """Counts of a document's running text."""

    sentences: int
    long: tuple[str, ...]
    commas: int
    words: int

    @property
    def long_share(self) -> float:
        """Share of sentences of more than ``MOST_WORDS`` words."""
        return len(self.long) / max(self.sentences, 1)

    @property
    def comma_rate(self) -> float:
        """Commas per 100 words."""
        return 100 * self.commas / max(self.words, 1)


def measure_prose(document: str) -> Prose:
    """Count sentences, long sentences, commas and words of a Markdown document."""
    text = running_text(document)
    sentences = [sentence for sentence in _END.split(text) if len(sentence.split()) > 2]
    long = tuple(sentence for sentence in sentences if len(_WORD.findall(sentence)) > MOST_WORDS)
    return Prose(len(sentences), long, text.count(","), len(_WORD.findall(text)))


def running_text(document: str) -> str:
    """A document without code, tables and headings; inline code is one word, a link its text."""
    text = _NO_PROSE.sub("", _CODE.sub("", document))
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", text))


def banned_turns(document: str) -> Iterator[str]:
    """Turns of phrase that a document must not use, each with the plainer one."""
    text = " ".join(running_text(document).split())
    for turn, plainer in BANNED.items():
        yield from (f"{match[0]!r}: write {plainer!r}" for match in re.finditer(turn, text, re.IGNORECASE))
