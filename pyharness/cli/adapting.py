"""``pyharness adapt``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyharness.cli.console import check_output, reports_errors, show
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.commands.adapting import Embedded, Planned


@click.group()
def adapt() -> None:
    """Change a tokenizer for another text, and fit a model to it."""


@adapt.command()
@click.argument("model")
@click.option("--out", "folder", type=click.Path(path_type=Path), metavar="DIR", help="Folder to make.")
@click.option("--tokenizer", metavar="PATH", help="The new tokenizer: a file, or a folder of one. Its files are copied "
              "into DIR. With --map and --plan they are copied and nothing else.")  # fmt: skip
@click.option("--old-tokenizer", metavar="PATH", help="What MODEL was trained with [default: its own file].")
@click.option("--map", "id_map", type=click.Path(path_type=Path), metavar="FILE", help="Instead: new id of each old "
              "one, as JSON: [0, -1, 1] (-1: goes) or {\"0\": 0, \"2\": 1}.")  # fmt: skip
@click.option(
    "--ids",
    type=click.IntRange(1, 2**24),
    metavar="N",
    help="New ids in all, of a --map [default: as its largest needs].",
)
@click.option("--plan", type=click.Path(path_type=Path), metavar="FILE", help="Instead: a plan that --plan-only wrote.")
@click.option("--plan-only", type=click.Path(path_type=Path), metavar="FILE", help="Write the plan, and no model.")
@click.option("--method", type=click.Choice(["fvt", "mean", "random"]), default="fvt", show_default=True,
              help="Rows of tokens that MODEL lacks: fvt, the mean over what the old tokenizer writes for each; "
              "mean, that of all old tokens; random, normal, with the mean and deviation of each column.")  # fmt: skip
@click.option("--row", "named", nargs=2, multiple=True, metavar="NEW OLD",
              help="Give token NEW the row of token OLD: as files write them, or ids; repeatable.")  # fmt: skip
@click.option("--tensor", "tensors", multiple=True, metavar="NAME", help="A matrix, or bias, of the vocabulary; "
              "repeatable [default: as the class of the model has them in transformers].")  # fmt: skip
@click.option(
    "--multiple-of",
    type=click.IntRange(1, 2**16),
    default=1,
    show_default=True,
    metavar="N",
    help="Round the number of rows up to a multiple.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, metavar="N", help="Of random rows [default: 0].")
@click.option("--force", is_flag=True, help="Replace DIR, if this command made it.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary; errors only.")
@reports_errors
def embed(folder: Path | None, plan_only: Path | None, force: bool, quiet: bool, **options: Any) -> None:
    """Fit the embeddings of MODEL, a folder of transformers, to another tokenizer.

    \b
    pyharness adapt embed ./model --tokenizer ./new/tokenizer.json --out ./adapted
    pyharness adapt embed ./model --map ids.json --out ./smaller
    pyharness adapt embed ./model --tokenizer ./new --plan-only plan.json

    Rows of tokens that both tokenizers have are copied byte for byte, and so is every other tensor. Rows that no token
    has (padding) stay, and new ids that fall on them are initialised as the others. Memory does not grow with the
    model, and no code of MODEL is run.

    DIR appears whole, when all is done, with the plan in embedding_plan.json.

    \b
    Exit status: 0 done, 2 bad input, 130 interrupted, 143 told to end.
    """
    from pyharness.cli.progress import training_listener
    from pyharness.commands import adapting

    if not quiet:
        check_output()
    if (folder is None) == (plan_only is None):
        raise InputError("say where the adapted model goes with --out DIR, or write the plan alone with --plan-only")
    with training_listener(quiet) as progress:
        request = adapting.EmbeddingRequest(**options, progress=progress)
        planned = adapting.plan_embedding(request, folder, force)
        done: Embedded | None = None
        if plan_only is not None:
            adapting.write_plan(planned, plan_only)
        elif folder is not None:
            done = adapting.embed(request, planned, folder, force=force)
    if not quiet:
        _summarise(planned, done, plan_only or folder or Path())


def _summarise(planned: Planned, done: Embedded | None, target: Path) -> None:
    from pyharness.report import visible

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
    show("".join(f"{name:11} {visible(value)}\n" for name, value in rows))


COMMANDS = (adapt,)
