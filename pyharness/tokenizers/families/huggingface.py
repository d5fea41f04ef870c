"""tokenizer.json files, run by Hugging Face tokenizers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pyharness.system.threads import pool_of
from pyharness.tokenizers.source import Loader, VocabularyFile, refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Ids, InputError, MergeModel, Tokenizer, Tokens, Vocabulary
from pyharness.vocabularies.huggingface import traits as huggingface_traits
from pyharness.vocabularies.huggingface import vocabulary as huggingface_vocabulary
from pyharness.vocabularies.huggingface.file import HuggingFaceFile, read_file
from pyharness.vocabularies.huggingface.library_stages import library_stage
from pyharness.vocabularies.stages import ModelKind, Stages, huggingface_forms, huggingface_spelled_once, split_steps

POOL = pool_of("tokenizers", "RAYON_NUM_THREADS")


class HuggingFaceTables:
    """Facts of a tokenizer.json, the same for every engine that runs it."""

    def __init__(self, file: HuggingFaceFile) -> None:
        self.file = file
        self.round_trip, reasons = huggingface_traits.round_trip(file)
        self.notes = (*reasons, *huggingface_traits.notes(file))
        self._vocabulary = huggingface_vocabulary.vocabulary(file)
        self.id_limit = len(self._vocabulary)
        self.vocab_size = int(self._vocabulary.counted.sum())

    def vocabulary(self) -> Vocabulary:
        """Return the bytes and kind of every id."""
        return self._vocabulary

    def added_tokens(self) -> Mapping[str, int]:
        """Return the added tokens that are not special."""
        return {token.content: token.id for token in self.file.added if not token.special}


class HuggingFaceTokenizer(HuggingFaceTables):
    """A tokenizer.json in the tokenizers library."""

    def __init__(self, file: HuggingFaceFile, data: bytes, label: str) -> None:
        super().__init__(file)
        import tokenizers

        with refusing(label, "tokenizers"):
            self.library: Any = tokenizers.Tokenizer.from_buffer(data)
            self.library.no_padding()
            self.library.no_truncation()
            self.library.encode_special_tokens = True  # a special token's string in the text is plain text
            if file.model.get("dropout"):
                self.library.model.dropout = None
        self._exact_bytes = self.round_trip == "exact"
        for token in file.added:
            if (token_id := self.library.token_to_id(token.content)) != token.id:
                raise InputError(
                    f"{label}: added token {token.content!r} has id {token.id}, but tokenizers gives it {token_id}"
                )

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents without templates and offsets; non-special added tokens stay on."""
        self._parallel(threads)
        return _tokens(self.library.encode_batch_fast(list(texts), add_special_tokens=False))

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids; if ``round_trip`` is exact, also of split characters."""
        numbers = np.asarray(ids).tolist()
        if self._exact_bytes:
            table = self._token_bytes
            return b"".join([table[number] for number in numbers])
        text: str = self.library.decode(numbers, skip_special_tokens=False)
        return text.encode()

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the library's batch call without offsets."""
        POOL.require(threads)
        self._parallel(threads)
        encode, documents = self.library.encode_batch_fast, list(texts)
        return Timed(lambda: encode(documents, add_special_tokens=False), _tokens)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return the library's batch decode call."""
        POOL.require(threads)
        self._parallel(threads)
        decode = self.library.decode_batch
        batch = [tokens.document(index).tolist() for index in range(len(tokens))]
        return Timed(lambda: decode(batch, skip_special_tokens=False), lambda texts: "".join(texts).encode())

    def timed_single(self, text: str) -> Timed:
        """Return the call without offsets on one text: ``encode`` computes them and takes twice as long."""
        self._parallel(1)
        encode, documents = self.library.encode_batch_fast, [text]
        return Timed(lambda: encode(documents, add_special_tokens=False), _tokens)

    def normalize(self, text: str) -> str:
        """Return the text after the normaliser, as decoding would restore it if the model kept every piece whole."""
        import regex

        # Added tokens are cut out before the normaliser.
        cut_out = [token.content for token in self.file.added if not token.special and not token.normalized]
        parts: list[str] = [text]
        if cut_out:
            longest_first = sorted(cut_out, key=len, reverse=True)
            parts = regex.split(f"({'|'.join(map(regex.escape, longest_first))})", text)
        return "".join(map(self._text_form, parts))

    def stages(self) -> Stages:
        """Return the stages before the model."""
        splits, inserted = split_steps(self.file.stages("pre_tokenizer"))
        normalizer = self.library.normalizer
        kinds: Mapping[str, ModelKind] = {"BPE": "bpe", "Unigram": "unigram", "WordPiece": "wordpiece"}
        kind = kinds.get(self.file.model_type, "other")
        return Stages(
            normalize=str if normalizer is None else normalizer.normalize_str,
            normalizer=self.file.stages("normalizer"), splits=splits, added=self.file.added,
            forms=huggingface_forms(self.file), model=kind, whole_pieces=bool(self.file.model.get("ignore_merges")),
            inserted=inserted, spelled_once=huggingface_spelled_once(self.file),
            scores=[score for _, score in self.file.model["vocab"]] if kind == "unigram" else None,
        )  # fmt: skip

    def _parallel(self, threads: int) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"  # read at every call
        POOL.start(threads)

    @cached_property
    def _token_bytes(self) -> list[bytes]:
        return self._vocabulary.strings()

    def _text_form(self, text: str) -> str:
        """Run text through normaliser, pre-tokenizer and decoder, as if each piece were one token."""
        if self.library.normalizer is not None:
            text = self.library.normalizer.normalize_str(text)
        pieces = [text]
        if self.library.pre_tokenizer is not None:
            pieces = [piece for piece, _ in self.library.pre_tokenizer.pre_tokenize_str(text)]
        if self._text_decoder is not None:
            return str(self._text_decoder.decode(pieces))
        return (" " if self.file.content.get("decoder") is None else "").join(pieces)

    @cached_property
    def _text_decoder(self) -> Any:
        """Return the decoder without byte fallback, which would read the text ``<0x41>`` as a byte."""
        steps = [step for step in self.file.stages("decoder") if step["type"] != "ByteFallback"]
        return library_stage("decoder", {"type": "Sequence", "decoders": steps}) if steps else None


