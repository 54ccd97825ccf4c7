"""RoBERTa's tokens (Liu et al., 2019: byte-level BPE) for HERO's queries, from the user's vocab.json and merges.txt.

A query in capitals alone is read in small letters and no space is put before the first word, as HERO prepares its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from fabula.core.errors import InputError, import_extra
from fabula.documents.files import check_path, load_json

FILES = ("vocab.json", "merges.txt")
FIXED = {"<s>": 0, "<pad>": 1}  # what HERO puts before a query, and behind it


class Tokens:
    """A text as ids of tokens, without those that begin and end it. `mark` identifies the pair of files."""

    def __init__(self, folder: str | Path) -> None:
        vocabulary, merges = (check_path(folder) / name for name in FILES)
        for path in (vocabulary, merges):
            if not path.is_file():
                raise InputError(
                    "no such file", file=path, hint=f"name a folder that holds {' and '.join(FILES)} of RoBERTa"
                )
        known = load_json(vocabulary)
        ids = set(known.values()) if isinstance(known, dict) else set()
        if not isinstance(known, dict) or not all(isinstance(i, int) and not isinstance(i, bool) for i in ids):
            raise InputError(
                "no vocabulary: it should map tokens to their numbers",
                file=vocabulary,
                hint="name the file as RoBERTa publishes it",
            )
        if any(known.get(token) != id for token, id in FIXED.items()):
            raise InputError(
                "its <s> and <pad> are not 0 and 1",
                file=vocabulary,
                hint="use RoBERTa's own; another model's vocabulary does not fit",
            )
        self.size = 1 + max(known.values())
        self.encode = open_bpe(vocabulary, merges)
        self.mark = hashlib.blake2b(vocabulary.read_bytes() + merges.read_bytes(), digest_size=16).hexdigest()

    def __call__(self, text: str) -> list[int]:
        return self.encode(text.lower() if text.isupper() else text)


def open_bpe(vocabulary: Path, merges: Path) -> Callable[[str], list[int]]:
    """The encoder of `tokenizers`, from two local files; nothing is downloaded."""
    package = import_extra("tokenizers", "RoBERTa's tokens", "learn")
    try:
        tokenizer = package.Tokenizer(package.models.BPE.from_file(str(vocabulary), str(merges), unk_token="<unk>"))
    except Exception as error:  # the library raises its own kind of nothing in particular
        reason = " ".join(str(error).split())[:120]
        raise InputError(f"no merges of this vocabulary ({reason})", file=merges, hint="use RoBERTa's own") from None
    tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    return encode
