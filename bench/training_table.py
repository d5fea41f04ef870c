"""Training of plain BPE beside its peers: ``python bench/training_table.py --out DIR`` (PYHARNESS_DATA is needed).

Every call runs in a fresh process, which reads the text, trains once on a little of it and then measures one whole
call: texts in memory to a trained tokenizer. Trainers take turns, ``--rounds`` times, so that a slow minute hits all of
them; ratios are those of neighbours, and their median is what the table has. Memory is what the resident set grows by
at most during the call. Before anything is timed, the merges of ours are compared with those of `tokenizers`, pair by
pair over the whole run (those of `tokenizers` are kept in ``--out`` by the content of the text); a peer that merges
other pairs, or gives other tokens where it tells no pairs, is labelled.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

from training_peers import PEERS, Task, count, ours_scaffold

from pyharness.benchmarks.load import MemoryMeter
from pyharness.bpe import TextEncoder, TrainedBpe, model_of_training, train

REFERENCE = "tokenizers"
OURS = "pyharness"
SCAFFOLD = "pyharness, Scaffold-BPE"
CORPUS = "english/books"
TURN = 25  # documents


@dataclass(frozen=True)
class Cell:
    pattern: str
    vocab_size: int
    threads: int

    def __str__(self) -> str:
        return f"{self.pattern} {self.vocab_size // 1024}k, {self.threads} thread{'s' * (self.threads > 1)}"


# ----------------------------------------------------------------------------------------------------- in a worker


def work(name: str, cell: Cell, path: Path) -> dict[str, Any]:
    """One whole call of one trainer in this process."""
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    peer = PEERS[name]
    peer.prepare(Task(texts[:60], cell.pattern, 600, cell.threads))()
    call = peer.prepare(Task(texts, cell.pattern, cell.vocab_size, cell.threads))
    meter = MemoryMeter()
    with meter:
        start = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - start
    merges = peer.merges(result)
    return {
        "seconds": seconds,
        "bytes": meter.bytes,
        "tokens": len(merges),
        "digest": digest(left + right for left, right in merges),
        "pairs": digest(chain.from_iterable(merges)) if peer.tells_pairs else None,
    }


def digest(strings: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(len(string).to_bytes(4) + string for string in strings)).hexdigest()


def work_on_phases(cell: Cell, path: Path, rounds: int) -> dict[str, Any]:
    """Our phases, and Scaffold-BPE against plain BPE, in turns in this process."""
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    task = Task(texts, cell.pattern, cell.vocab_size, cell.threads)
    names = ("count", "merge", "scaffold merge", "whole", "scaffold whole", "encode", "scaffold encode")
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds + 1):  # the first one warms up
        marks = [time.perf_counter()]
        pieces = count(task)
        marks.append(time.perf_counter())
        plain = train(pieces, task.vocab_size)
        marks.append(time.perf_counter())
        scaffold = train(pieces, task.vocab_size, scaffold=True)
        marks.append(time.perf_counter())
        ours_scaffold(task)()
        marks.append(time.perf_counter())
        counted, merged, scaffolded, whole = (end - start for start, end in pairwise(marks))
        encoded = encoding_in_turns(task, [plain, scaffold])
        seconds_of = (counted, merged, scaffolded, counted + merged, whole, *encoded)
        for name, seconds in zip(found, seconds_of, strict=True):
            found[name].append(seconds)
    return {"pieces": len(pieces.weights), **{name: values[1:] for name, values in found.items()}}


def encoding_in_turns(task: Task, trained: Sequence[TrainedBpe]) -> list[float]:
    """Seconds that each takes on one thread for the second half of the texts, after the first half.

    They take turns of a few documents: the difference is smaller than what a slow second does to either.
    """
    models = [model_of_training(model, task.pattern) for model in trained]
    encoders = [TextEncoder(model.merges, task.pattern, expansion=model.expansion) for model in models]
    half = len(task.texts) // 2
    for encoder in encoders:
        encoder.encode_batch(task.texts[:half])
    seconds = [0.0] * len(encoders)
    for turn, start in enumerate(range(half, len(task.texts), TURN)):
        for index in range(len(encoders)):
            which = (turn + index) % len(encoders)
            begin = time.perf_counter()
            encoders[which].encode_batch(task.texts[start : start + TURN])
            seconds[which] += time.perf_counter() - begin
    return seconds


# ------------------------------------------------------------------------------------------------------- the table


def corpus(limit: int) -> list[str]:
    data = os.environ.get("PYHARNESS_DATA")
    if data is None:
        raise SystemExit("PYHARNESS_DATA is not set: it names real corpora")
    texts: list[str] = []
    size = 0
    with lzma.open(Path(data) / "corpora" / f"{CORPUS}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            texts.append(json.loads(line)["text"])
            size += len(texts[-1].encode())
            if size >= limit:
                break
    return texts


def run_worker(arguments: Sequence[str], cell: Cell, out: Path) -> dict[str, Any]:
    """What a worker found; ``failed`` says why it found nothing."""
    answer = out / "worker.json"
    # Not by pinning: threads that a library starts all the same would then wait for each other on one core.
    environment = {**os.environ, "RAYON_NUM_THREADS": str(cell.threads), "TOKENIZERS_PARALLELISM": "true"}
    command = [
        sys.executable, __file__, "--out", str(out), "--cell", json.dumps(list(vars(cell).values())), *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return found


def measure(
    cells: Sequence[Cell], names: Sequence[str], rounds: int, out: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Raw values by cell: trainer -> what its rounds found; the table is computed from them."""
    for cell in cells:
        verify(cell, out)
    for cell in cells:
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in names if cell.pattern in PEERS[name].patterns}
        for name in [*rows] * rounds:
            if rows[name] and "failed" in rows[name][-1]:
                continue
            rows[name].append(run_worker(["--trainer", name], cell, out))
        phases = run_worker(["--phases", str(rounds)], cell, out)
        yield str(cell), {"trainers": rows, "phases": phases, "labels": labels(rows)}


