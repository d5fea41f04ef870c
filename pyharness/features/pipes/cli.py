"""``pyharness encode``, ``pyharness decode`` and ``pyharness show``."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import click

from pyharness.cli import console, usage
from pyharness.cli.console import complain, put
from pyharness.types import InputError

FORMATS = click.Choice(["text", "json", "uint32"])
LONGEST = "Longest document that is held whole"


@click.command()
@click.argument("tokenizer", shell_complete=usage.tokenizers_or_files)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--lines", is_flag=True, help="Take each line as a document, without its newline. Read and write as it goes."
)
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How to write ids.")
@click.option(
    "--special", is_flag=True, help="Give special tokens in the text their ids. Otherwise they are plain text."
)
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True, metavar="N",
              help="Threads of the encoder. The ids are the same for any number.")  # fmt: skip
@click.option("--max-document-bytes", "longest", metavar="SIZE", help=f"{LONGEST} [default: 4MiB].")
def encode(tokenizer: str, files: tuple[Path, ...], lines: bool, form: Any, special: bool, threads: int,
           longest: str | None) -> None:  # fmt: skip
    """Turn text into ids.

    \b
    pyharness encode my-bpe/model.json text.txt
    pyharness encode mistral:v3 --lines --format json < sentences.txt
    pyharness encode 'my-bpe/model.json?dropout=0.1&seed=7' --lines < text.txt
    pyharness encode native+file:tokenizer.json < text.txt \\
      | pyharness decode file:tokenizer.json

    Reads FILES or standard input and writes to standard output. TOKENIZER is a spec (see "pyharness list tokenizers")
    or the path of a tokenizer file. A whole file is one document, unless --lines is given.

    \b
    Formats:
      text    ids between spaces, a line for each document
      json    a list for each document, on a line
      uint32  raw little-endian numbers, for numpy.fromfile

    Our own encoder (model.json, native+SPEC) takes documents of any size in a few hundred megabytes. It cuts where the
    split pattern is sure to cut. This needs a named pattern and no normalisation but NFC. Other documents are held
    whole, which takes up to 140 times their size in some libraries. Longer ones than --max-document-bytes are refused.

    Byte-level models of our own encoder take any bytes. Other tokenizers refuse what is not UTF-8 and say where.

    A codec of other data, made by "pyharness train", takes files of that data. It writes a stream with a
    header, a line for each part and an end.
    """
    from pyharness.features.pipes import documents, ids

    if (codec := documents.stream_of(tokenizer)) is not None:
        stream, path = codec
        _refuse_options_of_text(stream.noun, lines, form, special, longest)
        put(stream.encoded(path, [str(file) for file in files]))
        return
    limit = _limit(longest)
    with _open(files) as sources:
        loaded = documents.load(tokenizer, special)
        parts = documents.parts(sources, lines, documents.safe_cuts(loaded, special), longest=limit)
        put(ids.written(documents.encoded(loaded, parts, threads, special), form))


@click.command()
@click.argument("tokenizer", shell_complete=usage.tokenizers_or_files)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--lines", is_flag=True, help="End each document with a newline, as encode --lines reads it.")
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How the ids are written.")
@click.option(
    "--max-document-bytes", "longest", metavar="SIZE", help=f"{LONGEST}; an id counts 4 bytes [default: 4MiB]."
)
def decode(tokenizer: str, files: tuple[Path, ...], lines: bool, form: Any, longest: str | None) -> None:
    """Turn ids back into text.

    \b
    pyharness encode mistral:v3 < text.txt | pyharness decode mistral:v3
    pyharness decode my-bpe/model.json --lines ids.txt

    Reads FILES or standard input and writes bytes to standard output. An exact tokenizer gives what encode read, byte
    for byte. Documents follow each other with nothing between them, unless --lines is given.

    Our own decoder writes bytes as ids come, whatever the size of a document. Libraries get a document whole. There,
    longer ones than --max-document-bytes are refused.

    A codec of other data, such as motion, gives that data back. It refuses a stream that is cut off or of another
    codec.
    """
    from pyharness.features.pipes import documents, ids

    if (codec := documents.stream_of(tokenizer)) is not None:
        stream, path = codec
        _refuse_options_of_text(stream.noun, lines, form, False, longest)
        with _open(files) as sources:
            put(stream.decoded(path, sources, complain))
        return
    if lines and form == "uint32":
        raise InputError("--format uint32 does not say where a line ends: use --format text or json with --lines")
    ending, limit = b"\n" if lines else b"", _limit(longest)
    with _open(files) as sources:
        loaded = documents.load(tokenizer)
        put(ids.decoded(loaded, ids.ids_of(sources, form), ending, longest=limit))


def _refuse_options_of_text(noun: str, lines: bool, form: str, special: bool, longest: str | None) -> None:
    options = {"--lines": lines, "--format": form != "text", "--special": special, "--max-document-bytes": longest}
    if wrong := [name for name, value in options.items() if value]:
        raise InputError(f"{wrong[0]} is for text, and this is {noun}; leave it out")


def _limit(text: str | None) -> int:
    from pyharness.corpora.options import size
    from pyharness.features.pipes import documents

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


STANDARD_INPUT = "-"


@click.command()
@click.option("-t", "--tokenizer", "rows", multiple=True, required=True, metavar="[NAME=]SPEC",
              shell_complete=usage.tokenizers_or_files,
              help="Show this tokenizer (a name, or the path of its file), as NAME if given; repeatable.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "json"]), help="How to write tokens [default: text in a "
              "terminal, json in a pipe].")  # fmt: skip
@click.argument("text")
@click.argument("other", required=False)
def show(rows: tuple[str, ...], form: str | None, text: str, other: str | None) -> None:
    """Show the tokens of a text, side by side.

    \b
    pyharness show -t mistral:v3 -t deepseek strawberry
    pyharness show -t ./tokenizer.json -t patches:space 'Two  spaces'
    pyharness show -t deepseek 'a cat sat' 'a bat sat'
    pyharness show -t deepseek --format json - < text.txt

    Each token has its id, its bytes and its merges in the order of the rules. A dash stands for no merges, or for
    unknown ones. Special tokens in the text are read as plain text.

    A TEXT of "-" is standard input. With OTHER, brackets mark tokens that the other text does not have in the same
    order.

    \b
    Exit status: 0 shown, 2 bad input.
    """
    from pyharness.features.pipes import units

    texts = [_text(one) for one in (text, other) if one is not None]
    cut_texts = units.show(rows, texts)
    if (form or ("text" if console.is_terminal() else "json")) == "json":
        console.show_json(units.as_json(cut_texts, texts))
        return
    console.show(units.lines(cut_texts, color=console.color()) + "\n")
    console.show(console.formatted(units.sheets(cut_texts)))


def _text(given: str) -> str:
    from pyharness.features.pipes.units import LONGEST

    read = given == STANDARD_INPUT
    data = sys.stdin.buffer.read(LONGEST + 4) if read else given.encode("utf-8", "surrogateescape")
    try:
        # Of a text that is too long, the last character may be cut: it is too long without it.
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) <= LONGEST)
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not UTF-8 at byte {error.start}; show takes text") from None


COMMANDS = (encode, decode, show)
EXAMPLES = (
    usage.Example("pyharness show -t mistral:v3 -t deepseek strawberry", "", 70),
    usage.Example("pyharness encode mistral:v3 < text.txt | pyharness decode mistral:v3", "", 80),
)
