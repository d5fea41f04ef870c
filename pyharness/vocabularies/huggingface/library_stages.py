"""One stage of a tokenizer.json as an object of ``tokenizers`` that runs it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pyharness.types import InputError

StageName: TypeAlias = Literal["normalizer", "pre_tokenizer", "decoder"]
_WORDS: Mapping[StageName, str] = {"normalizer": "normaliser", "pre_tokenizer": "pre-tokenizer", "decoder": "decoder"}


def library_stage(name: StageName, stage: Any) -> Any:
    """Build the object of ``tokenizers`` that runs a stage by itself.

    Raises:
        InputError: ``tokenizers`` refuses it.
    """
    import tokenizers

    stub = {"model": {"type": "BPE", "vocab": {}, "merges": []}, name: stage}
    try:
        return getattr(tokenizers.Tokenizer.from_str(json.dumps(stub)), name)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library raises bare Exception; pyo3's PanicException is not an Exception
        refused = f"the {_WORDS[name]} {str(stage)[:200]} was refused by tokenizers: {str(error)[:200]}"
        raise InputError(refused) from None
