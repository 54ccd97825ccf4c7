"""(candidate, references) → number: one caption metric per file, its equation on top; no video is seen here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fabula.core.registry import Room

if TYPE_CHECKING:
    from fabula.text._scorer import Scorer

__all__ = ["Scorer", "room", "scorer", "tokenize_all"]

room = Room(__name__, "SCORER", "caption scorer")


def scorer(name: str) -> Scorer:
    """A caption scorer by name: what `SODA_c(text=…)` may say."""
    found: Scorer = room.get(name)
    return found


def tokenize_all(sentences: Sequence[str], tok: str, ascii_only: bool = False) -> list[str]:
    """Each sentence as its tokens, one blank between them."""
    if tok == "none":
        return [replace_nonascii(s) for s in sentences] if ascii_only else list(sentences)
    from fabula.text.ptb import tokenize_all as ptb

    known = kept.setdefault(ascii_only, {})
    try:
        return list(map(known.__getitem__, sentences))
    except (KeyError, TypeError):  # not all of them are known
        pass
    if set(map(type, sentences)) - {str} or max(map(len, sentences), default=0) > LONG:
        return ptb(sentences, remove_nonascii=ascii_only)
    new = [s for s in dict.fromkeys(sentences) if s not in known] if known else list(dict.fromkeys(sentences))
    if len(known) + len(new) > LIMIT:
        known = kept[ascii_only] = {}
        new = list(dict.fromkeys(sentences))
    known.update(zip(new, ptb(new, remove_nonascii=ascii_only), strict=True))
    return list(map(known.__getitem__, sentences))


LIMIT = 1 << 17  # sentences whose tokens are kept
LONG = 1000  # characters of a sentence that is not
kept: dict[bool, dict[str, str]] = {}  # tokens by sentence, for runs that read the same captions under many rules


def __getattr__(name: str) -> Any:
    if name == "Scorer":
        from fabula.text._scorer import Scorer

        return Scorer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def replace_nonascii(sentence: str) -> str:
    """Every non-ASCII character replaced by one blank, as densevid_eval and SODA do."""
    return "".join(c if c < "\x80" else " " for c in sentence)
