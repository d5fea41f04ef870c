"""Growing networks: rows, bodies, scoring, and a tiny run of the study that is ended and goes on."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curriculum import __main__ as program
from curriculum import bodies, rows, scoring, tables, training
from curriculum.curves import Curves
from curriculum.scoring import Passage
from curriculum.study import ARMS, AT_FLOOR, BASE, CHOOSES, MATCHED, ON, ON_BYTES, ON_GROWN, SCRATCH, Study, run
from curriculum.tiers import PUBLISHED, SMALL
from curriculum.training import Cut
from curriculum.vocabulary import Grown
from pyharness.types import InputError
from small_model import networks
from small_model.networks import Recipe, Shape
from small_model.results import Key, Results
from small_model.texts import HeldOut

pytest.importorskip("torch")
pytest.importorskip("transformers")

LETTERS = Grown(tuple("abcdef \n"))
TEXT = "abc abc fed cab abc\n" * 60
TINY = replace(
    SMALL, shape=Shape(1, 16, 16, 2, 8), keys=(8, 4), characters=1000, steps=(4, 2), sizes=(12, 16), sampled=8, given=4,
    scored=12, hidden_from=4, probe_of=1,
)  # fmt: skip
PASSAGES = [Passage("abc fed cab abc\n" * 5, group) for group in range(6) for _ in range(2)]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny operations in several threads take minutes on a machine that others use."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def network(ids: int = 8, grows: bool = True) -> Any:
    made = networks.fresh(TINY.shape, ids, 0, seed=1)
    if grows:
        bodies.give_body(made, 8)
    return made


def logits(made: Any, ids: list[int]) -> Any:
    import torch

    with torch.no_grad():
        return made(input_ids=torch.tensor([ids])).logits


def test_a_body_that_grows_changes_no_bit_and_then_learns() -> None:
    made, ids = network(), [1, 2, 3, 0]
    before = logits(made, ids)
    bodies.grow_body(made, 4, seed=2)
    assert logits(made, ids).numpy().tobytes() == before.numpy().tobytes()
    training.train(made, Cut(LETTERS, TEXT), TINY, 2, np.random.default_rng(0))
    keys = made.transformer.h[0].mlp.keys
    assert [len(part) for part in keys] == [8, 4]
    assert bool((keys[1] != 0).any())


def test_rows_of_new_tokens() -> None:
    old, made, texts = LETTERS, network(), ("abc fed cab abc", "fe")
    new = Grown((*old.strings, "ab", "abc", "fe", "ca"))
    table = made.transformer.wte.weight.detach().numpy().copy()
    of = {method: rows.new_rows(made, method, old, new, texts, seed=3).numpy() for method in rows.METHODS}
    assert of["last_row"].tolist() == table[[1, 2, 4, 0]].tolist()
    parts = ([0, 1], [0, 1, 2], [5, 4], [2, 0])
    np.testing.assert_allclose(of["fvt"], [table[part].mean(0) for part in parts], rtol=1e-5, atol=1e-8)
    assert of["random"].shape == (4, 16)
    states = [made.transformer(input_ids=_ids(old, text)).last_hidden_state[0].detach().numpy() for text in texts]
    assert of["hidden"][0].tolist() == table[1].tolist()  # "ab" is a token nowhere here, so its last row stays
    expected = [(states[0][2] + states[0][14]) / 2, (states[0][5] + states[1][1]) / 2, states[0][9]]
    np.testing.assert_allclose(of["hidden"][1:], expected, rtol=1e-4, atol=1e-6)


def _ids(vocabulary: Grown, text: str) -> Any:
    import torch

    return torch.tensor([vocabulary.encode(text)])


def test_wider_networks_keep_old_rows_and_one_matrix() -> None:
    made = network()
    before = logits(made, [1, 2])
    import torch

    rows.widen(made, torch.ones(2, 16))
    assert made.lm_head.weight is made.transformer.wte.weight
    np.testing.assert_allclose(logits(made, [1, 2])[..., :8], before, rtol=1e-5, atol=1e-7)
    assert logits(made, [8, 9]).shape[-1] == 10


def test_every_token_behind_what_is_given_is_scored_once_with_equal_context() -> None:
    chance = np.random.default_rng(6)
    for _ in range(300):
        lengths = chance.integers(1, 9, chance.integers(0, 80)).tolist()
        starts = np.cumsum([0, *lengths])[:-1]
        given, scored = (int(one) for one in chance.integers(1, 40, 2))
        last = sum(lengths) - scoring.END
        seen: list[int] = []
        for first, middle, end in scoring.stretches(lengths, given, scored):
            assert first < middle < end
            begin = given + (int(starts[middle]) - given) // scored * scored
            assert first == middle - 1 or starts[first] >= begin - given
            assert first == 0 or starts[first - 1] < begin - given or first == middle - 1
            seen += range(middle, end)
        assert seen == [place for place, start in enumerate(starts) if given <= start < last]


def test_scores_are_those_of_the_network_token_by_token() -> None:
    import torch

    grown = Grown((*LETTERS.strings, "ab", "abc", " f", "ed"))
    made, text = network(12), "abc fed cab abc\n" * 5
    sums = scoring.fixed(made, grown, [Passage(text, 0)], 8, 8)
    ids = grown.encode(text)
    lengths = [len(grown.strings[token]) for token in ids]
    expected, size = 0.0, 0
    for first, middle, end in scoring.stretches(lengths, 8, 8):
        chances = torch.log_softmax(logits(made, ids[first:end]).double(), -1)[0]
        expected -= sum(chances[place - first - 1, ids[place]].item() for place in range(middle, end))
        size += sum(lengths[middle:end])
    assert sums["nats"] == pytest.approx([expected], rel=1e-5)
    assert sums["characters"] == [size]
    assert 80 - 8 - scoring.END <= size <= 80 - 8 - scoring.END + 3
    by_group = scoring.fixed(made, grown, PASSAGES, 8, 8)
    assert by_group["characters"] == [2 * size] * 6
    by_tokens = scoring.by_tokens(made, grown, PASSAGES[:1], context=4)
    rows = range(0, len(ids) - 3, 4)
    assert by_tokens["characters"] == [sum(lengths[place] for row in rows for place in range(row + 1, row + 4))]


def test_passages_have_what_is_printable() -> None:
    held_out = HeldOut(("é" + "x" * 4, "y\n", "z\t"), (7, 7, 3), (True, False, True))
    assert scoring.passages(held_out) == [Passage("xxxx", 1), Passage("y\n", 1), Passage("z", 0)]


def test_a_text_shorter_than_a_window_is_refused() -> None:
    with pytest.raises(InputError, match="has 3 tokens, and a window 4: give more text"):
        Cut(LETTERS, "abc").windows(1, 4, np.random.default_rng(0))


def test_the_rate_falls_and_stays() -> None:
    plain, floor = Recipe(1.0), Recipe(1.0, falls_over=10)
    assert [plain.share(step, 40) for step in (0, 1, 39)] == pytest.approx([0.5, 1.0, 0.1], abs=0.01)
    assert [floor.share(step, 40) for step in (0, 10, 39)] == pytest.approx([1.0, 0.1, 0.1])


def study(path: Path) -> Study:
    return Study(TINY, TEXT, PASSAGES, LETTERS, Results.read(path), seed=0)


def test_a_tiny_run_that_is_ended_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl.gz"
    first = study(path)
    first.results.settle(program.setting_of(TINY, TEXT, PASSAGES))
    run([first])
    whole = Results.read(path)
    names = {BASE, *ARMS, ON, ON_BYTES, ON_GROWN, SCRATCH, MATCHED, AT_FLOOR}
    assert names <= {key.method for key in whole.lines}
    chosen = whole.lines[Key(0, CHOOSES, "round 1")]
    assert chosen["ids"] == 12 == 8 + len(chosen["new"])
    for name in ARMS:
        line = whole.lines[Key(0, name, "round 2")]
        assert line["ids"] == 16
        assert line["tokens"] == 2 * 2 * 16
        assert [step for step, _ in line["probe"]] == [0, 1, 2]
    on, by_text = (whole.lines[Key(0, name, "round 1")] for name in (ON, ON_BYTES))
    assert on["tokens"] == chosen["tokens"]
    assert by_text["characters"] == pytest.approx(chosen["characters"], abs=16)
    grown_once = whole.lines[Key(0, ON_GROWN, "round 1")]
    assert grown_once["probe"][0][1] == grown_once["before"]  # keys of zero
    assert len(whole.lines) == 1 + 2 * (len(ARMS) + 3) + 2 + 2 * 2
    report = tables.report(whole, TINY.lacks)
    assert "not testable here, because the model has 2 layers" in report
    assert "replicated" not in report
    assert f"| {CHOOSES} | 2 | 1 |" in report

    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    for kept in (len(lines) - 9, 3):  # the second ends within the chain that chooses vocabularies
        path.write_bytes(gzip.compress(b"".join(lines[:kept])))
        run([study(path)])
        again = Results.read(path)
        assert list(again.lines) == list(whole.lines)
        for key, line in again.lines.items():
            assert line["fixed"] == whole.lines[key]["fixed"], key
            assert line.get("new") == whole.lines[key].get("new"), key


def test_rounds_that_add_nothing_end_it_and_that_is_said(tmp_path: Path) -> None:
    for sizes, said in (((8, 9), "No round has added a token"), ((12, 12), "There are 1 of 2 rounds")):
        tier = replace(TINY, sizes=sizes)
        ended = Study(tier, TEXT, PASSAGES, LETTERS, Results.read(tmp_path / f"{sizes}.gz"), seed=0)
        ended.results.settle(program.setting_of(tier, TEXT, PASSAGES))
        run([ended])
        assert said in tables.report(ended.results, tier.lacks)


def test_numbers_over_seeds_and_works(tmp_path: Path) -> None:
    results = Results(tmp_path / "made.gz", {})
    for seed, more in enumerate((0.0, 0.1, 0.2)):
        for number, ids in enumerate((10, 100)):
            bits = [2 + 0.01 * group - number * (0.5 + more) for group in range(6)]
            sums = {"nats": [one * 50 * math.log(2) for one in bits], "characters": [50.0] * 6}
            results.lines[Key(seed, "m", f"round {number}")] = {"ids": ids, "fixed": sums}
    found = Curves(results).difference(("m", 1), ("m", 0))
    assert found is not None
    assert found.value == pytest.approx(-0.6)
    assert found.works == pytest.approx(0, abs=1e-9)
    assert found.seeds == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-4)
    assert Curves(results).bits(("m", 2)) is None


def test_without_a_gpu_the_tier_says_what_it_would_do(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.argv", ["curriculum", "--tier", "gpu"])
    monkeypatch.setattr(program, "_has_gpu", lambda: False)
    program.main()
    said = capsys.readouterr().out
    assert said.startswith("tier gpu: not run, because torch sees no GPU")
    assert "30,000 steps of 32,768 tokens for a curve" in said


def test_the_published_network_has_no_biases() -> None:
    tier = replace(PUBLISHED, shape=TINY.shape, device="cpu")
    made = Study(tier, TEXT, PASSAGES, LETTERS, Results(Path("none")), 0)._fresh(LETTERS)
    biases = [one for name, one in made.named_parameters() if name.endswith("bias")]
    assert biases
    assert not any(one.requires_grad or bool(one.any()) for one in biases)
