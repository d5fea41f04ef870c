"""Made-up texts of several languages and of code, aligned and not, and small tokenizer files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

from browsing import strings
from tokenizer_files import byte_level, rank_data, sentencepiece_data

DOCUMENTS = 70  # an interval needs 64
WORDS = {
    "en": "the hello world wheel of low tokens is held by all who tell stories while walking home",
    "et": "sõnaraamat on laual ja õues sajab äkki vihma kuigi öösel oli külm ning ülejäänud magasid",
    "th": "ภาษา ไทย ราคา ถูก ที่สุด ประเทศ ข่าว วันนี้ อากาศ ร้อน มาก เดินทาง โรงเรียน อาหาร อร่อย",
    "code": "def return self import for in range(10): if x[i] == y: print(f'{x}') # TODO {} () => None;",
}


def write(folder: Path) -> dict[str, str]:
    """Write a text of each language and an aligned one; returns what names them in a suite, by label."""
    named = {}
    for language in WORDS:
        path = folder / f"{language}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in made(language)), "utf-8")
        named[language] = f"path:{path}?language={language}"
    aligned = zip(*(made(language) for language in ("en", "et", "th")), strict=True)
    rows = (json.dumps({"text": dict(zip(("en", "et", "th"), row, strict=True))}) for row in aligned)
    (folder / "aligned.jsonl").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return named | {"aligned": f"parallel:{folder / 'aligned.jsonl'}?reference=en"}


def made(language: str) -> list[str]:
    """Documents of words in a random order, always the same."""
    source = random.Random(language)
    return [" ".join(source.choices(WORDS[language].split(), k=20 + number % 17)) + "\n" for number in range(DOCUMENTS)]


def write_rows(folder: Path) -> dict[str, str]:
    """Write tokenizer files: one that loses text, one with dead tokens whose strings are markup, and plain ones.

    Two know half of the English words each, of as many letters: neither is better.
    """
    english = WORDS["en"].split()
    half = ["walking", "stories", "tokens", "hello", "tell", "home", "of"]
    files = {
        "plain.json": json.dumps(byte_level()).encode(),
        "grown.tiktoken": _ranks(word for words in WORDS.values() for word in words.split()),
        "one.tiktoken": _ranks(half),
        "other.tiktoken": _ranks(word for word in english if word not in half),
        "dead.tiktoken": rank_data(tuple(text.encode() for text in strings.MARKUP)),
        "lossy.model": sentencepiece_data(2, byte_fallback=False),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    pattern = {".tiktoken": "?pattern=cl100k_base"}
    return {Path(name).stem: f"file:{folder / name}{pattern.get(Path(name).suffix, '')}" for name in files}


def _ranks(words: Iterable[str]) -> bytes:
    """Ranks of words and of all they begin with, with and without a space before."""
    tokens = [token for word in words for token in (word.encode(), b" " + word.encode())]
    return rank_data(tuple(dict.fromkeys(token[:end] for token in tokens for end in range(2, 1 + len(token)))))
