"""What every caption metric asks of its input: a candidate is a str, the references are a non-empty list of str."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from fabula.core.errors import InputError, shown


def check_sentences(texts: Sequence[str], what: str, *, item: object = None) -> Sequence[str]:
    """`texts` itself if it is a list of str; else an InputError that names the item and the place in the list."""
    place = f"{_item_prefix(item)}{what}"
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InputError(
            f"seen {shown(texts)}, expected a list of str", field=place, hint="put the sentences into a list"
        )
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"seen {shown(text)}, expected a str", field=f"{place}[{i}]")
    return texts


def check_references(texts: Sequence[str], *, item: object = None) -> Sequence[str]:
    """The same for the references of one item, of which there must be at least one."""
    if not check_sentences(texts, "references", item=item):
        hint = "give at least one sentence ('' counts as one)"
        raise InputError("the list is empty", field=f"{_item_prefix(item)}references", hint=hint)
    return texts


def check_pair(candidate: str, texts: Sequence[str], *, item: object = None) -> None:
    """Refuse a candidate that is not a str, and references that are none; an empty candidate is fine."""
    if not isinstance(candidate, str):
        raise InputError(f"seen {shown(candidate)}, expected a str", field=f"{_item_prefix(item)}candidate")
    check_references(texts, item=item)


def check_pairs(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """`check_pair` of many; types alone say most of the time that all is well."""
    if len(candidates) != len(references):
        raise InputError(f"{len(candidates)} candidates, but {len(references)} lists of references")
    lists = set(map(type, references)) <= {list, tuple} and all(references)
    if lists and set(map(type, candidates)) <= {str} and set(map(type, chain.from_iterable(references))) <= {str}:
        return
    for k, (candidate, texts) in enumerate(zip(candidates, references, strict=True)):
        check_pair(candidate, texts, item=k)


def _item_prefix(item: object) -> str:
    return "" if item is None else f"item {item}: "
