"""Seeded text that is likely to break a tokenizer: document ``index`` of a seed is always the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice

CHARACTERS = 4000  # of a document, about
PARTS, SAME_PARTS = 2000, 1000  # of a family at a time, and for how many documents
CONTRACTIONS = (
    "'s",
    "'S",
    "'t",
    "'re",
    "'VE",
    "'m",
    "'ll",
    "'LL",
    "'d",
    "'ſ",
    "’s",
    "'",
    "''",
    "'sx",
    "x'",
    "'l",
    "'r",
)
SPACES = (
    " ", "  ", "\n", "\r", "\r\n", "\t", "\v", "\f", "\x85", "\xa0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f",
    "\u3000", "\u200b", "\ufeff", " \n", "\n ", "\x1c", "\x1f",
)  # fmt: skip
MARKS = [*range(0x300, 0x370), 0x5B0, 0x64B, 0x94D, 0xE31, 0x1AB0, 0x20D0, 0x3099, 0xFE0F, 0x200D, 0xE0100, 0x1D165]
SCRIPTS = (
    (0x21, 0x7F), (0x41, 0x5B), (0x61, 0x7B), (0xA1, 0x180), (0x1C4, 0x250), (0x370, 0x400), (0x400, 0x530),
    (0x590, 0x600), (0x600, 0x700), (0x900, 0x980), (0xE00, 0xE80), (0x10A0, 0x1100), (0x1100, 0x1200),
    (0x1E00, 0x2000), (0x2000, 0x2070), (0x2150, 0x2190), (0x2C00, 0x2E00), (0x3040, 0x3100), (0x4E00, 0x9FB0),
    (0xAC00, 0xD7A4), (0xF900, 0xFB00), (0xFF00, 0xFFF0), (0x10400, 0x10450), (0x1D400, 0x1D800), (0x1F300, 0x1FA00),
    (0x20000, 0x20100), (0xE000, 0xE100),
)  # fmt: skip
DIGITS = [*range(0x30, 0x3A), 0xB2, 0xBC, *range(0x660, 0x66A), *range(0x966, 0x970), 0x2160, 0x2460, 0x3007, 0xFF11,
          0x1D7CE, 0x1F100]  # fmt: skip
SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<s>",
    "</s>",
    "<unk>",
    "[CLS]",
    "<0x41>",
    "▁",
    "<|",
    "|>",
    "[INST]",
    "<pad>",
)
CONTEXTS = ("a{}b", " {} ", "{}{}", "1{}2", "'{}s", "\n{}\n", "中{}", "{}\u0301", "  {}", "!{}?", "A{}a")
BROKEN = (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xb8", b"\x80", b"\xf0\x9f")
POINTS = 0x110000 - 0x800  # without surrogates

Family = Callable[[random.Random], Iterator[str]]


def point(number: int) -> str:
    """Return the character with this number, surrogates left out of the count."""
    return chr(number if number < 0xD800 else number + 0x800)


def _any_point(generator: random.Random) -> str:
    highest = generator.choice((0x80, 0x800, 0x10000 - 0x800, 0x20000, POINTS))
    return point(generator.randrange(highest))


def _points(generator: random.Random) -> Iterator[str]:
    while True:
        yield _any_point(generator)


def _word(generator: random.Random) -> str:
    first, end = generator.choice(SCRIPTS)
    return "".join(chr(generator.randrange(first, end)) for _ in range(generator.choice((1, 2, 3, 5, 9, 30))))


def _words(generator: random.Random) -> Iterator[str]:
    while True:
        yield _word(generator) + generator.choice((" ", " ", "", "\n", ", ", "-", "1", "'s ", generator.choice(SPACES)))


def _runs(generator: random.Random) -> Iterator[str]:
    while True:
        unit = generator.choice((_any_point(generator), _word(generator), *SPACES, "a", "ab", "0", "=", "'s"))
        yield unit * generator.choice((2, 3, 7, 17, 64, 65, 200, 1500))


def _marked(generator: random.Random) -> Iterator[str]:
    bases = "aeouAE nſ1' 가각각がは中ক"
    while True:
        marks = generator.choices(MARKS, k=generator.choice((0, 1, 1, 2, 3, 20)))
        yield generator.choice(bases) + "".join(map(chr, marks))


def _spaces(generator: random.Random) -> Iterator[str]:
    while True:
        yield "".join(generator.choices(SPACES, k=generator.choice((1, 1, 2, 3, 5, 40))))
        yield generator.choice(("", "a", "Ab", "1", "!", "é", "中", "\u0301", "/", "//", "'s"))


def _contracted(generator: random.Random) -> Iterator[str]:
    while True:
        yield generator.choice(("it", "IT", "é", "中", "1", " ", "", "x", "\n", "ǅ", "ʰ", "_")) + generator.choice(
            CONTRACTIONS
        )


def _numbers(generator: random.Random) -> Iterator[str]:
    while True:
        yield "".join(map(chr, generator.choices(DIGITS, k=generator.choice((1, 2, 3, 4, 5, 6, 7, 31)))))
        yield generator.choice((" ", ".", ",", "", "a", "\n", "  ", "%", "中"))


def _specials(special: Sequence[str], generator: random.Random) -> Iterator[str]:
    while True:
        token = generator.choice(special)
        yield generator.choice((token, token, token[:-1], token[1:], token.upper(), token * 2))
        yield generator.choice(("", "", " ", "\n", "a", "  ", "é"))


def _code(generator: random.Random) -> Iterator[str]:
    while True:
        yield generator.choice(
            ("def f(x):", "\t", "    ", "x_1 = 0x7F;", "//", "/* ", "</div>", "&&", "http://a.b/c?d=e&f", "===")
        )
        yield generator.choice(("", " ", "\n", "\r\n", ";", "}\n"))


def _joined_tokens(tokens: Sequence[bytes], generator: random.Random) -> Iterator[str]:
    while True:
        joined = b"".join(generator.choices(tokens, k=generator.choice((1, 2, 3, 8))))
        yield joined.decode(errors="replace") + generator.choice(("", "", " ", "\n"))


class FuzzedText:
    """Documents of one seed. ``special`` and ``tokens`` are the tokenizer's own, so that texts come near them."""

    def __init__(self, seed: int, special: Sequence[str], tokens: Sequence[bytes]) -> None:
        self._seed = seed
        self._families: tuple[Family, ...] = (
            _points, _words, _words, _runs, _marked, _spaces, _contracted, _numbers, _code,
            partial(_specials, (*SPECIAL, *special)), partial(_joined_tokens, tokens),
        )  # fmt: skip
        # Drawing every part anew takes ten times as long as the fastest encoder.
        self._parts = lru_cache(maxsize=1)(self._parts_of)

    def document(self, index: int) -> str:
        """Return a document. Every fourth goes on through all code points, in another context each time round."""
        if index % 4 == 3:
            return self._code_points(index // 4)
        generator = random.Random(f"{self._seed} {index}")
        parts = self._parts(index // SAME_PARTS)
        chosen = generator.choices(parts, k=generator.choice((1, 1, 2, 4)))
        pool = chosen[0] if len(chosen) == 1 else [part for parts in chosen for part in parts]
        size = sum(map(len, pool)) // len(pool) + 1
        return "".join(generator.choices(pool, k=CHARACTERS // size + 1))

    def _parts_of(self, block: int) -> list[list[str]]:
        """For every family some parts to make documents of."""
        generator = random.Random(f"{self._seed} {block} parts")
        return [list(islice(family(generator), PARTS)) for family in self._families]

    def _code_points(self, index: int) -> str:
        number = CHARACTERS // 4
        first = index * number
        context = CONTEXTS[(first // POINTS + self._seed) % len(CONTEXTS)]
        return "".join([context.replace("{}", point((first + i) % POINTS)) for i in range(number)])

    def broken_bytes(self, index: int) -> bytes:
        """Return a document with bytes that are not UTF-8: cut characters, lone bytes, overlong forms."""
        generator = random.Random(f"{self._seed} {index} bytes")
        data = bytearray(self.document(index).encode())
        for _ in range(len(data) // generator.choice((3, 30, 300)) + 1):
            at = generator.randrange(len(data))
            data[at : at + generator.randrange(3)] = generator.choice(BROKEN)
        return bytes(data)
