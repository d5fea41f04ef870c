"""``pyharness coverage``."""

from __future__ import annotations

import sys

import click

from pyharness.cli import usage
from pyharness.cli.console import check_output, complain, formatted, show, show_json
from pyharness.cli.usage import Example

_SECONDS, _MOST_SECONDS = 300, 86_400


@click.command()
@click.argument("rows", metavar="TOKENIZER...", nargs=-1, required=True, shell_complete=usage.tokenizers_or_files)
@click.option("-c", "--corpus", "corpora", multiple=True, metavar="SPEC", shell_complete=usage.corpora,
              help="Compare ids on this text; repeatable [default: sample].")  # fmt: skip
@click.option("-e", "--engine", "wanted", multiple=True, metavar="NAME",
              help="Compare this engine; repeatable [default: all].")  # fmt: skip
@click.option("--seconds", type=click.IntRange(1, _MOST_SECONDS), default=_SECONDS, show_default=True, metavar="N",
              help="Time limit of one engine on one tokenizer.")  # fmt: skip
@click.option("--memory-limit", "memory", metavar="SIZE",
              help="Memory limit of one engine on one tokenizer [default: 3/4 of what is free].")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
              help="How to write the table.")  # fmt: skip
def coverage(rows: tuple[str, ...], corpora: tuple[str, ...], wanted: tuple[str, ...], seconds: int,
             memory: str | None, form: str) -> None:  # fmt: skip
    """Say which engines give the ids of each tokenizer's library.

    \b
    pyharness coverage o200k_base ./tokenizer.json
    pyharness coverage gguf:model.gguf -c path:books.jsonl
    pyharness coverage ./model-folder -e native -e auto

    A cell is "equal", "differs" with a short text that shows it, or "refused" with the reason. Each engine runs in a
    process of its own. One that crashes or takes too long "failed". A folder with tokenizer_config.json is also loaded
    as transformers does it: "auto", and "auto slow" for its slow class.

    \b
    Exit status:
      0         every engine that could be compared gives equal ids
      1         an engine gives different ids, or failed
      2         bad input
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness import report
    from pyharness.corpora import open_corpus
    from pyharness.corpora.options import size
    from pyharness.features.deployment import coverage as measuring

    texts = corpora or ("sample",)
    limit = None if memory is None else size("--memory-limit", memory)
    for row in rows:
        measuring.engines(row, wanted)
        measuring.check_home(row, seconds, limit)
    for text in texts:
        open_corpus(text)
    check_output()
    cells = []
    for cell in measuring.cells(rows, texts, wanted, seconds, limit):
        complain(f"{cell.engine} on {report.shorten(cell.tokenizer, 60)}: {cell.state}")
        cells.append(cell)
    if form == "json":
        show_json(measuring.as_json(cells, texts))
    else:
        show(formatted(measuring.sheets(cells, texts), form))
    sys.exit(1 if any(cell.state in ("differs", "failed") for cell in cells) else 0)


COMMANDS = (coverage,)
EXAMPLES = (Example("pyharness coverage ./tokenizer.json", "which engines give the same ids", 96),)
