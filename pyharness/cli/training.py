"""``pyharness train``."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyharness.cli import completing
from pyharness.cli.console import check_output, complain, reports_errors, show
from pyharness.system import ending
from pyharness.types import InputError, counted

if TYPE_CHECKING:
    from pyharness.commands.streams import Training
    from pyharness.commands.training import Outcome
    from pyharness.corpora.texts import Text
    from pyharness.trainers import TrainedTokenizer, TrainerSpec

DEFAULT_CORPUS = "sample"
TIE_RULES = ("smallest_ids", "first_seen", "lexicographic", "sentencepiece")


@click.command()
@click.argument("algorithm", shell_complete=completing.trainers)
@click.option(
    "--vocab-size",
    type=int,
    metavar="N",
    help="Ids in all, with alphabet and special tokens; all but curriculum and fast (1024) need it.",
)
@click.option("--out", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Folder to make.")
@click.option("-c", "--corpus", "texts", multiple=True, metavar="SPEC",
              help=f"Train on this text; repeatable [default: {DEFAULT_CORPUS}, which is small].")  # fmt: skip
@click.option("--max-bytes", metavar="SIZE", help="Read no more text than this: 100MB, 2GiB [default: all of it].")
@click.option("--pattern", metavar="P", help="How text is split first: gpt2, cl100k, o200k, llama3, "
              "qwen2, deepseek_v3, tekken, single_digits, digits_right_to_left, whitespace, none, or a regular "
              "expression [default: gpt2].")  # fmt: skip
@click.option("--special", multiple=True, metavar="TEXT", help="A special token, such as '<|endoftext|>'; repeatable. "
              "bpe, scaffold-bpe: the last ids; other trainers: the first, after those of the library.")  # fmt: skip
@click.option("--unknown", metavar="TEXT", help="bpe over characters: the special token for a character without a "
              "token; it comes after the others [default: such characters are left out].")  # fmt: skip
@click.option("--symbols", type=click.Choice(["bytes", "characters"]), help="What is merged [default: bytes].")
@click.option("--initial-alphabet", metavar="TEXT", help="Characters that get a token in any case [default: none].")
@click.option("--min-frequency", type=int, metavar="N", help="Leave out pairs that occur less often [default: 1].")
@click.option("--limit-alphabet", type=int, metavar="N", help="Over characters: keep the N most frequent ones; the "
              "others have no token and are left out of the text [default: all].")  # fmt: skip
@click.option("--max-token-length", type=int, metavar="N", help="Longest token, in bytes (SentencePiece: characters) "
              "[default: any; unigram and those of SentencePiece: 16].")  # fmt: skip
@click.option("--max-token-characters", type=int, metavar="N", help="bpe, scaffold-bpe: longest token, in characters "
              "[default: any].")  # fmt: skip
@click.option("--continuing-subword-prefix", metavar="TEXT", help="bpe: written before every symbol that does not "
              "start a piece, such as ## [default: none].")  # fmt: skip
@click.option("--end-of-word-suffix", metavar="TEXT", help="bpe: written behind the last symbol of a piece, such as "
              "</w>, so that it gets tokens of its own [default: none].")  # fmt: skip
@click.option("--tie-rule", type=click.Choice(TIE_RULES), help="Which of equally frequent pairs is merged first: "
              "as tokenizers (which numbers bytes in another order), minbpe, by bytes, or as SentencePiece "
              "[default: smallest_ids].")  # fmt: skip
@click.option("--demolition", type=click.Choice(["eq6", "shortest"]),
              help="Scaffold-BPE: how tokens that left are written [default: eq6, the paper's].")  # fmt: skip
@click.option("--trace", is_flag=True, default=None,
              help="Scaffold-BPE: also write every demotion and promotion, as JSON lines.")  # fmt: skip
@click.option("--character-coverage", type=float, metavar="X",
              help="SentencePiece: share of the text whose characters get a token, 0.98..1 [default: 1].")  # fmt: skip
@click.option("--byte-fallback/--no-byte-fallback", default=None,
              help="SentencePiece: bytes for characters without a token [default: with].")  # fmt: skip
@click.option("--sentences", type=int, metavar="N", help="SentencePiece: train on N random lines [default: all].")
@click.option("--rounds", type=int, metavar="N", help="curriculum: of training a model and adding what it finds easy "
              "[default: 5].")  # fmt: skip
@click.option("--epsilon", type=float, metavar="X", help="curriculum: what is easy has a signal below it, in nats "
              "[default: 0.3].")  # fmt: skip
@click.option("--per-round", type=int, metavar="N", help="curriculum: groups whose beginnings are added in a round "
              "[default: 3000].")  # fmt: skip
@click.option("--order", type=int, metavar="N", help="curriculum: of the n-gram that is the model [default: 5].")
@click.option("--signal", type=click.Choice(["entropy", "nll"]), help="curriculum: entropy of the prediction, or its "
              "error on the token that came [default: entropy].")  # fmt: skip
@click.option("--strict", is_flag=True, default=None, help="curriculum: every token of a group is easier than the one "
              "before, not only no harder.")  # fmt: skip
@click.option("--row-quantile", type=float, metavar="X", help="curriculum: the bound is no higher than this quantile "
              "of a document's signals [default: none; released code: 0.6].")  # fmt: skip
@click.option("--selection", type=click.Choice(["count", "shuffle"]), help="curriculum: which groups are taken, the "
              "most frequent or any [default: count].")  # fmt: skip
@click.option("--seed", type=int, metavar="N", help="curriculum: of the shuffle [default: 0].")
@click.option("--scale", type=float, metavar="X", help="fast: steps in half the range of a dimension [default: 10].")
@click.option("--export", "exports", multiple=True, type=click.Choice(["tokenizer.json", "tiktoken", "minbpe"]),
              help="Also write the model as this library reads it, and say what loads it there, with which pattern and "
              "special tokens; repeatable.")  # fmt: skip
@click.option("--threads", type=int, metavar="N", help="Threads [default: all cores].")
@click.option("--force", is_flag=True, help="Replace DIR, if this command made it.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary; errors only.")
@reports_errors
def train(algorithm: str, folder: Path, texts: tuple[str, ...], max_bytes: str | None, exports: tuple[str, ...],
          threads: int | None, force: bool, quiet: bool, **options: Any) -> None:  # fmt: skip
    """Train a tokenizer: ALGORITHM is bpe, scaffold-bpe, wordpiece, unigram, sentencepiece-bpe, ...

    \b
    pyharness train bpe -c path:corpus.jsonl --vocab-size 32000 --pattern cl100k --out my-bpe
    pyharness train scaffold-bpe -c path:books/ --max-bytes 1GB --vocab-size 32000 --out my-scaffold
    pyharness train unigram -c path:corpus.txt --vocab-size 8000 --out my-unigram
    pyharness train curriculum -c path:books.jsonl --rounds 5 --epsilon 0.3 --out my-curriculum
    pyharness list trainers                         the algorithms, and whose they are

    bpe and scaffold-bpe are our own: counts are exact, memory grows with the distinct pieces and not with the text,
    and the result is the same for any number of threads. The others are trained by their libraries; SentencePiece keeps
    the text in memory. Bytes that are not UTF-8 are read as U+FFFD, and the summary says how many.

    DIR gets the tokenizer (model.json, tokenizer.json or tokenizer.model), and training.json, which says how it was
    made. It appears whole, when all is done; a training that is interrupted leaves nothing.

    \b
    Exit status: 0 trained (the summary says if the text gave fewer tokens than asked),
    2 bad input, 130 interrupted, 143 told to end.
    """
    from pyharness import trainers
    from pyharness.cli.progress import training_listener
    from pyharness.commands import training
    from pyharness.commands.streams import trainings
    from pyharness.corpora.options import size
    from pyharness.corpora.texts import Text
    from pyharness.system.environment import cores

    if not quiet:
        check_output()
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    if (other := trainings().get(algorithm)) is not None:
        unread = {"--max-bytes": max_bytes, "--threads": threads, "--export": exports or None}
        _train_other(other, folder, texts, given, [name for name, value in unread.items() if value is not None],
                     force=force, quiet=quiet)  # fmt: skip
        return
    trainer = trainers.resolve(algorithm)
    for name in given.keys() - {field.name for field in fields(trainers.TrainingRequest)}:
        able = ", ".join(other.name for other in trainings().values() if name in other.options)
        raise InputError(
            f"--{name.replace('_', '-')} is for {able or 'a trainer that is not here'}; leave it out for {algorithm}"
        )
    text = Text.of(texts or (DEFAULT_CORPUS,), size("--max-bytes", max_bytes) if max_bytes else None)
    with training_listener(quiet) as progress:
        request = trainers.TrainingRequest(
            texts=text.documents, source=text.source, text_bytes=text.max_bytes, progress=progress,
            threads=cores() if threads is None else threads, **given,
        )  # fmt: skip
        training.check(trainer, request, folder, exports, force)
        if trainer.library != "pyharness" and not quiet:
            complain(f"{trainer.library} looks for no signal: Ctrl-C ends this process at once, and nothing is written")
        with _interruptible(trainer):
            trained = trainers.train(trainer, request)
        outcome = training.keep(trainer, request, trained, text, folder, exports, force=force)
    if not quiet:
        _summarise(trainer, trained, outcome, text, folder, sample=not texts)
    if outcome.refused:
        raise InputError("\n".join(outcome.refused))


def _train_other(
    training: Training, folder: Path, corpora: tuple[str, ...], given: dict[str, Any], others: list[str], *,
    force: bool, quiet: bool,
) -> None:  # fmt: skip
    from pyharness.report import visible

    if wrong := [*others, *(f"--{name.replace('_', '-')}" for name in given if name not in training.options)]:
        able = ", ".join(
            f"--{name.replace('_', '-')}" for name in ("corpus", *sorted(training.options), "out", "force")
        )
        raise InputError(f"{wrong[0]} is for text; {training.name} has {able}")
    rows = training.train(corpora, given, folder, force)
    if not quiet:
        show("".join(f"{name:11} {visible(value)}\n" for name, value in rows))


@contextmanager
def _interruptible(trainer: TrainerSpec) -> Iterator[None]:
    """Let signals end a library that does not look for them. Nothing may be written meanwhile: it would stay."""
    if trainer.library == "pyharness":
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ending.REQUESTS)}
    before = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}  # nohup
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _summarise(
    trainer: TrainerSpec, trained: TrainedTokenizer, outcome: Outcome, text: Text, folder: Path, sample: bool
) -> None:
    from pyharness.report import visible

    tally = outcome.tally
    rows = [("vocabulary", f"{trained.vocab_size:,} ids")]
    if trained.merges is not None:
        rows.append(("merges", f"{trained.merges:,}"))
    if trainer.algorithm == "scaffold-bpe":
        rows.append(("scaffold", f"{trained.details['scaffold_tokens']:,} tokens that only lead to others"))
    read = f"{tally.bytes / 1e6:,.1f} MB in {counted(tally.documents, 'document')}"
    rows.append(("text", read + _distinct(trained.details)))
    if trainer.loadable:
        rows += _judged(outcome, text)
    rows.append(("seconds", ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in trained.seconds.items())))
    rows.append(("files", ", ".join(str(folder / name) for name in outcome.files)))
    rows += [("load with", line) for line in outcome.loading.values()]
    notes = list(trained.notes)
    if tally.replaced_sequences:
        notes.append(f"{tally.replaced_sequences:,} sequences of bytes that are not UTF-8 were read as U+FFFD")
    if sample:
        notes.append("trained on the shipped sample, which is far too small; name your own text with --corpus")
    rows += [("note", note) for note in notes]
    if trainer.loadable:
        quoted = shlex.quote(outcome.specification)
        rows.append(("next", f"pyharness run -t {quoted} -t deepseek -c sample"))
        rows.append(("", f"pyharness encode {quoted} < text.txt"))
    show("".join(f"{name:11} {visible(value)}\n" for name, value in rows))


def _distinct(details: Any) -> str:
    return f", {details['distinct_pieces']:,} distinct pieces" if "distinct_pieces" in details else ""


def _judged(outcome: Outcome, text: Text) -> list[tuple[str, str]]:
    from pyharness.commands import training

    try:
        ratio, size = training.bytes_per_token(outcome.specification, text)
    except InputError as error:  # the tokenizer is there; its text may be gone, or the library that runs it
        complain(f"bytes/token: {error}")
        return []
    part = "the training text" if size == outcome.tally.bytes else f"the first {size / 1e6:,.1f} MB of it"
    return [("bytes/token", f"{ratio:.4f} on {part}")]


COMMANDS = (train,)
