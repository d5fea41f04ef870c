"""``pyharness symbols``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyharness.cli import usage
from pyharness.cli.console import check_output, show_facts
from pyharness.types import counted

if TYPE_CHECKING:
    from pyharness.features.segmentation.symbol_training import TrainedSymbols


@click.group()
def symbols() -> None:
    """Train a model of the next byte or token."""


@symbols.command()
@click.option("-c", "--corpus", "texts", multiple=True, required=True, metavar="SPEC", shell_complete=usage.corpora,
              help="Train on this text; repeatable.")  # fmt: skip
@click.option("-t", "--tokenizer", "row", default="raw_bytes", show_default=True, metavar="SPEC",
              shell_complete=usage.tokenizers, help="The ids of this tokenizer are the symbols.")  # fmt: skip
@click.option("--order", type=int, default=3, show_default=True, metavar="N",
              help="Predict a symbol from the N - 1 before it; N is 1 to 5.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="File to make.")
@click.option("--held-out", multiple=True, metavar="SPEC", shell_complete=usage.corpora,
              help="Judge on this text, which shares no document with the corpus; repeatable "
              "[default: the front of the corpus, which flatters it].")  # fmt: skip
@click.option("--allow-overlap", is_flag=True, help="Allow documents that corpus and --held-out share.")
@click.option("--max-bytes", metavar="SIZE", help="Bytes of text to read, such as 100MB or 2GiB [default: all].")
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="Threads [default: all cores].")
@click.option("--force", is_flag=True, help="Replace FILE, if there is one.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no summary, only errors.")
def train(texts: tuple[str, ...], row: str, order: int, out: Path, held_out: tuple[str, ...], allow_overlap: bool,
          max_bytes: str | None, threads: int | None, force: bool, quiet: bool) -> None:  # fmt: skip
    """Count the n-grams of a corpus.

    \b
    pyharness symbols train -c path:books.jsonl --order 5 --out books.symbols
    pyharness symbols train -c path:books.jsonl -t deepseek --out ids.symbols
    pyharness symbols train -c shard:1-4/5:path:books.jsonl \\
      --held-out shard:0/5:path:books.jsonl --out books.symbols

    The model gives the probability and the entropy of the next symbol. Memory grows with the distinct n-grams and not
    with the text. The file is the same for any number of threads. No n-gram crosses documents. FILE
    appears whole, when all is done.

    \b
    Exit status: 0 trained, 2 bad input, 129 hung up, 130 interrupted,
    143 terminated.
    """
    from pyharness.cli.progress import training_listener
    from pyharness.corpora.options import size
    from pyharness.corpora.texts import Text
    from pyharness.features.segmentation import symbol_training
    from pyharness.features.training.commands import HeldOut
    from pyharness.system.environment import cores

    if not quiet:
        check_output()
    text = Text.of(texts, size("--max-bytes", max_bytes) if max_bytes else None)
    with training_listener(quiet) as progress:
        held = HeldOut.read(Text.of(held_out), allow=allow_overlap, progress=progress) if held_out else None
        trained = symbol_training.train(row, text, order, out, held=held, threads=threads or cores(), progress=progress,
                                force=force)  # fmt: skip
    if not quiet:
        _summarise(row, trained, out, flattering=not held_out)


def _summarise(row: str, trained: TrainedSymbols, out: Path, *, flattering: bool) -> None:
    model, judged, tally = trained.model, trained.judged, trained.tally
    where = f"the first {judged.bytes / 1e6:,.1f} MB of it" if flattering else f"{judged.bytes / 1e6:,.1f} MB held out"
    rows = [
        ("model", f"order {model.order}, {model.alphabet_size:,} symbols: ids of {row}"),
        ("n-grams", ", ".join(f"{count:,} of {n}" for n, count in enumerate(model.distinct_ngrams, start=1))),
        ("text", f"{tally.bytes / 1e6:,.1f} MB in {counted(tally.documents, 'document')}"),
        ("bits/symbol", f"{judged.nll:.4f} on {where}; the model expects {judged.entropy:.4f}"),
        ("bits/byte", f"{judged.bits_per_byte:.4f}"),
        ("seconds", ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in trained.seconds.items())),
        ("file", f"{out}, SHA-256 {model.digest}"),
    ]
    if tally.replaced_sequences:
        rows.append(("note", f"{tally.replaced_sequences:,} sequences of bytes that are not UTF-8 were read as U+FFFD"))
    show_facts(rows)


COMMANDS = (symbols,)
EXAMPLES = (usage.Example("pyharness symbols train -c path:corpus.jsonl --out corpus.symbols", "", 60),)