class HuggingFaceBpe(HuggingFaceTokenizer):
    """A BPE model."""

    def merge_model(self) -> MergeModel:
        """Return the rules form."""
        return huggingface_vocabulary.merge_model(self.file, self._vocabulary)


class HuggingFaceWords(HuggingFaceTokenizer):
    """A Unigram, WordPiece or WordLevel model: it has no merge rules, so tests use its own encoder."""

    def encode_model(self, tokens: Ids) -> Tokens:
        """Encode the model strings with the model alone; a ``##piece`` is encoded as the continuation of a word."""
        pieces = {number: token for token, number in self.file.vocab.items()}
        prefix = (self.file.model.get("continuing_subword_prefix") or "") if self._continuing is not None else ""
        model = self.library.model
        documents = []
        for number in np.asarray(tokens).tolist():
            piece = pieces.get(number, "")
            inside = bool(prefix) and piece.startswith(prefix) and len(piece) > len(prefix)
            encoder = self._continuing if inside else model
            documents.append([token.id for token in encoder.tokenize(piece[len(prefix) :] if inside else piece)])
        return Tokens.from_lists(documents)

    @cached_property
    def _continuing(self) -> Any:
        """Return the model for the inside of a word: ``##`` entries without their mark; None if not WordPiece."""
        if self.file.model_type != "WordPiece":
            return None
        import tokenizers

        prefix, unknown = (
            self.file.model.get("continuing_subword_prefix") or "##",
            self.file.model.get("unk_token", "[UNK]"),
        )
        vocab = {t.removeprefix(prefix): n for t, n in self.file.vocab.items() if t.startswith(prefix) and t != prefix}
        vocab.setdefault(unknown, self.file.vocab.get(unknown, 0))
        longest = self.file.model.get("max_input_chars_per_word", 100)
        return tokenizers.models.WordPiece(
            vocab=vocab, unk_token=unknown, max_input_chars_per_word=longest, continuing_subword_prefix=""
        )


def _tokens(encodings: Sequence[Any]) -> Tokens:
    return Tokens.from_lists([document.ids for document in encodings])


def load(file: VocabularyFile, options: Mapping[str, str] | None = None) -> Tokenizer:
    """Load a tokenizer.json; such a row has no options."""
    del options
    data = file.fetch()
    checked = read_file(data, file.label)
    kind = HuggingFaceBpe if checked.model_type == "BPE" else HuggingFaceWords
    return kind(checked, data, file.label)


LOADERS = (Loader("huggingface", "tokenizers", load),)
