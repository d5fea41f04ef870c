"""``pyharness adapt``: ``extend`` and ``prune`` a tokenizer, and ``embed`` it in a model."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyharness.cli import usage
from pyharness.cli.console import check_output, reports_errors, show_facts
from pyharness.cli.usage import Example
from pyharness.features.training.cli import click_options, given_of, in_flags, out, reading
from pyharness.types import InputError, counted

if TYPE_CHECKING:
    from pyharness.features.adaptation.resizing import Made
    from pyharness.features.adaptation.surgery.vocabulary_transfer import Embedded, Planned
    from pyharness.features.adaptation.trainers.adapted import BaseFile
    from pyharness.features.training.trainers import TrainerSpec

_SHOWN = 4  # number of tokens with reused ids in a message
_KIND = re.compile("-(bpe|extension|pruning)$")  # suffix of a trainer's name, without which it is the method


class OfMethods(click.Command):
    """Command with the options of all trainers of a kind; ``--method`` chooses one."""

    def __init__(self, *args: Any, of: str, **about: Any) -> None:
        super().__init__(*args, **about)
        self._of, self._derived = of, list[click.Parameter]()

    @property
    def methods(self) -> Mapping[str, TrainerSpec[Any]]:
        """Return the trainers by their name for ``--method``."""
        from pyharness.features.training import trainers

        module, name = self._of.split(":")
        kind = getattr(importlib.import_module(module), name)
        specs = [spec for spec in trainers.specs().values() if issubclass(spec.options, kind)]
        return {_KIND.sub("", spec.name): spec for spec in specs}

    @reports_errors
    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the trainers, looked up only now, and those of the command."""
        from pyharness.features.training.trainers.options import declared

        if not self._derived:
            methods = self.methods
            options = {one.name: one for spec in methods.values() for one in declared(spec.options).values()}
            method = click.Option(
                ["--method"], type=click.Choice([*methods]), default=next(iter(methods)), show_default=True,
                help=f"{'; '.join(f'{name}: {spec.summary}' for name, spec in methods.items())}.",
            )  # fmt: skip
            self._derived = [*click_options(options.values()), method]
        return [*self._derived, *super().get_params(ctx)]


def _shared() -> list[click.Option]:
    """Return the options that ``extend`` and ``prune`` share."""
    return [
        click.Option(["-c", "--corpus", "texts"], multiple=True, required=True, metavar="SPEC",
                     shell_complete=usage.corpora, help="Learn from this text; repeatable."),
        click.Option(["--held-out"], multiple=True, metavar="SPEC", shell_complete=usage.corpora,
                     help="Judge on this text, which shares no document with the corpus; repeatable "
                     "[default: the front of the corpus, which flatters it]."),
        click.Option(["--allow-overlap"], is_flag=True, help="Allow documents that are in both."),
        *reading(),
        *out(),
    ]  # fmt: skip


@click.group()
def adapt() -> None:
    """Change a tokenizer for another text, and fit a model to it."""


@adapt.command(cls=OfMethods, of="pyharness.features.adaptation.trainers.declarations:ExtensionOptions", params=[
    click.Option(["--sizes"], metavar="N,N,...", help="Several numbers of new tokens, learnt once, instead of "
                 "--tokens. The folders are DIR-N."),
    *_shared(),
])  # fmt: skip
def extend(folder: Path, tokens: int | None, sizes: str | None, **options: Any) -> None:
    """Add tokens to a tokenizer. No id moves.

    \b
    pyharness adapt extend --base model -c path:et.jsonl --tokens 8192 --out et
    pyharness adapt extend --base tokenizer.json --sizes 1024,2048,4096 \\
      -c shard:1-4/5:path:et.jsonl --held-out shard:0/5:path:et.jsonl --out ./et

    Learning starts from the base's encoding of the corpus. So every new token is reachable, except with
    "--method naive" or --no-cascade. Text that no new rule touches keeps its ids.

    DIR gets the edited file of the base, with its settings and chat template. It also gets training.json and
    adaptation.json, which says what was learnt. DIR appears whole, when all is done. "pyharness adapt embed" then fits
    a model to it.

    \b
    Exit status: 0 done, 2 bad input, 130 interrupted, 143 terminated.
    If the text gives fewer tokens than asked, the summary says so.
    """
    _run(_numbers(folder, tokens, sizes), **options)


@adapt.command(cls=OfMethods, of="pyharness.features.adaptation.trainers.declarations:PruningOptions", params=_shared())
def prune(folder: Path, **options: Any) -> None:
    """Remove the tokens that a text needs least.

    \b
    pyharness adapt prune --base model -c path:en.jsonl --share 0.5 --out smaller
    pyharness adapt prune --base ./model -c path:et.jsonl --extend 8192 --out et

    Base symbols and special, added and unknown tokens stay. Leaf pruning keeps every other reachable token reachable.
    Text without a removed token keeps its tokens. Ids move. DIR gets what "pyharness adapt extend" writes, and
    id_map.json with the new id of each old one.

    \b
    Exit status: 0 done, 2 bad input, 130 interrupted, 143 terminated.
    """
    _run([(folder, {})], **options)


