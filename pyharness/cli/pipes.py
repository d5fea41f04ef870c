"""``pyharness encode`` and ``pyharness decode``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import click

from pyharness.cli.console import complain, put, reports_errors
from pyharness.types import InputError

FORMATS = click.Choice(["text", "json", "uint32"])
LONGEST = "What may be held of a document that cannot be taken in parts"


@click.command()
@click.argument("tokenizer")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--lines", is_flag=True, help="Every line is a document, without its newline; reads and writes as it goes."
)
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How ids are written.")
@click.option("--special", is_flag=True, help="Map special tokens that the text spells; they are plain text otherwise.")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True, metavar="N",
              help="Threads of the encoder; the ids do not depend on it.")  # fmt: skip
@click.option("--max-document-bytes", "longest", metavar="SIZE", help=f"{LONGEST} [default: 4MiB].")
@reports_errors
def encode(tokenizer: str, files: tuple[Path, ...], lines: bool, form: Any, special: bool, threads: int,
           longest: str | None) -> None:  # fmt: skip
    """Write the ids of FILES, or of standard input, to standard output.

    \b
    pyharness encode my-bpe/model.json text.txt
    pyharness encode mistral:v3 --lines --format json < sentences.txt
    pyharness encode 'my-bpe/model.json?dropout=0.1&seed=7' --lines < sentences.txt
    pyharness encode native+file:tokenizer.json --special < text.txt | pyharness decode file:tokenizer.json

    TOKENIZER is a specification (see "pyharness list tokenizers") or the path of a tokenizer file. A whole file is one
    document, unless --lines is given. Formats: text has ids between spaces and a line for each document; json a list on
    a line; uint32 raw little-endian numbers with nothing between documents (numpy.fromfile reads them).

    Byte-level models of our own encoder take any bytes; other tokenizers refuse what is not UTF-8, and say where.

    Our own encoder (model.json, native+SPEC) takes documents of any size in a few hundred megabytes of memory, where
    the split pattern is a named one and nothing is normalised but to NFC: it reads on to a place at which the pattern
    is sure to cut, and the ids leave as they are made. Elsewhere a document is held whole, in up to 140 times its
    size with some libraries, so that one of more than --max-document-bytes is refused.

    A file that "pyharness train" made of something else than text takes files of that in their place, and writes a
    stream with a header, a line for each part, and an end.
    """
    from pyharness.commands import documents, ids
    from pyharness.commands.streams import stream_of

    if (found_stream := stream_of(tokenizer)) is not None:
        stream, path = found_stream
        _refuse_options_of_text(stream.noun, lines, form, special, longest)
        put(stream.encoded(path, [str(file) for file in files]))
        return
    limit = _limit(longest)
    with _open(files) as sources:
        loaded = documents.load(tokenizer, special)
        parts = documents.parts(sources, lines, documents.safe_cuts(loaded, special), longest=limit)
        put(ids.written(documents.encoded(loaded, parts, threads, special), form))


@click.command()
@click.argument("tokenizer")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--lines", is_flag=True, help="End every document with a newline: the inverse of encode --lines.")
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How ids are written there.")
@click.option("--max-document-bytes", "longest", metavar="SIZE", help=f"{LONGEST}, 4 bytes an id [default: 4MiB].")
@reports_errors
def decode(tokenizer: str, files: tuple[Path, ...], lines: bool, form: Any, longest: str | None) -> None:
    """Write the bytes that ids in FILES, or on standard input, stand for.

    \b
    pyharness encode my-bpe/model.json < text.txt | pyharness decode my-bpe/model.json
    pyharness encode my-bpe/model.json --lines < text.txt | pyharness decode my-bpe/model.json --lines

    With a tokenizer that is exact, what comes out is what encode read, byte for byte (--lines ends the last line, too).
    Documents are written one after the other with nothing between them, unless --lines is given.

    Our own decoder gives bytes as ids come, whatever the size of a document. Libraries, and files with a decoder of
    their own, get a document whole, so that one of more than --max-document-bytes is refused there.

    A file of something else than text gives that back; a stream of another file, or one that is cut off, is refused.
    """
    from pyharness.commands import documents, ids
    from pyharness.commands.streams import stream_of

    if (found_stream := stream_of(tokenizer)) is not None:
        stream, path = found_stream
        _refuse_options_of_text(stream.noun, lines, form, False, longest)
        with _open(files) as sources:
            put(stream.decoded(path, sources, complain))
        return
    if lines and form == "uint32":
        raise InputError("raw numbers do not say where a line ends: use --format text or json with --lines")
    ending, limit = b"\n" if lines else b"", _limit(longest)
    with _open(files) as sources:
        loaded = documents.load(tokenizer)
        put(ids.decoded(loaded, ids.ids_of(sources, form), ending, longest=limit))


def _refuse_options_of_text(noun: str, lines: bool, form: str, special: bool, longest: str | None) -> None:
    given = {"--lines": lines, "--format": form != "text", "--special": special, "--max-document-bytes": longest}
    if wrong := [name for name, value in given.items() if value]:
        raise InputError(f"{wrong[0]} is for text, and this is {noun}; leave it out")


def _limit(text: str | None) -> int:
    from pyharness.commands import documents
    from pyharness.corpora.options import size

    return documents.LONGEST_DOCUMENT if text is None else size("--max-document-bytes", text)


@contextmanager
def _open(paths: tuple[Path, ...]) -> Iterator[list[tuple[str, IO[bytes]]]]:
    """Open files before anything runs; no file and ``-`` mean standard input."""
    with ExitStack() as stack:
        inputs: list[tuple[str, IO[bytes]]] = []
        for path in paths or (Path("-"),):
            if str(path) == "-":
                if sys.stdin is None:
                    raise InputError("standard input is closed; name a file")
                inputs.append(("standard input", sys.stdin.buffer))
                continue
            try:
                inputs.append((str(path), stack.enter_context(path.open("rb"))))
            except OSError as error:
                raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
        yield inputs


COMMANDS = (encode, decode)
