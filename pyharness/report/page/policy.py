"""What a browser may do with a page: apply its one style sheet and run its one script, and nothing else."""

from __future__ import annotations

import base64
import hashlib


def policy(style: str, script: str) -> str:
    """Content-Security-Policy of a page with this style sheet and script: no requests, no other code, no forms.

    Should an escape fail, an element made of a stranger's text can neither run code nor load anything. It can still be
    a link, or lead elsewhere by itself (``<meta http-equiv="refresh">``): no policy within a page stops that.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
