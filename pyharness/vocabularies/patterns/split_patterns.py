"""Split patterns of published tokenizers, by name; BPE never merges across their pieces.

The expressions are those of their sources, and tests compare the two. Spellings that cut every text alike share one
entry; tables show the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CASED_WORDS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)
WHITE_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
GPT2_RELEASE = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
GPT2_MINBPE = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SINGLE_DIGITS = GPT2_RELEASE.replace(r" ?\p{N}+", r"\p{N}")
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
LLAMA3 = rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{WHITE_SPACE}"
# Called GPT-4's, but without cl100k's rule for white space at the end of a text.
GPT4_MINBPE = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
DIGITS_RIGHT_TO_LEFT = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))")
QWEN2 = rf"{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{WHITE_SPACE}"
O200K = "|".join(
    (*(f"{word}{CONTRACTION}?" for word in CASED_WORDS), r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", WHITE_SPACE)
)
TEKKEN = "|".join((*CASED_WORDS, r"\p{N}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", WHITE_SPACE))
_DEEPSEEK_V3 = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
    rf"|{WHITE_SPACE}"
)
DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    _DEEPSEEK_V3.replace(r"\r\n", "\r\n"),  # the file has the newlines themselves
)


@dataclass(frozen=True, slots=True)
class SplitPattern:
    """A known pattern. Every expression cuts the pieces of the one before; text between matches is a piece, too.

    >>> SPLIT_PATTERNS["whitespace"].expressions
    ('[ ]?\\\\S+|\\\\s+(?!\\\\S)|\\\\s+',)
    >>> SPLIT_PATTERNS["gpt2"].aliases
    ('r50k', 'r50k_base', 'p50k', 'p50k_base')
    """

    expressions: tuple[str, ...]
    rules: str  # name of the native core's rules
    source: str
    aliases: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()  # other single expressions that cut every text alike


SPLIT_PATTERNS: Mapping[str, SplitPattern] = {
    "gpt2": SplitPattern(
        (GPT2,),
        "gpt2",
        "tiktoken_ext.openai_public r50k_pat_str; the spelling of GPT-2's encoder.py is that of tokenizers' ByteLevel",
        ("r50k", "r50k_base", "p50k", "p50k_base"),
        (GPT2_RELEASE, GPT2_MINBPE),
    ),
    "cl100k": SplitPattern((CL100K,), "cl100k", "tiktoken_ext.openai_public cl100k_base", ("cl100k_base",)),
    "o200k": SplitPattern((O200K,), "o200k", "tiktoken_ext.openai_public o200k_base", ("o200k_base",)),
    "llama3": SplitPattern(
        (LLAMA3,), "llama3", "llama_models.llama3.tokenizer; minbpe's GPT-4 pattern", (), (GPT4_MINBPE,)
    ),
    "qwen2": SplitPattern((QWEN2,), "qwen2", "tokenizer.json of Qwen2.5"),
    "deepseek_v3": SplitPattern(DEEPSEEK_V3, "deepseek_v3", "tokenizer.json of DeepSeek-V3, three Split steps"),
    "tekken": SplitPattern((TEKKEN,), "tekken", "mistral_common tekken_240911.json, config.pattern"),
    "single_digits": SplitPattern(
        (SINGLE_DIGITS,),
        "single_digits",
        "arXiv 2404.17808 (Scaffold-BPE): GPT-2's categories, every digit alone; digits take no space before them",
    ),
    "digits_right_to_left": SplitPattern(
        (DIGITS_RIGHT_TO_LEFT,),
        "digits_right_to_left",
        r"ours: llama3's, with groups of three digits from the right, as the look-ahead \d{1,3}(?=(\d{3})*\b) of "
        "Hugging Face's study of number tokenization has them (arXiv 2402.14903); ours does so before a letter, too",
    ),
    # Not " ?" at its start: minbpe's files lose white space around a pattern.
    "whitespace": SplitPattern(
        (r"[ ]?\S+|\s+(?!\S)|\s+",), "whitespace", "ours: what stands between white space, with one space before it"
    ),
    "none": SplitPattern((r"[\s\S]+",), "none", "ours: the whole text is one piece"),
}