def verify(cell: Cell, out: Path) -> None:
    """Ends the run where our pairs are not those of the reference for the same ids of bytes."""
    text = hashlib.sha256((out / "texts.jsonl").read_bytes()).hexdigest()[:16]
    kept = out / f"{REFERENCE}-{version(REFERENCE)}-{cell.pattern}-{cell.vocab_size}-{text}.json"
    if not kept.exists():
        found = run_worker(["--trainer", REFERENCE], cell, out)
        if "failed" in found:
            raise SystemExit(f"{REFERENCE} failed, so that nothing is verified: {found['failed']}")
        kept.write_text(json.dumps(found), encoding="utf-8")
    reference = json.loads(kept.read_text(encoding="utf-8"))
    own = run_worker(["--trainer", f"{OURS}, byte-level ids"], cell, out)
    if own.get("pairs") != reference["pairs"]:
        raise SystemExit(f"{cell}: our merges are not those of {REFERENCE}, so that nothing is measured; {own}")


def labels(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, str]:
    """How what each trainer merged, in every round, compares with ours for the same ids of bytes."""
    own = {True: rows[f"{OURS}, byte-level ids"][0], False: rows[OURS][0]}
    found = {}
    for name, results in rows.items():
        peer = PEERS[name]
        if "failed" in results[0]:
            found[name] = f"failed: {results[0]['failed']}"
        elif peer.note and not results[0]["tokens"]:
            found[name] = peer.note
        else:
            compared = "pairs" if peer.tells_pairs else "digest"
            what = "pairs" if peer.tells_pairs else "tokens"
            same = {row[compared] for row in results} == {own[peer.byte_level][compared]}
            found[name] = f"same {what} in the same order" if same else f"OTHER {what.upper()}"
    return found


def median_ratio(above: Iterable[float], below: Iterable[float]) -> float:
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def rendered(report: Mapping[str, Any]) -> str:
    """Markdown of a report."""
    lines = [f"# Training of plain BPE: {report['corpus']}", ""]
    for cell, found in report["cells"].items():
        lines += [
            f"## {cell}",
            "",
            "| trainer | seconds (min) | its time / ours (median of pairs) | extra memory, MB | merges |",
        ]
        lines += ["|---|---|---|---|---|"]
        own = [row["seconds"] for row in found["trainers"][OURS]]
        for name, rows in found["trainers"].items():
            if "failed" in rows[-1]:
                lines.append(f"| {name} | | | | {found['labels'][name]} |")
                continue
            seconds = [row["seconds"] for row in rows]
            memory = statistics.median(row["bytes"] for row in rows) / 1e6
            lines.append(
                f"| {name} | {min(seconds):.3f} | {median_ratio(seconds, own):.2f} | {memory:.0f} | "
                f"{found['labels'][name]} |"
            )
        phases = found["phases"]
        whole = median_ratio(phases["scaffold whole"], phases["whole"])
        merge = median_ratio(phases["scaffold merge"], phases["merge"])
        encode = median_ratio(phases["scaffold encode"], phases["encode"])
        figures = (
            f"{phases['pieces']:,} distinct pieces. Ours, warm: counting {min(phases['count']):.4f} s, merging "
            f"{min(phases['merge']):.4f} s. "
            f"Scaffold-BPE against plain BPE: whole call {whole:.2f}, merging {merge:.2f}, "
            f"encoding text that neither cache has seen {encode:.3f}."
        )
        lines += ["", figures, ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for training.md and training.json")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=float, default=50, help="of text, at most; nothing is repeated")
    parser.add_argument("--vocab-size", type=int, nargs="+", default=[8192, 32768])
    parser.add_argument("--pattern", nargs="+", default=["gpt2", "cl100k"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--trainers", nargs="+", default=list(PEERS), choices=list(PEERS))
    for hidden in ("--cell", "--trainer", "--phases"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    given = parser.parse_args()
    text = given.out / "texts.jsonl"
    if given.cell:
        cell = Cell(*json.loads(given.cell))
        found = work_on_phases(cell, text, int(given.phases)) if given.phases else work(given.trainer, cell, text)
        (given.out / "worker.json").write_text(json.dumps(found), encoding="utf-8")
        return
    given.out.mkdir(parents=True, exist_ok=True)
    texts = corpus(int(given.megabytes * 1e6))
    text.write_text("".join(json.dumps({"text": document}) + "\n" for document in texts), encoding="utf-8")
    size = sum(len(document.encode()) for document in texts) / 1e6
    cells = [Cell(*values) for values in product(given.pattern, given.vocab_size, given.threads)]
    # What the comparison needs is always there.
    names = [name for name in PEERS if name in {*given.trainers, OURS, f"{OURS}, byte-level ids"}]
    about = f"{CORPUS}, {size:.1f} MB in {len(texts)} documents, no repeats; {given.rounds} round(s)"
    report: dict[str, Any] = {"corpus": about, "cells": {}}
    for cell_name, found in measure(cells, names, given.rounds, given.out):
        report["cells"][cell_name] = found  # written after every cell: a run that is cut off keeps what it has
        (given.out / "training.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
        (given.out / "training.md").write_text(rendered(report), encoding="utf-8")
    text.unlink()
    (given.out / "worker.json").unlink()
    print(rendered(report))  # noqa: T201


if __name__ == "__main__":
    main()
