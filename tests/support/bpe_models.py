"""Trained models, text that is likely to tell tokenizers apart, and slow references that run a model."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise

import numpy as np
import regex
from hypothesis import strategies as st

from pyharness.bpe.encoding.encoders import BpeEncoder
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.bpe.training.piece_counter import PieceCounter
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.bpe.training.trainer import TrainedBpe, WeightedPieces, train
from pyharness.corpora import open_corpus
from pyharness.types import Tally, TokenKind, Vocabulary
from pyharness.vocabularies.files.merge_model import byte_level_model
from pyharness.vocabularies.huggingface.file import AddedToken
from pyharness.vocabularies.minbpe_file import MinbpeFile

SPECIAL = ("<|endoftext|>", "<|pad|>")
CHARACTER_TEXTS = 400
PATTERNS = ("gpt2", "cl100k", "single_digits", "whitespace", "none")
ATOMS = (
    *("the", " the", " marsh", "ing", "'s", "'LL", "12345", " 7", "\n", "\r\n", " ", "  ", "\t", *SPECIAL),
    *("é", "e\u0301", "ß", "中文字", "한국", "日本語", "हिन्दी", "العَ"),
    *("🇪🇪", "👨‍👩‍👧", "²", "½", "\u00a0", "\u2028", "\u3000", "ſ", "\ufeff"),
    *("\x00", "\x85", "_", "!?", "->", "://", "Ⅳ", "ǅ", "ａ", "▁", "Ġ", "<0x41>"),
)  # fmt: skip
TEXT = st.lists(st.sampled_from(ATOMS) | st.text(max_size=6), max_size=25).map("".join)


@cache
def sample() -> tuple[str, ...]:
    return tuple(open_corpus("sample").documents(Tally()))


@cache
def texts(count: int) -> list[str]:
    """Fuzzed texts, and some of the sample corpus."""
    generator = random.Random(5)
    fuzzed = []
    for _ in range(count):
        atoms = [
            generator.choice(ATOMS) if generator.random() < 0.8 else chr(generator.randrange(0x20, 0xD800))
            for _ in range(generator.randrange(1, 30))
        ]
        fuzzed.append("".join(atoms))
    return ["", *fuzzed, *sample()[::40]]


@cache
def trained(pattern: str, *, scaffold: bool = False, size: int = 700) -> TrainedBpe:
    counter = PieceCounter(TextSplitter(pattern))
    counter.add(sample()[:600])
    return train(counter.pieces(), size, scaffold=scaffold, max_token_length=None if pattern != "none" else 30)


@cache
def trained_model(pattern: str, *, scaffold: bool = False) -> BpeModel:
    return model_of_training(trained(pattern, scaffold=scaffold), pattern, special=SPECIAL, origin={"corpus": "sample"})


@cache
def character_model() -> BpeModel:
    pieces: dict[str, int] = {}
    for text in sample()[:CHARACTER_TEXTS]:
        for piece in TextSplitter("gpt2").split(text):
            pieces[piece.decode()] = pieces.get(piece.decode(), 0) + 1
    alphabet = {character for piece in pieces for character in piece}
    result = train(WeightedPieces.of_characters(pieces), len(alphabet) + 400)
    return model_of_training(result, "gpt2", special=("<unk>", *SPECIAL), unknown="<unk>")


class Reference:
    """Runs a byte-level model without normaliser and added tokens, by definition."""

    def __init__(self, model: BpeModel) -> None:
        assert isinstance(model.splitter, str)
        assert model.byte_ids is not None
        self.model, self.byte_ids, self.splitter = model, model.byte_ids, TextSplitter(model.splitter)
        self.encoder = BpeEncoder(model.merges)
        normal = np.flatnonzero(model.vocabulary.kinds == TokenKind.NORMAL).tolist()
        self.whole = {model.vocabulary[token]: token for token in normal} if model.whole_pieces else {}
        self.pieces: dict[bytes, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        return [token for piece in self.splitter.split(text) for token in self._piece(piece)]

    def _piece(self, piece: bytes) -> list[int]:
        if piece not in self.pieces:
            self.pieces[piece] = [self.whole[piece]] if piece in self.whole else self._merged(piece)
        return self.pieces[piece]

    def _merged(self, piece: bytes) -> list[int]:
        internal: list[int] = self.encoder.encode(self.byte_ids[np.frombuffer(piece, np.uint8)]).tolist()
        if self.model.expansion is None:
            return internal
        ids, offsets = self.model.expansion
        return [part for token in internal for part in ids[offsets[token] : offsets[token + 1]].tolist()]


@cache
def reference(model: BpeModel) -> Reference:
    return Reference(model)


def encode(model: BpeModel, text: str) -> list[int]:
    return reference(model).encode(text)


def minbpe_encode(file: MinbpeFile, text: str) -> list[int]:
    """What minbpe's ``encode_ordinary`` does, written after its description: all of the earliest pair at once."""
    ranks = {pair: 256 + rank for rank, pair in enumerate(file.merges)}
    chunks = regex.findall(file.pattern, text) if file.pattern else [text]
    found: list[int] = []
    for chunk in chunks:
        ids = list(chunk.encode())
        while len(ids) > 1:
            pair = min(pairwise(ids), key=lambda p: ranks.get(p, float("inf")))
            if pair not in ranks:
                break
            merged, at = [], 0
            while at < len(ids):
                both = tuple(ids[at : at + 2]) == pair
                merged.append(ranks[pair] if both else ids[at])
                at += 2 if both else 1
            ids = merged
        found += ids
    return found