def _numbers(folder: Path, tokens: int | None, sizes: str | None) -> list[tuple[Path, dict[str, Any]]]:
    """Return folders and sizes, the largest first: its training serves the others."""
    if (tokens is None) == (sizes is None):
        raise InputError("say how many tokens are new: --tokens N, or several numbers with --sizes N,N")
    if sizes is None:
        return [(folder, {"tokens": tokens})]
    numbers = [number.strip() for number in sizes.split(",")]
    if not all(number.isascii() and number.isdecimal() and len(number) < 10 and int(number) for number in numbers):
        raise InputError(f"--sizes {sizes!r} are not whole numbers above 0 separated by commas, such as 1024,2048")
    if folder.name in ("", ".."):
        raise InputError(
            f"--sizes makes folders DIR-N, and {str(folder)!r} has no name to go on with; give --out a name"
        )
    return [
        (folder.with_name(f"{folder.name}-{number}"), {"tokens": number})
        for number in sorted({int(number) for number in numbers}, reverse=True)
    ]


def _run(
    wanted: Sequence[tuple[Path, dict[str, Any]]], *, method: str, texts: Sequence[str], held_out: Sequence[str],
    allow_overlap: bool, max_bytes: str | None, threads: int | None, force: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    from pyharness.cli.progress import training_listener
    from pyharness.corpora.texts import Text
    from pyharness.features.adaptation import resizing
    from pyharness.features.training import commands as training
    from pyharness.features.training.commands import HeldOut
    from pyharness.features.training.trainers.options import declared

    if not quiet:
        check_output()
    command = click.get_current_context().command
    assert isinstance(command, OfMethods)  # noqa: S101 -- of this module
    trainer, given = command.methods[method], given_of(options) | wanted[0][1]
    for name in sorted(given.keys() - declared(trainer.options).keys()):
        able = {one: spec for one, spec in command.methods.items() if name in declared(spec.options)}
        flag = declared(next(iter(able.values())).options)[name].flag
        raise InputError(f"{flag} needs --method {' or '.join(able)}")
    with training_listener(quiet) as progress:
        with in_flags(trainer.options):
            text, request = training.requested(
                trainer, texts, given, max_bytes=max_bytes, threads=threads, progress=progress
            )
        base = resizing.check(trainer, request, [folder for folder, _ in wanted], force=force)
        held = HeldOut.read(Text.of(held_out), allow=allow_overlap, progress=progress) if held_out else None
        request, printed = resizing.apart(request, held), set[str]()
        for adaptation in resizing.make(trainer, request, base, wanted, text, held, force=force):
            if not quiet:
                notes = [note for note in adaptation.trained.notes if note not in printed]
                _summarise(base, adaptation, notes, request.options.multiple_of)
            printed.update(adaptation.trained.notes)


def _summarise(base: BaseFile, made: Made, notes: Sequence[str], multiple_of: int) -> None:
    trained, details = made.trained, made.trained.details
    changes = [f"{details[name]:,} {name}" for name in ("removed", "added") if details[name]]
    rows = [
        ("base", f"{base.path}, {base.model.id_limit:,} ids"),
        ("vocabulary", f"{trained.vocab_size:,} tokens: {', '.join(changes) or 'nothing changed'}"),
        ("ids", _ids(details)),
        ("text", _text(details)),
        ("bytes/token", made.judged.line),
        ("unreachable", _unreachable(details["unreachable"])),
    ]
    if details.get("reused"):
        rows.append(("reused", _describe_reused(details["reused"])))
    if details["added"]:
        rows.append(("unused", f"{made.judged.unused_added:,} of {details['added']:,} new tokens do not occur there"))
        classes = (f"{name} {facts['tokens']:,}" for name, facts in details["learnt"].items())
        rows.append(("learnt", ", ".join(classes)))
    rows.append(("seconds", ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in trained.seconds.items())))
    rows.append(("files", ", ".join(str(made.folder / name) for name in made.outcome.files)))
    rows += [("note", note) for note in notes]
    tokenizer = made.outcome.specification.removeprefix("file:") if trained.loading else str(made.folder)
    multiple = f" --multiple-of {multiple_of}" if multiple_of != 1 else ""
    rows.append(("next", f"pyharness adapt embed MODEL --tokenizer {shlex.quote(tokenizer)}{multiple} --out DIR"))
    rows.append(("", f"pyharness encode {shlex.quote(made.outcome.specification)} < text.txt"))
    show_facts(rows)


def _ids(details: Mapping[str, Any]) -> str:
    ids, rows = details["ids"], details["rows"]
    return f"{ids:,}" if ids == rows else f"{ids:,} ({rows:,} rows)"


def _describe_reused(reused: Mapping[str, str]) -> str:
    """Count the added tokens that lost their ids and left the file, and name the first ones."""
    some = ", ".join([*reused.values()][:_SHOWN]) + (", ..." if len(reused) > _SHOWN else "")
    return f"{counted(len(reused), 'id')}: {some}"


def _text(details: Mapping[str, Any]) -> str:
    if not details["documents"]:
        return "not read: this order does not depend on it"
    return f"{details['bytes'] / 1e6:,.1f} MB in {counted(details['documents'], 'document')}"


