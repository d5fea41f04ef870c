"""The byte table: every byte has a token, and the decoder gives it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult, id_list, quoted
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.tokenizers.families.sentencepiece import SentencePieceTokenizer
from pyharness.tokenizers.families.tiktoken import TiktokenTokenizer
from pyharness.types import TokenKind
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET, NEVER_IN_UTF8
from pyharness.vocabularies.huggingface.traits import is_byte_level

_ADVICE = "take the file from its publisher again; without the token, text with this byte is lost"
_MOST_SHOWN = 8
_LAST_TRIED = 0x30000  # code points up to here have every byte that occurs in UTF-8 but F1 to F4
_PROBES = ("hello world", "Hello, World! 123", "naïve café", "日本語 text", "😀 ok", "a  b\n\tc")


def check_bytes(subject: AuditSubject) -> CheckResult:
    """Look up the token of each of the 256 bytes, and decode it in the home library."""
    table = byte_ids(subject)
    if table is None:
        why = "the file promises no bytes: characters outside its vocabulary are unknown"
        return CheckResult("this library hides which ids are bytes" if subject.home is None else why, absent=True)
    faults = [*_missing(subject, table), *_misread(subject, table)]
    never = [byte for byte in NEVER_IN_UTF8 if byte not in table]
    note = f"; {len(never)} bytes that UTF-8 never has are left out" if never else ""
    return CheckResult(f"{len(table)} of 256{note}", faults)


def byte_ids(subject: AuditSubject) -> Mapping[int, int] | None:
    """Return the id of each byte that has one; None for a vocabulary that is not made of bytes."""
    home = subject.home
    if isinstance(home, TiktokenTokenizer):
        return {byte: ids for byte in range(256) if (ids := home.ranks.ranks.get(bytes([byte]))) is not None}
    if isinstance(home, HuggingFaceTokenizer):
        if is_byte_level(home.file):
            letters = BYTE_ALPHABET.items()
        elif home.file.model.get("byte_fallback") or "<0x41>" in home.file.vocab:
            letters = {byte: f"<0x{byte:02X}>" for byte in range(256)}.items()
        else:
            return None
        return {byte: home.file.vocab[letter] for byte, letter in letters if letter in home.file.vocab}
    if isinstance(home, SentencePieceTokenizer) and home.model.byte_fallback:
        pieces = {piece: number for number, piece in enumerate(home.model.pieces)}
        return {byte: pieces[name] for byte in range(256) if (name := f"<0x{byte:02X}>") in pieces}
    return None


def _missing(subject: AuditSubject, table: Mapping[int, int]) -> Iterator[AuditFault]:
    """Yield bytes without a token, if a text with them is lost: other tokens may have them."""
    missing = [byte for byte in range(256) if byte not in table and byte not in NEVER_IN_UTF8]
    lost = [(byte, loss) for byte in missing[:_MOST_SHOWN] if (loss := _loss(subject, byte))]
    for byte, loss in lost:
        yield AuditFault("missing byte token", f"byte 0x{byte:02X} has no token", loss, _ADVICE)
    if lost and len(missing) > _MOST_SHOWN:
        yield AuditFault("missing byte token", f"{len(missing) - _MOST_SHOWN} more bytes have no token", "", _ADVICE)


def _loss(subject: AuditSubject, byte: int) -> str:
    """Return a character with a byte that the home library does not give back; "" if each comes back."""
    for text in _with_byte(byte):
        ids = subject.ids(text)
        decoded = subject.decode(ids)
        if decoded.strip() != text.encode().strip() or not ids:
            return f"{quoted(text)} -> {id_list(ids)} -> {quoted(decoded)}"
    return ""


@cache
def _with_byte(byte: int) -> tuple[str, ...]:
    letters = (chr(code) for code in (*range(0xD800), *range(0xE000, _LAST_TRIED), 0x40000, 0x80000, 0xC0000, 0x100000))
    return tuple(letter for letter in letters if byte in letter.encode())[:2000]


def _misread(subject: AuditSubject, table: Mapping[int, int]) -> Iterator[AuditFault]:
    """Yield bytes whose token the home library decodes to something else; alone, it gives U+FFFD above 0x7F."""
    for byte, token in table.items():
        decoded = subject.decode([token])
        text_only = byte > 0x7F and not isinstance(subject.home, TiktokenTokenizer)
        expected = "\ufffd".encode() if text_only else bytes([byte])
        if decoded != expected and not (byte == 0x20 and not decoded):
            witness = f"[{token}] -> {quoted(decoded)}"
            yield AuditFault("wrong byte", f"the token of byte 0x{byte:02X} decodes to something else", witness,
                             "compare decoder and byte table with the publisher's file")  # fmt: skip
            return


# ---------------------------------------------------------------------------------------------- the decoder


def check_decoder(subject: AuditSubject) -> CheckResult:
    """Decode plain texts in the home library: what a decoder must undo, such as letters for bytes, is not there."""
    tokens = subject.loaded.encode_batch(_PROBES)
    decoded, vocabulary = subject.decode_each(tokens), subject.vocabulary
    faults = []
    for number, (text, data) in enumerate(zip(_PROBES, decoded, strict=True)):
        ids = tokens.document(number).tolist()
        if vocabulary is not None and any(vocabulary.kinds[token] == TokenKind.UNKNOWN for token in ids):
            continue
        if _letters(data) != _letters(_expected(subject, text)):
            witness = f"{quoted(text)} -> {id_list(ids)} -> {quoted(data)}"
            advice = "restore the decoder of the publisher's file: users would see what the model writes in this form"
            faults = [AuditFault("decoder does not undo the encoding", "text comes back in another form", witness,
                                 advice, "warn" if _has_suffix(subject) else "fail")]  # fmt: skip
            break
    return CheckResult(f"{len(_PROBES)} plain texts", faults)


def _has_suffix(subject: AuditSubject) -> bool:
    """Whether words end in a mark, as CLIP's do, which published files leave in decoded text."""
    home = subject.home
    return isinstance(home, HuggingFaceTokenizer) and bool(home.file.model.get("end_of_word_suffix"))


def _expected(subject: AuditSubject, text: str) -> bytes:
    home = subject.home
    if isinstance(home, HuggingFaceTokenizer) and home.library.normalizer is not None:
        return str(home.library.normalizer.normalize_str(text)).replace("▁", " ").encode()
    return text.encode()


def _letters(data: bytes) -> str:
    """Return what a decoder must keep: all but spaces, and letters in one case, as lossy tokenizers promise."""
    return "".join(data.decode("utf-8", "replace").split()).casefold()
