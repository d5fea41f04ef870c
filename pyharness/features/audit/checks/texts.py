"""Round trips of every assigned code point, and both normal forms of what has two."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult, id_list, quoted
from pyharness.tokenizers import HasNormalize
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.types import TokenKind, Tokens

_UNASSIGNED = ("Cn", "Cs", "Co")  # not assigned, halves of surrogate pairs, private use
_HANGUL = range(0xAC00, 0xD7A4)
_OF_HANGUL = 28  # of 11,172 syllables that are all made alike, one of so many is tried
_OLD = unicodedata.ucd_3_2_0
_COMPOSING = ("NFC", "NFKC", "NFD", "NFKD")


@cache
def code_points() -> Sequence[str]:
    """Return every assigned character of the Unicode version that Python has."""
    letters = (chr(code) for code in range(0x110000))
    return [letter for letter in letters if unicodedata.category(letter) not in _UNASSIGNED]


def check_code_points(subject: AuditSubject) -> CheckResult:
    """Encode and decode each assigned code point alone, in the home library."""
    letters = code_points()
    tokens = subject.loaded.encode_batch(letters, 1)
    promise = subject.loaded.round_trip
    tried = f"{len(letters):,} code points of Unicode {unicodedata.unidata_version}"
    if promise == "lossy":
        return CheckResult(
            f"{tried}: {_unknown(subject, tokens):,} are unknown or give nothing; the file promises none"
        )
    decoded = subject.decode_each(tokens)
    lost = [place for place, (letter, data) in enumerate(zip(letters, decoded, strict=True))
            if data != letter.encode() and data.strip() != _promised(subject, letter).encode().strip()]  # fmt: skip
    return CheckResult(f"{tried}; the file promises {promise} text", tuple(_lost(letters, tokens, decoded, lost)))


def _promised(subject: AuditSubject, text: str) -> str:
    tokenizer = subject.loaded
    return tokenizer.normalize(text) if isinstance(tokenizer, HasNormalize) else text


def _lost(
    letters: Sequence[str], tokens: Tokens, decoded: Sequence[bytes], lost: Sequence[int]
) -> Iterator[AuditFault]:
    if lost:
        first = lost[0]
        names = ", ".join(f"U+{ord(letters[place]):04X}" for place in lost[:4])
        witness = f"{quoted(letters[first])} -> {id_list(tokens.document(first).tolist())} -> {quoted(decoded[first])}"
        yield AuditFault(
            "code point does not come back", f"{len(lost):,} of {len(letters):,}: {names}{', ...' * (len(lost) > 4)}",
            witness, "find what differs from the publisher's file with `pyharness diff`; do not train with this one",
        )  # fmt: skip


def _unknown(subject: AuditSubject, tokens: Tokens) -> int:
    vocabulary = subject.vocabulary
    if vocabulary is None:
        return 0
    unknown = vocabulary.kinds == TokenKind.UNKNOWN
    documents = (tokens.document(index) for index in range(len(tokens)))
    return sum(not len(ids) or bool(unknown[ids].any()) for ids in documents)


# ---------------------------------------------------------------------------------------------- normal forms


@cache
def two_forms() -> Sequence[tuple[str, str]]:
    """Return pairs of equal text: characters composed (NFC) and decomposed (NFD)."""
    pairs = ((letter, unicodedata.normalize("NFD", letter)) for letter in code_points())
    return [
        (composed, apart)
        for composed, apart in pairs
        if apart != composed == unicodedata.normalize("NFC", apart)
        and (ord(composed) not in _HANGUL or ord(composed) % _OF_HANGUL == 0)
    ]


def check_normal_forms(subject: AuditSubject) -> CheckResult:
    """Compare the ids of both normal forms: a file with a normaliser of Unicode promises that they are equal."""
    pairs = two_forms()
    composed, apart = (subject.loaded.encode_batch([f"a{pair[side]}b" for pair in pairs]) for side in (0, 1))
    differing = [place for place in range(len(pairs))
                 if composed.document(place).tolist() != apart.document(place).tolist()]  # fmt: skip
    tried = f"{len(pairs):,} characters"
    if not differing:
        return CheckResult(tried)
    # Tables of libraries may be older than Python's: characters of Unicode 3.2 are in all of them.
    old = [place for place in differing if _OLD.category(pairs[place][0]) != "Cn"]
    promised = _promises_forms(subject) and bool(old)
    place = old[0] if promised else differing[0]
    one, other = pairs[place]
    points = " ".join(f"U+{ord(letter):04X}" for letter in other)
    sides = (id_list(tokens.document(place).tolist()) for tokens in (composed, apart))
    text = f"{len(differing):,} of {len(pairs):,} have different ids in NFD"
    fault = AuditFault(
        "equal text, other ids", text + (", and the file has a normaliser of Unicode" if promised else ""),
        f"{quoted(f'a{one}b')} (NFC) -> {next(sides)}, {quoted(f'a{other}b')} (NFD, {points}) -> {next(sides)}",
        "compare the normaliser with the publisher's file" if promised
        else "bring text to NFC before you encode it, in training and in service: names of files on Macs are NFD",
        "fail" if promised else "warn",
    )  # fmt: skip
    return CheckResult(tried, (fault,))


def _promises_forms(subject: AuditSubject) -> bool:
    """Whether a file has a normaliser that makes both forms equal."""
    home = subject.home
    return isinstance(home, HuggingFaceTokenizer) and any(
        step["type"] in _COMPOSING for step in home.file.stages("normalizer")
    )
