"""``pyharness train TRAINER``: a command for each trainer, made from its declared options."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from pyharness.cli import usage
from pyharness.cli.console import check_output, complain, reports_errors, show_facts
from pyharness.system import lifeline
from pyharness.types import InputError, counted

if TYPE_CHECKING:
    from pyharness.corpora.texts import Text
    from pyharness.features.training.commands import TrainingFiles
    from pyharness.features.training.trainers import TrainedTokenizer, TrainerSpec, Training
    from pyharness.features.training.trainers.options import Option, Options

DEFAULT_CORPUS = "sample"
HELP = """Train: {summary}.

\b
pyharness train {name} -c {corpus} \\
  {needed}--out my-{name}

{about}

\b
Exit status: 0 trained, 2 bad input, 129 hung up, 130 interrupted,
143 terminated.
If the text gives fewer tokens than asked, the summary says so.
"""
OF_TEXT = """DIR gets the tokenizer (model.json, tokenizer.json, tokenizer.model or the base's format). Its
training.json says how it was made. With trained_on.npy reports mark text that it was trained on. DIR appears
whole, when all is done. An interrupted training leaves nothing.

Bytes that are not UTF-8 are read as U+FFFD. The summary says how many."""


def out() -> list[click.Option]:
    """Return the options of a command that makes a folder."""
    return [
        click.Option(["--out", "folder"], type=click.Path(path_type=Path), required=True, metavar="DIR",
                     help="Folder to write."),
        click.Option(["--force"], is_flag=True, help="Replace DIR, if this command made it."),
        click.Option(["-q", "--quiet"], is_flag=True, help="Show no progress and no summary, only errors."),
    ]  # fmt: skip


def reading() -> list[click.Option]:
    """Return the options of a command that trains on text."""
    return [
        click.Option(["--max-bytes"], metavar="SIZE", help="Bytes of text to read, such as 100MB or 2GiB [default: "
                     "all]."),
        click.Option(["--threads"], type=int, metavar="N", help="Threads [default: all cores]."),
    ]  # fmt: skip


def _corpus(about: str) -> click.Option:
    names = ["-c", "--corpus", "texts"]
    return click.Option(names, multiple=True, metavar="SPEC", shell_complete=usage.corpora, help=about)


def click_options(known: Iterable[Option]) -> list[click.Option]:
    """Convert a trainer's options to those of a command, required ones first; the trainer itself checks these."""
    return [_click_option(one) for one in sorted(known, key=lambda one: not one.required)]


def _click_option(one: Option) -> click.Option:
    kind = click.Choice(one.choices) if one.choices else one.kind
    switched = one.kind is bool and one.default is not False  # on by default, or decided elsewhere: can be switched off
    holds = "required" if one.required else f"default: {one.shown_default}"
    return click.Option(
        [f"{one.flag}/--no-{one.flag.removeprefix('--')}" if switched else one.flag, one.name],
        type=None if kind is bool else str if kind is tuple else kind, is_flag=kind is bool, multiple=kind is tuple,
        default=None, metavar=None if one.choices else one.metavar or None, help=f"{one.help} [{holds}].",
    )  # fmt: skip


@contextmanager
def in_flags(options: type[Options]) -> Iterator[None]:
    """Rewrite ``name=`` in the message of an ``InputError`` to the flag of that option."""
    from pyharness.features.training.trainers.options import declared

    try:
        yield
    except InputError as error:
        flags = {name: one.flag for name, one in declared(options).items()}
        message = re.sub(r"\b([a-z_]+)=(?=(\w)?)", lambda match: flags[match[1]] + " " * bool(match[2])
                         if match[1] in flags else match[0], str(error))  # fmt: skip
        raise InputError(message) from error.__cause__


class OfTrainer(click.Command):
    """Command that answers another trainer's option with one line that names the trainers with it."""

    @reports_errors
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; an option that only other trainers have is an error that names those trainers."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            group = ctx.parent and ctx.parent.command
            if not isinstance(group, Trainers) or not (having := group.having(ctx, error.option_name)):
                raise
            here = [f"here it is {one.opts[0]}" for one in self.params if one.name in having.values()]
            told = "".join(here) or f"trainers with it: {', '.join(sorted(having))}"
            raise InputError(f"trainer {self.name!r} has no option {error.option_name}; {told}") from None


class Trainers(click.Group):
    """Group with a command for each trainer, made on request."""

    @reports_errors
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all trainers."""
        from pyharness.features.training import trainers

        in_order = sorted(trainers.specs().values(), key=lambda spec: spec.place)
        return [*(spec.name for spec in in_order), *trainers.trainings()]

    @reports_errors
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Return the command of a trainer; for an unknown one, the error names similar trainers."""
        from pyharness.features.training import trainers

        if (other := trainers.trainings().get(cmd_name)) is not None:
            return _of_other(other)
        return _of_text(trainers.resolve(cmd_name))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of trainers, without the help of each."""
        names = usage.items("trainers", incomplete)
        return names or click.Command.shell_complete(self, ctx, incomplete)

    def having(self, ctx: click.Context, flag: str) -> Mapping[str, str | None]:
        """Return the trainers with a flag, and the name of its option of each."""
        return {
            name: param.name
            for name in self.list_commands(ctx)
            for param in self.get_command(ctx, name).params
            if flag in (*param.opts, *param.secondary_opts)
        }

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of trainers in full."""
        with formatter.section("Trainers"):
            commands = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
            formatter.write_dl([(one.name or "", one.short_help or "") for one in commands])


@click.command("train", cls=Trainers, subcommand_metavar="TRAINER [OPTIONS]")
def train() -> None:
    """Train a tokenizer.

    \b
    pyharness train bpe -c path:corpus.jsonl --vocab-size 32000 --out my-bpe
    pyharness train bpe --help                      the options of a trainer

    Trainers of pyharness count exactly. Their memory grows with the distinct pieces and not with the text. The result
    is the same for any number of threads. The other trainers are those of their libraries. SentencePiece keeps the
    text in memory.
    """


def _of_text(trainer: TrainerSpec[Any]) -> click.Command:
    from pyharness.features.training.trainers.options import declared

    options = declared(trainer.options).values()
    export = click.Option(
        ["--export", "exports"], multiple=True, type=click.Choice(["tokenizer.json", "tiktoken", "minbpe"]),
        hidden=trainer.not_exported is not None, help="Also write the model for this library and show how to load "
        "it; repeatable.",
    )  # fmt: skip
    corpus = _corpus(f"Train on this text; repeatable [default: {DEFAULT_CORPUS}, a small one].")
    needed = "".join(f"{option.flag} {option.example} " for option in options if option.example)
    return OfTrainer(
        trainer.name, params=[corpus, *click_options(options), *reading(), export, *out()],
        callback=partial(_train_on_text, trainer), short_help=trainer.summary,
        help=HELP.format(name=trainer.name, summary=trainer.summary, needed=needed, corpus="path:corpus.jsonl",
                         about=OF_TEXT),
    )  # fmt: skip


def _of_other(training: Training[Any]) -> click.Command:
    from pyharness.features.training.trainers.options import declared

    corpus = _corpus("Train on this corpus; repeatable [required].")
    return OfTrainer(
        training.name, params=[corpus, *click_options(declared(training.options).values()), *out()],
        callback=partial(_train_other, training), short_help=training.summary,
        help=HELP.format(name=training.name, summary=training.summary, needed="", corpus="SPEC",
                         about="DIR appears whole, when all is done."),
    )  # fmt: skip


def given_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given: those that are neither None nor an empty tuple."""
    return {name: value for name, value in options.items() if value is not None and value != ()}


def _train_on_text(
    trainer: TrainerSpec[Any], folder: Path, texts: tuple[str, ...], max_bytes: str | None, exports: tuple[str, ...],
    threads: int | None, force: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    from pyharness.cli.progress import training_listener
    from pyharness.features.training import commands as training

    if not quiet:
        check_output()
    with training_listener(quiet) as progress:
        with in_flags(trainer.options):
            text, request = training.requested(
                trainer, texts or (DEFAULT_CORPUS,), given_of(options), max_bytes=max_bytes, threads=threads,
                progress=progress,
            )  # fmt: skip
        training.check(trainer, request, folder, exports, force)
        if trainer.library != "pyharness" and not quiet:
            complain(f"{trainer.library} ignores signals: Ctrl-C ends this process at once, and nothing is written")
        with _interruptible(trainer):
            trained = training.trained_by(trainer, request)
        outcome = training.keep(trainer, request, trained, text, folder, exports, force=force)
    if not quiet:
        _summarise(trainer, trained, outcome, text, folder, sample=not texts)
    if outcome.refused:
        raise InputError("\n".join(outcome.refused))


def _train_other(
    training: Training[Any], folder: Path, texts: tuple[str, ...], force: bool, quiet: bool, **options: Any
) -> None:
    from pyharness.plugins import registry

    if not quiet:
        check_output()
    with in_flags(training.options):
        settings = training.options(**given_of(options))
    rows = registry.loaded(training.train)(texts, settings, folder, force)
    if not quiet:
        show_facts(rows)


@contextmanager
def _interruptible(trainer: TrainerSpec[Any]) -> Iterator[None]:
    """Let signals end a library that ignores them. Write nothing meanwhile: a partial file would stay."""
    if trainer.library == "pyharness":
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *lifeline.REQUESTS)}
    before = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}  # nohup
    for number in before:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _summarise(
    trainer: TrainerSpec[Any], trained: TrainedTokenizer, outcome: TrainingFiles, text: Text, folder: Path, sample: bool
) -> None:
    tally = outcome.tally
    rows = [("vocabulary", f"{trained.vocab_size:,} ids")]
    if trained.merges is not None:
        rows.append(("merges", f"{trained.merges:,}"))
    rows += trained.summary.items()
    read = f"{tally.bytes / 1e6:,.1f} MB in {counted(tally.documents, 'document')}"
    read += f", {trained.details['distinct_pieces']:,} distinct pieces" if "distinct_pieces" in trained.details else ""
    rows.append(("text", read))
    if trainer.loadable:
        rows += _judge(outcome, text)
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
    show_facts(rows)


def _judge(outcome: TrainingFiles, text: Text) -> list[tuple[str, str]]:
    from pyharness.features.training import commands as training

    try:
        ratio, size = training.bytes_per_token(outcome.specification, text)
    except InputError as error:  # the tokenizer exists; its text or its library may be missing
        complain(f"bytes/token: {error}")
        return []
    part = "the training text" if size == outcome.tally.bytes else f"the first {size / 1e6:,.1f} MB of it"
    return [("bytes/token", f"{ratio:.4f} on {part}")]


COMMANDS = (train,)
EXAMPLES = (usage.Example("pyharness train bpe -c path:corpus.jsonl --vocab-size 8000 --out my-bpe", "", 40),)
