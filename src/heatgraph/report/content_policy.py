"""The content security policy of pages: their own script and style, by hash, and nothing else."""

from __future__ import annotations

import base64
import hashlib

# Blobs are what a page makes itself, such as pictures that it saves.
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def content_policy(script: str, style: str) -> str:
    """A policy that allows one inline script and one inline style."""
    return POLICY.format(script=_source(script), style=_source(style))


def _source(text: str) -> str:
    """A source of a policy: the hash of an inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
