"""``pyharness profile``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyharness.cli import usage
from pyharness.cli.console import check_output, complain, formatted, show, show_json
from pyharness.cli.usage import Example
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.features.profiling.record import ProfileRecord


@click.command()
@click.argument("kernel")
@click.option("--shape", "shapes", multiple=True, metavar="ROWSxV", help="A size of the work; repeatable.")
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="bf16, fp16 or fp32; repeatable.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="[default: cuda if there is a device]")
@click.option("--threads", type=int, metavar="N", help="Threads on the CPU [default: all cores].")
@click.option(
    "-c", "--corpus", metavar="SPEC", shell_complete=usage.corpora, help="Real text for pair_histogram; needs -t."
)
@click.option("-t", "--tokenizer", metavar="SPEC", shell_complete=usage.tokenizers, help="What encodes that text.")
@click.option("--max-seconds", type=float, metavar="S", help="Time limit of each table [default: 15; on a CPU 12].")
@click.option("--without", "left_out", multiple=True, metavar="PEER", help="Leave a peer out; repeatable.")
@click.option(
    "--variant", "variants", multiple=True, metavar="NAME",
    help="pair_histogram: segments, weights or host; linear_entropy: chunks. Repeatable.",
)  # fmt: skip
@click.option("--once", is_flag=True, help="One launch per shape and dtype, and no timing, for Nsight Compute.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Also write a record, which report and compare read."
)
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
def profile(
    kernel: str, shapes: tuple[str, ...], dtypes: tuple[str, ...], device: Any, threads: int | None,
    corpus: str | None, tokenizer: str | None, max_seconds: float | None, left_out: tuple[str, ...],
    variants: tuple[str, ...], once: bool, as_json: bool, output: Path | None, force: bool,
) -> None:  # fmt: skip
    """Time a kernel against the machine's memory and arithmetic.

    \b
    pyharness profile entropy
    pyharness profile entropy --shape 128x50257 --dtype bf16 --threads 2
    pyharness profile linear_entropy --shape 256x768x50257      ROWSxDxV
    pyharness profile pair_histogram --shape 1e7x50257          TOKENSxV
    pyharness profile pair_histogram -c path:corpus.jsonl -t mistral:v3
    pyharness profile pair_histogram --variant segments

    KERNEL is entropy, linear_entropy or pair_histogram. Peers do the same or similar work on the same data, in turn
    with ours. Each result is verified before it is timed. The copy rate and the matrix rate are measured in the same
    run, and for entropy on a GPU the rate of a read. --output is written after every shape and dtype, so an interrupted
    run keeps what it has finished.

    \b
    Exit status:
      0         measured
      1         our kernel failed on some shape
      2         bad input
      129, 130, 143
                hung up, interrupted, terminated
    """
    from pyharness import report, store
    from pyharness.features.profiling import cases, plan, session
    from pyharness.system import atomic_file

    on = device or session.default_device()
    wanted = plan.plan(kernel, shapes, dtypes, on, threads, corpus, tokenizer, left_out, variants)
    rule = session.rule_for(wanted.device, max_seconds)
    if once and (as_json or output is not None or max_seconds is not None or left_out):
        raise InputError("--once measures nothing: leave out --json, --output, --max-seconds and --without")
    if output is not None:
        atomic_file.check_writable(output, overwrite=force)

    def keep(so_far: ProfileRecord) -> None:
        if output is not None and (so_far.finished or not atomic_file.is_stream(output)):
            text = store.dump(cases.as_data(so_far))
            atomic_file.write(output, text, overwrite=force or len(so_far.outcomes) > 1)

    if not once:
        check_output()
    with session.opened(wanted.device, wanted.threads) as machine:
        if once:
            sys.exit(0 if session.launch_once(wanted, machine, complain) else 1)
        measured = session.run(wanted, machine, rule, complain, keep)
    if as_json:
        show_json(cases.as_data(measured))
    else:
        show(formatted(report.sheets(cases.as_record(measured))))
    sys.exit(1 if measured.failed else 0)


COMMANDS = (profile,)
EXAMPLES = (Example("pyharness profile entropy", "a kernel against this machine's roofs", 100),)