def _unreachable(tested: Mapping[str, Mapping[str, int]]) -> str:
    counts = {name: f"{sum(layers.values()):,}" for name, layers in tested.items()}
    return f"{counts['adapted']} tokens, {counts['added']} of the new ones; {counts['base']} of the base (layers 1, 2)"


@adapt.command()
@click.argument("model")
@click.option("--out", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Folder to make.")
@click.option("--tokenizer", metavar="PATH", help="The new tokenizer: a file, or a folder of one. Its files are copied "
              "into DIR. With --map or --plan, nothing else is done with them.")  # fmt: skip
@click.option("--old-tokenizer", metavar="PATH", help="What MODEL was trained with [default: its own file].")
@click.option("--map", "id_map", type=click.Path(path_type=Path), metavar="FILE", help="Take the new id of each old "
              "one from JSON: [0, -1, 1] (-1: removed) or {\"0\": 0, \"2\": 1}.")  # fmt: skip
@click.option(
    "--ids",
    type=click.IntRange(1, 2**24),
    metavar="N",
    help="Number of new ids, for --map [default: its largest, plus 1].",
)
@click.option("--plan", type=click.Path(path_type=Path), metavar="FILE", help="Follow a plan of --plan-only.")
@click.option("--plan-only", type=click.Path(path_type=Path), metavar="FILE", help="Write the plan, and no model.")
@click.option("--method", type=click.Choice(["fvt", "mean", "random"]), default="fvt", show_default=True,
              help="Rows of tokens that MODEL lacks. fvt: the mean over the old tokens of the same text; "
              "mean: that of all old tokens; random: normal, with the mean and deviation of each column.")  # fmt: skip
@click.option("--row", "named", nargs=2, multiple=True, metavar="NEW OLD",
              help="Give token NEW the row of token OLD, by spelling in the files or by id; repeatable.")  # fmt: skip
@click.option("--tensor", "tensors", multiple=True, metavar="NAME", help="A matrix or bias with a row per token; "
              "repeatable [default: those of the model's class in transformers].")  # fmt: skip
@click.option(
    "--multiple-of",
    type=click.IntRange(1, 2**16),
    default=1,
    show_default=True,
    metavar="N",
    help="Round the number of rows up to a multiple.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, metavar="N", help="Seed for random [default: 0].")
@click.option("--force", is_flag=True, help="Replace DIR, if this command made it.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no summary, only errors.")
def embed(folder: Path | None, plan_only: Path | None, force: bool, quiet: bool, **options: Any) -> None:
    """Fit the embeddings of a model to another tokenizer.

    \b
    pyharness adapt embed ./model --tokenizer ./new/tokenizer.json --out ./adapted
    pyharness adapt embed ./model --map ids.json --out ./smaller
    pyharness adapt embed ./model --tokenizer ./new --plan-only plan.json

    MODEL is a folder of transformers. Rows of tokens that both tokenizers have are copied byte for byte. So is every
    other tensor. Rows without a token (padding) stay. New ids that fall on them get new values. Memory does not grow
    with the model. No code of MODEL is run.

    DIR appears whole, when all is done. The plan in it is embedding_plan.json.

    \b
    Exit status: 0 done, 2 bad input, 130 interrupted, 143 terminated.
    """
    from pyharness.cli.progress import training_listener
    from pyharness.features.adaptation.surgery import vocabulary_transfer as adapting

    if not quiet:
        check_output()
    if (folder is None) == (plan_only is None):
        raise InputError("say where the adapted model goes with --out DIR, or write the plan alone with --plan-only")
    with training_listener(quiet) as progress:
        request = adapting.EmbeddingRequest(**options, progress=progress)
        planned = adapting.plan_embedding(request, folder, force)
        embedded: Embedded | None = None
        if plan_only is not None:
            adapting.write_plan(planned, plan_only)
        elif folder is not None:
            embedded = adapting.embed(request, planned, folder, force=force)
    if not quiet:
        _summarise_embedding(planned, embedded, plan_only or folder or Path())


def _summarise_embedding(planned: Planned, done: Embedded | None, target: Path) -> None:
    plan = planned.plan
    counts = ", ".join(f"{operation.name.lower()} {count:,}" for operation, count in plan.counts.items() if count)
    rows = [
        ("matrices", ", ".join(planned.matrices.roles)),
        ("rows", f"{plan.rows:,} -> {len(plan):,}"),
        ("ids", f"{plan.old.ids:,} -> {plan.new.ids:,}"),
        ("made by", counts),
        ("plan" if done is None else "folder", str(target)),
    ]
    if done is not None:
        rows.append(("files", ", ".join(done.files)))
    if done is not None and done.left_out:
        rows.append(("left out", ", ".join(done.left_out)))
    show_facts(rows)


COMMANDS = (adapt,)
EXAMPLES = (
    Example("pyharness adapt extend --base model -c path:new.jsonl --tokens 8192 --out new", "", 50),
    Example("pyharness adapt embed ./model --tokenizer ./new --out ./adapted", "", 55),
)
