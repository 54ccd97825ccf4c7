"""Tokens: 128 random bits that open one person's part and no other. The server keeps their hashes alone."""

from __future__ import annotations

import hashlib
import re
import secrets

TOKEN = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
EASY = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # without 0/O and 1/I: codes are typed by people


def make_token() -> str:
    return secrets.token_urlsafe(16)


def make_code(length: int = 8) -> str:
    return "".join(secrets.choice(EASY) for _ in range(length))


def hash_token(token: str) -> str:
    """The hash of a token. 128 random bits need no salt."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def looks_right(token: str) -> bool:
    return TOKEN.fullmatch(token) is not None
