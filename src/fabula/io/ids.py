"""Video ids of different files that mean one video: `v_x` and `x`. Reconciled with a warning that counts them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fabula.core.notes import Notes, named
from fabula.core.nouns import Corpus


def other(id: str) -> str:
    """The id with its ActivityNet prefix off, or on."""
    return id.removeprefix("v_") if id.startswith("v_") else f"v_{id}"


def reconcile(corpus: Corpus, ids: Iterable[str], notes: Notes) -> Corpus:
    """Rename the stories whose id is known only with (or without) the prefix `v_`; an id that fits as it is, stays."""
    known, stories, renamed = set(ids), {}, 0
    for id, story in corpus.items():
        twin = other(id)
        if id not in known and twin in known and twin not in corpus:
            notes.add(f"{{n}} video ids of {corpus.name} were matched with or without the prefix 'v_'", named(id))
            stories[twin], renamed = replace(story, id=twin), renamed + 1
        else:
            stories[id] = story
    return replace(corpus, stories=stories) if renamed else corpus