def same(one: BpeModel, other: BpeModel) -> bool:
    """Whether two models say the same in every field."""
    for name in BpeModel.__dataclass_fields__:
        a, b = getattr(one, name), getattr(other, name)
        if name in ("vocabulary", "merges"):
            arrays = [(getattr(a, field), getattr(b, field)) for field in type(a).__dataclass_fields__]
        elif name == "expansion":
            arrays = list(zip(a or (), b or (), strict=True))
        else:
            arrays = []
            if a != b:
                return False
        for left, right in arrays:
            if (left is None) != (right is None) or (left is not None and not np.array_equal(left, right)):
                return False
            if left is not None and left.dtype != right.dtype:
                return False
    return True


def random_model(seed: int) -> BpeModel:
    """A few rules over three letters that nobody trained: in any order, unreachable, or for special tokens."""
    generator = random.Random(seed)
    tokens = {byte: bytes([byte]) for byte in range(256)}
    rules: dict[tuple[int, int], int] = {}
    for _ in range(generator.randrange(16)):
        left, right = generator.choices([*b"abc", *range(256, len(tokens))], k=2)
        data = tokens[left] + tokens[right]
        known = next((token for token, other in tokens.items() if other == data), len(tokens))
        rules.setdefault((left, right), known)
        tokens[known] = data
    if generator.random() < 0.3 and b"cab" not in tokens.values():
        tokens[len(tokens)] = b"cab"  # which no rule makes
    special = [generator.randrange(256, len(tokens))] if len(tokens) > 256 and generator.random() < 0.3 else []
    vocabulary = Vocabulary.from_tokens(tokens, dict.fromkeys(special, TokenKind.SPECIAL))
    order = [(*pair, result) for pair, result in rules.items()]
    if generator.random() < 0.5:
        generator.shuffle(order)
    ranked = generator.random() < 0.3
    ranks = np.arange(len(tokens), dtype=np.uint32)
    ranks[(vocabulary.kinds != TokenKind.NORMAL) | (ranks < 256)] = np.iinfo(np.uint32).max
    rows = np.array(order, np.uint32).reshape(-1, 3)
    return BpeModel(
        vocabulary=vocabulary,
        merges=byte_level_model(
            vocabulary, np.arange(256, dtype=np.uint32), rules=None if ranked else rows, ranks=ranks if ranked else None
        ),
        alphabet={bytes([byte]): byte for byte in range(256)},
        splitter=generator.choice(PATTERNS),
        added=tuple(AddedToken(token, tokens[token].decode(), special=True) for token in special),
        whole_pieces=ranked or generator.random() < 0.3,
    )
