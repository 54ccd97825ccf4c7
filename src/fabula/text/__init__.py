"""(candidate, references) → number: one caption metric per file, its equation on top; no video is seen here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from fabula.core.errors import SpecError
from fabula.core.registry import Room

if TYPE_CHECKING:
    from fabula.llm.session import Session
    from fabula.text._scorer import OneByOne, PlacedScorer, Scorer

__all__ = ["OneByOne", "PlacedScorer", "Scorer", "forget", "room", "scorer", "token_table", "tokenize_all"]


def check_scorer(thing: object) -> str | None:
    """What is wrong with a caption scorer of another package."""
    from fabula.core.plugins import check_has, describe

    if isinstance(thing, type):
        return f"leads to {describe(thing)}, where a caption scorer is an object"
    return check_has(thing, ("name", "version", "alone", "pairs", "pairs_many", "within"), "caption scorer")


room = Room(__name__, "SCORER", "caption scorer", group="fabula.scorers", check=check_scorer)


def scorer(name: str, session: Session | None = None) -> Scorer:
    """A caption scorer by name: what `SODA_c(text=…)` may say; after a colon, whose weights it uses: `embed:minilm`.

    A judge asks this session.
    """
    head, colon, model = name.partition(":")
    found: Scorer = room.get(head)
    needs = hasattr(found, "of")
    if needs and not model:
        needed = "a judge: judge:fabula" if head == "judge" else f"a model: {head}:minilm, or {head}:FOLDER"
        raise SpecError(f"the caption scorer {head} needs {needed}")
    if colon and not needs:
        raise SpecError(f"the caption scorer {head} takes no model; leave {colon}{model} out")
    if head == "judge":
        judged: Scorer = room.get(head).of(model, session)
        return judged  # never cached: its session belongs to one run
    return opened(head, model) if needs else found


@functools.lru_cache(maxsize=4)
def opened(head: str, model: str) -> Scorer:
    """A scorer with its weights: the same object for the same names, so that what it keeps of sentences is shared."""
    caption_scorer: Scorer = room.get(head).of(model)
    return caption_scorer


def tokenize_all(sentences: Sequence[str], tok: str, ascii_only: bool = False) -> list[str]:
    """Each sentence as its tokens, one blank between them."""
    if tok == "none":
        return [replace_nonascii(s) for s in sentences] if ascii_only else list(sentences)
    try:
        return list(map(tokens_by_sentence[ascii_only].__getitem__, sentences))
    except (KeyError, TypeError):  # not all of them are known
        pass
    if set(map(type, sentences)) - {str}:
        from fabula.text.ptb import tokenize_all as ptb

        return ptb(sentences, remove_nonascii=ascii_only)  # refuses them
    known = keep_tokens(sentences, ascii_only)
    return list(map(known.__getitem__, sentences))


def token_table(sentences: Collection[str], tok: str, ascii_only: bool = False) -> Mapping[str, str]:
    """Sentence → its tokens, of at least these sentences: the cache itself, where there is one."""
    if tok == "none":
        distinct = list(dict.fromkeys(sentences))
        return dict(zip(distinct, tokenize_all(distinct, tok, ascii_only), strict=True))
    return keep_tokens(sentences, ascii_only)


def keep_tokens(sentences: Collection[str], ascii_only: bool) -> dict[str, str]:
    """A table that has all these sentences."""
    from fabula.text.ptb import tokenize_all as ptb

    known = tokens_by_sentence.setdefault(ascii_only, {})
    new = list(dict.fromkeys(s for s in sentences if s not in known))
    if not new:
        return known
    if max(map(len, new)) > LONG:  # a table of their own
        every = list(dict.fromkeys(sentences))
        return dict(zip(every, ptb(every, remove_nonascii=ascii_only), strict=True))
    if len(known) + len(new) > LIMIT:  # those who have the table keep it
        known = tokens_by_sentence[ascii_only] = {}
        new = list(dict.fromkeys(sentences))
    known.update(zip(new, ptb(new, remove_nonascii=ascii_only), strict=True))
    return known


LIMIT = 1 << 17  # sentences whose tokens are cached
LONG = 1000  # characters of a sentence that is not
tokens_by_sentence: dict[bool, dict[str, str]] = {}  # for runs that read the same captions under many rules
memories: list[Callable[[], None]] = [lambda: tokens_by_sentence.clear()]  # functions that empty a cache of sentences


def forget() -> None:
    """Empty every cache of sentences, before a run on others."""
    for empty in memories:
        empty()


def __getattr__(name: str) -> object:
    if name in ("Scorer", "OneByOne", "PlacedScorer"):
        from fabula.text import _scorer

        return getattr(_scorer, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def replace_nonascii(sentence: str) -> str:
    """Every non-ASCII character replaced by one blank, as densevid_eval and SODA do."""
    return "".join(c if c < "\x80" else " " for c in sentence)
