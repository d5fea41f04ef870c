"""How much memory does an adapted checkpoint take, and does a real model that loses rows say the same?

    python studies/embedding_surgery.py memory --gigabytes 4 --folder DIR
    python studies/embedding_surgery.py real --model DIR

``memory`` makes a sparse checkpoint (bfloat16, two matrices of 128,256 x 2,048, the rest one tensor), adapts it with
``pyharness adapt embed`` to 8,192 more ids, with its matrices found and with them named, and prints the peak of the
process, that of a process that only imports what is needed to find them, and seconds. ``real`` takes a folder of
transformers whose model has a tokenizer.json, drops every row that a text does not use, and compares the hidden states
of that text to the bit. docs/studies.md has the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyharness.features.language_models.weights_file import header_of

IDS, WIDTH, MORE = 128_256, 2_048, 8_192
TEXT = "Tokenizers that lose the words nobody writes still answer the same, and the model does not notice."
IMPORTS = "import pyharness.bpe, torch, transformers; transformers.LlamaForCausalLM"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def sparse(folder: Path, size: int) -> Path:
    """Checkpoint of zeros that takes no room on the disk."""
    matrix = IDS * WIDTH * 2
    rest = (size - 2 * matrix) // (WIDTH * 2)
    shapes = {"lm_head.weight": IDS, "model.embed_tokens.weight": IDS, "model.layers.0.mlp.up_proj.weight": rest}
    header = header_of([(name, "BF16", (rows, WIDTH), rows * WIDTH * 2) for name, rows in shapes.items()], None)
    folder.mkdir()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(header)
        file.truncate(len(header) + sum(shapes.values()) * WIDTH * 2)
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": WIDTH, "vocab_size": IDS,
              "num_hidden_layers": 1, "num_attention_heads": 16, "tie_word_embeddings": False}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def measured(*command: str) -> tuple[float, float]:
    """Peak of a process in MB, and its seconds."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return usage.ru_maxrss / 1024, time.perf_counter() - start


def memory(gigabytes: float, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        base = Path(name)
        model = sparse(base / "model", int(gigabytes * 1e9))
        (base / "map.json").write_text(json.dumps(list(range(IDS))))
        common = ("-m", "pyharness", "adapt", "embed", str(model), "--map", str(base / "map.json"), "--method", "mean",
                  "--ids", str(IDS + MORE))  # fmt: skip
        named = ("--tensor", "lm_head.weight", "--tensor", "model.embed_tokens.weight")
        runs = {
            "imports alone": ("-c", IMPORTS),
            "found by the class": (*common, "--out", str(base / "found")),
            "named": (*common, "--out", str(base / "named"), *named),
        }
        for label, command in runs.items():
            most, seconds = measured(*command)
            say(f"{label:20} {most:6.0f} MB {seconds:6.1f} s")
        say(f"{'result':20} {(base / 'named' / 'model.safetensors').stat().st_size / 1e9:6.2f} GB")


def real(model: Path) -> None:
    import torch
    import transformers
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    ids = tokenizer.encode(TEXT).ids
    config = json.loads((model / "config.json").read_text())
    kept = sorted({*ids, *(value for key, value in config.items() if key.endswith("_token_id"))})
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        (base / "map.json").write_text(json.dumps({str(old): new for new, old in enumerate(kept)}))
        most, seconds = measured(
            "-m", "pyharness", "adapt", "embed", str(model), "--map", str(base / "map.json"), "--out", str(base / "out")
        )
        family: Any = transformers.AutoModel
        before = family.from_pretrained(model).eval()
        after, about = family.from_pretrained(base / "out", output_loading_info=True)
        with torch.inference_mode():
            expected = before(torch.tensor([ids])).last_hidden_state
            found = after.eval()(torch.tensor([[kept.index(token) for token in ids]])).last_hidden_state
        say(f"rows {config['vocab_size']:,} -> {len(kept):,}; {len(ids)} tokens; {most:.0f} MB, {seconds:.1f} s")
        say(f"missing, unexpected or new weights: {sum(map(len, about.values()))}")
        say(f"hidden states equal to the bit: {torch.equal(expected, found)}, {tuple(expected.shape)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    part = parts.add_parser("memory")
    part.add_argument("--gigabytes", type=float, default=4)
    part.add_argument("--folder", type=Path, default=Path())
    parts.add_parser("real").add_argument("--model", type=Path, required=True)
    given = parser.parse_args()
    if given.part == "memory":
        memory(given.gigabytes, given.folder)
    else:
        real(given.model)


if __name__ == "__main__":
    main()
