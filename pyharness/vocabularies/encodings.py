"""Split patterns and special tokens of published rank files, which carry neither.

The patterns are those of :mod:`pyharness.vocabularies.patterns.split_patterns`, and Kimi's from its model card:
resolving a name must not import tiktoken.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyharness.plugins.registry import suggest
from pyharness.types import InputError
from pyharness.vocabularies.files.stage_bounds import check_pattern
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID
from pyharness.vocabularies.patterns.split_patterns import CASED_WORDS, CONTRACTION, SPLIT_PATTERNS, WHITE_SPACE
from pyharness.vocabularies.patterns.split_patterns import CL100K as CL100K
from pyharness.vocabularies.patterns.split_patterns import GPT2 as GPT2
from pyharness.vocabularies.patterns.split_patterns import LLAMA3 as LLAMA3
from pyharness.vocabularies.patterns.split_patterns import O200K as O200K
from pyharness.vocabularies.patterns.split_patterns import QWEN2 as QWEN2
from pyharness.vocabularies.patterns.split_patterns import TEKKEN as TEKKEN

END_OF_TEXT = "<|endoftext|>"
OPENAI = "https://openaipublic.blob.core.windows.net/encodings/"

_NOT_HAN = r"\p{M}&&[^\p{Han}]]"
KIMI = "|".join(
    (
        r"[\p{Han}]+",
        *(f"{word.replace(_NOT_HAN[:5] + ']', _NOT_HAN)}{CONTRACTION}?" for word in CASED_WORDS),
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        WHITE_SPACE,
    )
)

PATTERNS: Mapping[str, str] = {
    "gpt2": GPT2,
    "r50k_base": GPT2,
    "p50k_base": GPT2,
    "cl100k_base": CL100K,
    "o200k_base": O200K,
    "llama3": LLAMA3,
    "qwen2": QWEN2,
    "kimi_k2": KIMI,
    "tekken": TEKKEN,
}


@dataclass(frozen=True, slots=True)
class Encoding:
    """What a rank file itself lacks, and where it comes from.

    ``vocabulary`` names the ids: encodings that share it give plain text equal ids. It is empty where ids have no name.
    """

    name: str
    vocabulary: str
    pattern: str
    digest: str  # sha256 of the rank file
    special: Mapping[str, int] = field(default_factory=dict)
    url: str | None = None
    licence: str = "MIT"


_R50K = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
_P50K = "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
_CL100K = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_O200K = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_CL100K_SPECIAL = {
    END_OF_TEXT: 100257,
    **dict(zip(_FIM, range(100258, 100261), strict=True)),
    "<|endofprompt|>": 100276,
}
_O200K_SPECIAL = {END_OF_TEXT: 199999, "<|endofprompt|>": 200018}
_HARMONY = {  # OpenAI's list also has <|reserved_200018|>, a second name of <|endofprompt|>
    **_O200K_SPECIAL,
    **{
        f"<|reserved_{i}|>": i
        for i in (200000, 200001, 200004, 200009, 200010, 200011, *range(200013, 201088))
        if i not in _O200K_SPECIAL.values()
    },
    "<|startoftext|>": 199998,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
}
_P50K_EDIT = {END_OF_TEXT: 50256, **dict(zip(_FIM, range(50281, 50284), strict=True))}

OPENAI_ENCODINGS: Mapping[str, Encoding] = {
    encoding.name: encoding
    for encoding in (
        Encoding("r50k_base", "r50k_base", GPT2, _R50K, {END_OF_TEXT: 50256}, f"{OPENAI}r50k_base.tiktoken"),
        # The same ranks as r50k_base; tiktoken reads them from two older files.
        Encoding("gpt2", "r50k_base", GPT2, _R50K, {END_OF_TEXT: 50256}, f"{OPENAI}r50k_base.tiktoken"),
        Encoding("p50k_base", "p50k_base", GPT2, _P50K, {END_OF_TEXT: 50256}, f"{OPENAI}p50k_base.tiktoken"),
        Encoding("p50k_edit", "p50k_base", GPT2, _P50K, _P50K_EDIT, f"{OPENAI}p50k_base.tiktoken"),
        Encoding("cl100k_base", "cl100k_base", CL100K, _CL100K, _CL100K_SPECIAL, f"{OPENAI}cl100k_base.tiktoken"),
        Encoding("o200k_base", "o200k_base", O200K, _O200K, _O200K_SPECIAL, f"{OPENAI}o200k_base.tiktoken"),
        Encoding("o200k_harmony", "o200k_base", O200K, _O200K, _HARMONY, f"{OPENAI}o200k_base.tiktoken"),
    )
}

# Rank files in circulation, recognised by their digest, or by a file name whose stem is in STEMS.
KNOWN_FILES: Mapping[str, Encoding] = {
    **{name: OPENAI_ENCODINGS[name] for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")},
    "whisper_multilingual": Encoding(
        "whisper_multilingual",
        "whisper_multilingual",
        GPT2,
        "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126",
    ),
    "qwen": Encoding(
        "qwen",
        "qwen",
        QWEN2,
        "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
        {END_OF_TEXT: 151643, "<|im_start|>": 151644, "<|im_end|>": 151645},
        licence="Apache-2.0",
    ),
    "llama3": Encoding(
        "llama3",
        "llama3",
        LLAMA3,
        "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
        {"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001},
        licence="Llama 3 Community License",
    ),
    "kimi_k2": Encoding(
        "kimi_k2",
        "kimi_k2",
        KIMI,
        "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",
        {"[BOS]": 163584, "[EOS]": 163585},
        licence="Modified MIT",
    ),
}
STEMS: Mapping[str, str] = {
    "gpt2": "r50k_base",
    "whisper_gpt2": "r50k_base",
    "multilingual": "whisper_multilingual",
    **{name: name for name in KNOWN_FILES},
}


def recognise(digest: str, stem: str) -> Encoding | None:
    """Return the encoding of a rank file, by its content or else by its name; None if neither is known."""
    for encoding in KNOWN_FILES.values():
        if encoding.digest == digest:
            return encoding
    name = STEMS.get(stem)
    if name is None:
        return None
    # The name decides how to split; the ids are the file's own.
    return Encoding(name, f"sha256:{digest[:16]}", KNOWN_FILES[name].pattern, digest, KNOWN_FILES[name].special)


# Ranks of the published files, and the first 12 digits of the SHA-256 of their first 4,096 bytes (None: unknown).
# p50k_base starts with all of r50k_base.
_BEGINNING_BYTES = 4096
_PUBLISHED: Mapping[str, tuple[int, str | None]] = {
    "r50k_base": (50256, "cc16a629039d"),
    "p50k_base": (50280, "cc16a629039d"),
    "cl100k_base": (100256, "952119f2e770"),
    "o200k_base": (199998, "30ce64a194e0"),
    "whisper_multilingual": (50257, "0af540a48375"),
    "qwen": (151643, "5c10efe80b2b"),
    "llama3": (128000, None),
    "kimi_k2": (163584, "3a9de09ed34a"),
}


def check_whole(data: bytes, digest: str, stem: str, label: str) -> None:
    """Refuse a rank file known by its name alone that has fewer ranks than the published file of that name.

    Any prefix of a rank file that has the 256 bytes, cut between two lines, is a valid vocabulary: the format does not
    mark its end.

    Raises:
        InputError: the file has fewer ranks.
    """
    name, lines = STEMS.get(stem), _lines(data)
    if name is None or any(digest == file.digest for file in KNOWN_FILES.values()):
        return
    if lines < (published := _PUBLISHED[name][0]):
        raise InputError(
            f"{label} is named for {name}, which has {published:,} ranks, and has {lines:,}: it is cut off, or another "
            f"vocabulary; copy it again, or say how it splits text: ?pattern={name}"
        )


def part_of(data: bytes, digest: str) -> tuple[str, ...]:
    """Return a note on a rank file that begins as a published one does and has fewer ranks; empty for others."""
    if any(digest == file.digest for file in KNOWN_FILES.values()):
        return ()
    beginning, lines = hashlib.sha256(data[:_BEGINNING_BYTES]).hexdigest(), _lines(data)
    for name, (published, head) in _PUBLISHED.items():
        if head is not None and beginning.startswith(head) and lines < published:
            return (f"it begins as {name} does and has {lines:,} of its {published:,} ranks: cut off, or a part of it",)
    return ()


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))


def pattern(text: str) -> tuple[str, str]:
    """Return name and regular expression of ``?pattern=``, which is a known name or an expression ("custom").

    Raises:
        InputError: the name is unknown, or the expression is empty or too long.
    """
    if text in PATTERNS:
        return text, PATTERNS[text]
    expression = text
    for name, split in SPLIT_PATTERNS.items():  # names as in "pyharness train --pattern"
        if text in (name, *split.aliases) and len(split.expressions) == 1:
            expression = split.expressions[0]
    for name, known_expression in PATTERNS.items():
        if known_expression == expression:
            return name, expression
    if expression != text:
        return text, expression
    if text.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise suggest("split pattern", text, PATTERNS)
    if not text:
        raise InputError(f"empty split pattern; known: {', '.join(PATTERNS)}, or a regular expression")
    check_pattern(text, "pattern=")
    return "custom", text


def read_special(text: str, label: str) -> dict[str, int]:
    """Read the special tokens of ``?special=``, which :func:`written_special` writes.

    >>> read_special("<|end|>:256,<|pad|>:257", "the file")
    {'<|end|>': 256, '<|pad|>': 257}

    Raises:
        InputError: an entry is not CONTENT:ID, or its id is too large.
    """
    special: dict[str, int] = {}
    for entry in filter(None, text.split(",")):
        content, colon, token = entry.rpartition(":")
        if not colon or not content or not token.isdecimal() or int(token) >= BIGGEST_ID:
            raise InputError(
                f"{label}: special token {entry!r} is not CONTENT:ID with an id below {BIGGEST_ID:,}; "
                "write ?special=<|endoftext|>:50256,<|pad|>:50257"
            )
        special[content] = int(token)
    return special


def written_special(special: Mapping[str, int]) -> str:
    """Write special tokens in the form of ``?special=``.

    Raises:
        InputError: a token contains a comma, which is the separator.
    """
    for content in special:
        if "," in content:
            raise InputError(f"the special token {content!r} has a comma, which ?special= cannot hold; leave it out")
    return ",".join(f"{content}:{token}" for content, token in special.items())
