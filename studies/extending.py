"""Does the encoder of an extended tokenizer give what its training ended with, and is anything added unreachable?

usage: PYHARNESS_DATA=DIR python studies/extending.py [--base NAME ...] [--language NAME ...] [--tokens N]

Every base is extended on every text: as the encoder runs, and in the rules form also with the reading that merges
nothing on (`cascade=False`). Per row: new rules, those of them that make a string that the base has, pieces that
encode to something else than the training's last state, and new tokens that fail the self-tokenization test. Any of
the latter two with the cascade ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / "support")]
from extended_models import extended_model  # noqa: E402
from pyharness.bpe import BpeModel, WeightedPieces, import_model, self_tokenization  # noqa: E402
from pyharness.features.adaptation.bpe.extension import Continued, continued  # noqa: E402
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, encoded, read_piece_rules  # noqa: E402

BASES = {
    "gpt2": "gpt2/tokenizer.json",
    "qwen2_5": "qwen2_5/tokenizer.json",
    "deepseek_v3": "deepseek_v3/tokenizer.json",
    "yi": "yi/tokenizer.json",
    "cl100k": "tiktoken/cl100k_base.tiktoken",
    "mistral_v1": "mistral/tokenizer.model.v1",
    "mistral_v3": "mistral/mistral_instruct_tokenizer_240323.model.v3",
}
LANGUAGES = {
    "et": "multilingual/et/riigiteataja_laws",
    "hi": "multilingual/hi/classic_novels",
    "th": "multilingual/th/thaigov_news",
    "ar": "multilingual/ar/nahda_books",
    "ja": "multilingual/ja/aozora",
    "zh": "multilingual/zh/tang_song_poetry",
    "rust": "code/rust",
}


HEADINGS = ("base", "text", "cascade", "new tokens", "rules", "of old strings", "pieces", "differ", "unreachable", "s")


def say(cells: Sequence[str]) -> None:
    """Print a row of the table."""
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def texts(folder: Path, language: str) -> list[str]:
    with lzma.open(folder / "corpora" / f"{LANGUAGES[language]}.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def differing(model: BpeModel, pieces: WeightedPieces, done: Continued) -> int:
    """Pieces that the extended model encodes to something else than the training's last state."""
    states = encoded(extended_model(model, done.extension), pieces, whole_pieces=model.whole_pieces)
    kept = np.flatnonzero(done.trained_on).tolist()
    return sum(
        not np.array_equal(states.document(piece), done.states.document(index)) for index, piece in enumerate(kept)
    )


def main() -> int:
    """Print a row per base, text and reading."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", nargs="+", choices=BASES, default=list(BASES))
    parser.add_argument("--language", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    parser.add_argument("--tokens", type=int, default=16_384)
    options = parser.parse_args()
    folder = Path(os.environ["PYHARNESS_DATA"])
    say(HEADINGS)
    say([":--"] * 3 + ["--:"] * 7)
    wrong = 0
    for base in options.base:
        path = folder / "tokenizers" / BASES[base]
        model = import_model(path)
        rules = read_piece_rules(path.read_bytes(), base) if ".model" in path.name else None
        for language in options.language:
            counter = ModelPieces(model, rules)
            counter.add(texts(folder, language))
            pieces = counter.pieces()
            for cascade in (True, False) if model.merges.rules is not None else (True,):
                start = time.process_time()
                done = continued(model, pieces, options.tokens, piece_rules=rules, cascade=cascade)
                seconds = time.process_time() - start
                made = done.extension.rules
                failed = self_tokenization(extended_model(model, done.extension).merges).failed
                unreachable = int((failed >= model.id_limit).sum())
                different = differing(model, pieces, done)
                wrong += cascade and unreachable + different
                old = int((made[:, 2] < model.id_limit).sum())
                counts = len(done.extension.tokens), len(made), old, len(pieces.weights), different, unreachable
                row = (
                    base,
                    language,
                    "yes" if cascade else "no",
                    *(f"{count:,}" for count in counts),
                    f"{seconds:.2f}",
                )
                say(row)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
