"""Secrets that the caller keeps."""

from __future__ import annotations

from os import urandom

_SECRET_SIZE = 32


def new_secret() -> str:
    """A new secret for continuations: 32 random bytes as URL-safe base64 without padding, 43 characters."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(urandom(_SECRET_SIZE)).rstrip(b"=").decode()
