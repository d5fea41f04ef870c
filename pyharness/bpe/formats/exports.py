"""Export of models to files of other libraries; a refusal with the reason where a library cannot express them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from pyharness.bpe.formats.huggingface import tokenizer_json
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import canonical_rules, ranks_agree, unmergeable
from pyharness.plugins.registry import pick
from pyharness.types import InputError, TokenKind
from pyharness.vocabularies.huggingface.pre_tokenizer import known_name
from pyharness.vocabularies.minbpe_file import write_minbpe
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from pyharness.vocabularies.rank_file import write_ranks

ExportKind: TypeAlias = Literal["tokenizer.json", "tiktoken", "minbpe"]
_IN_IT = "pattern and special tokens are in it"


def export_model(model: BpeModel, kind: ExportKind) -> bytes:
    """Return the content of a file with which another library gives the same ids.

    ``tokenizer.json`` is for ``tokenizers``. ``tiktoken`` is a rank file. It specifies neither how text is split
    (:func:`single_expression`) nor which tokens are special (``model.special``): give both to ``tiktoken.Encoding``.
    ``minbpe`` is a ``.model`` file for ``RegexTokenizer``, whose ``load`` does not compile the pattern that it reads
    (build it with :func:`single_expression`), or for ``BasicTokenizer`` when its pattern is empty.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2")
    >>> export_model(model, "tiktoken").splitlines()[-1]  # base64 of pug, and its rank
    b'cHVn 258'
    >>> export_model(model, "minbpe").splitlines()[-1]  # p and ug
    b'112 256'

    Raises:
        InputError: the kind is unknown, or cannot express the model; the message says why.
    """
    writers: Mapping[str, Callable[[BpeModel], bytes]] = {
        "tokenizer.json": tokenizer_json,
        "tiktoken": _rank_file,
        "minbpe": _minbpe_file,
    }
    write = pick("export format", kind, {name: writers[name] for name in get_args(ExportKind)})
    if model.expansion is not None:
        raise InputError(
            f"{kind} cannot express Scaffold-BPE: tokens that are merged and then taken apart again. Keep the "
            "pyharness file, or train plain BPE"
        )
    return write(model)


def single_expression(model: BpeModel) -> str:
    """Return the regular expression of a model's split pattern, for tiktoken and minbpe.

    Raises:
        InputError: the pattern takes several expressions, or is not a known one; only these are sure to cover all text.
    """
    if not isinstance(model.splitter, str):
        raise InputError("text is split by a pre-tokenizer without a known pattern; only tokenizer.json can hold it")
    name = known_name(model.splitter)
    if name is None:
        raise InputError(
            f"the split pattern {model.splitter!r} is an expression of one's own: text that it leaves out is a piece "
            f"here and is dropped there; the patterns that can be written: {', '.join(SPLIT_PATTERNS)}"
        )
    expressions = SPLIT_PATTERNS[name].expressions
    if len(expressions) > 1:
        raise InputError(f"the split pattern {name!r} takes {len(expressions)} expressions in turn; the format has one")
    return expressions[0]


def loading_line(model: BpeModel, kind: ExportKind, path: Path) -> str:
    """Return a line of Python that loads an exported file in its library, with all that the file lacks, in ASCII.

    ``path`` is the location of the file. tiktoken caches the content of a path, and reads the file again only for
    another digest.

    >>> model = model_of_training(train(WeightedPieces.of_bytes({b"hug": 5}), 258), "gpt2", special=("<|end|>",))
    >>> loading_line(model, "tokenizer.json", Path("a/b.json"))
    "import tokenizers; tokenizer = tokenizers.Tokenizer.from_file('a/b.json')  # pattern and special tokens are in it"

    Raises:
        InputError: the kind is unknown, or cannot express the model.
    """
    if kind == "tokenizer.json":
        return f"import tokenizers; tokenizer = tokenizers.Tokenizer.from_file({str(path)!a})  # {_IN_IT}"
    pattern = single_expression(model)
    if kind == "minbpe":
        tokenizer = (
            "BasicTokenizer()" if pattern == SPLIT_PATTERNS["none"].expressions[0] else f"RegexTokenizer({pattern!a})"
        )
        return f"import minbpe; tokenizer = minbpe.{tokenizer}; tokenizer.load({str(path)!a})"
    digest = hashlib.sha256(export_model(model, kind)).hexdigest()
    ranks = f"mergeable_ranks=tiktoken.load.load_tiktoken_bpe({str(path)!a}, expected_hash={digest!a})"
    named, special = f"{path.parent.name!a}", f"special_tokens={dict(model.special)!a}"
    return f"import tiktoken.load; tokenizer = tiktoken.Encoding({named}, pat_str={pattern!a}, {ranks}, {special})"


def _check_bare(model: BpeModel, kind: str) -> None:
    """Refuse properties that a file of ranks or merges over bytes cannot express."""
    single_expression(model)
    if model.byte_ids is None:
        marks = " and ".join(repr(mark) for mark in (model.prefix, model.suffix) if mark)
        raise InputError(f"{kind} merges bytes; this model merges {model.symbols}{marks and f' marked with {marks}'}")
    if model.normalizer is not None:
        raise InputError(f"{kind} cannot express a normaliser; this model has one")
    if any(not token.special for token in model.added):
        names = ", ".join(repr(token.content) for token in model.added if not token.special)
        raise InputError(f"{kind} cannot express added tokens that are not special: {names[:200]}")
    if (model.byte_ids == np.iinfo(np.uint32).max).any():
        raise InputError(f"{kind} needs all 256 bytes; this model lacks some")


def _rank_file(model: BpeModel) -> bytes:
    _check_bare(model, "a tiktoken rank file")
    ranks_agree(model.merges)
    _check_whole(model, "tiktoken", whole=True)
    kinds = model.vocabulary.kinds
    return write_ranks({model.vocabulary[token]: token for token in np.flatnonzero(kinds == TokenKind.NORMAL).tolist()})


def _minbpe_file(model: BpeModel) -> bytes:
    _check_bare(model, "a minbpe model")
    _check_whole(model, "minbpe", whole=False)
    for content in model.special:
        if len(content.split()) != 1 or content != content.strip():
            raise InputError(f"a minbpe model cannot express the special token {content!r}: white space ends its name")
    rules = canonical_rules(model.merges)
    bytes_in_order = np.array_equal(model.byte_ids, np.arange(256)) if model.byte_ids is not None else False
    in_order = np.array_equal(rules[:, 2], np.arange(256, 256 + len(rules))) and (rules[:, :2] < rules[:, 2:]).all()
    if not bytes_in_order or not in_order:
        raise InputError(
            "a minbpe model numbers the bytes 0 to 255 and the merges from 256 in their order; this model has other ids"
        )
    normal = np.flatnonzero(model.vocabulary.kinds == TokenKind.NORMAL)
    if not np.array_equal(normal, np.arange(256 + len(rules))):
        raise InputError("in a minbpe model, merges make all tokens but bytes and special ones; not in this one")
    expression = single_expression(model)
    whole = expression == SPLIT_PATTERNS["none"].expressions[0]
    return write_minbpe("" if whole else expression, model.special, rules[:, :2].tolist())


def _check_whole(model: BpeModel, library: str, *, whole: bool) -> None:
    """Refuse tokens that exist only as whole pieces here and not there, or vice versa."""
    if model.whole_pieces != whole and len(tokens := unmergeable(model.merges)):
        raise InputError(
            f"{library} {'takes' if whole else 'does not take'} a piece that is a token as that token whatever the "
            f"merges say; that changes {len(tokens):,} tokens of this model, {model.vocabulary[int(tokens[0])]!r} first"
        )
