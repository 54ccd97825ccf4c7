"""Video ids of different files that mean one video: `v_x`, `x`, `x.mp4`. Reconciled with a warning that counts them.

A YouTube id may itself begin with `v_`: YouCook2's `v_dkYNq8G9Y` is `v_v_dkYNq8G9Y` where every id has the prefix.
So an id is tried with one prefix more and with one less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fabula.core.notes import Notes, name_id
from fabula.data.stories import Corpus

ENDINGS = (".mp4", ".mkv", ".webm", ".avi", ".mov")  # of files of videos


def respell_id(id: str) -> list[str]:
    """The other spellings of an id: its ActivityNet prefix on, and off where it has one; a file's ending on and off."""
    bare = without_ending(id)
    if bare != id:
        return [*respell_prefix(id), bare, *respell_prefix(bare)]
    spellings = respell_prefix(id)
    return [*spellings, *(name + ending for ending in ENDINGS for name in (id, *spellings))]


def respell_prefix(id: str) -> list[str]:
    return [f"v_{id}", *([id.removeprefix("v_")] if id.startswith("v_") else [])]


def without_ending(id: str) -> str:
    return next((id[: -len(ending)] for ending in ENDINGS if id.lower().endswith(ending)), id)


def reconcile(corpus: Corpus, ids: Iterable[str], notes: Notes) -> Corpus:
    """Rename the stories whose id is known in another spelling only; an id that fits as it is, stays."""
    known, stories, renamed = set(ids), {}, 0
    for id, story in corpus.items():
        if id in known:
            stories[id] = story
            continue
        free = [twin for twin in respell_id(id) if twin in known and twin not in corpus and twin not in stories]
        if len(free) == 1:
            notes.add(describe_match(corpus.name), name_id(id))
            stories[free[0]], renamed = story.renamed(free[0]), renamed + 1
        else:
            stories[id] = story
    return replace(corpus, stories=stories) if renamed else corpus


def resolve_aliases(corpus: Corpus, aliases: Mapping[str, tuple[str, ...]], notes: Notes) -> Corpus:
    """Stories under other names of videos go to all those videos that have none under their own name.

    Where several names are of one video, the later story replaces the earlier, unless it is empty.
    """
    if aliases.keys().isdisjoint(corpus):
        return corpus
    own = {id for id in corpus if id not in aliases}
    stories = {id: story for id, story in corpus.items() if id in own}
    for id, story in corpus.items():
        if id in own:
            continue
        notes.add(f"{{n}} video ids of {corpus.name} are other names of videos of the references", name_id(id))
        for video in aliases[id]:
            if video not in own and (len(story) or video not in stories):
                stories[video] = story.renamed(video)
    return replace(corpus, stories=stories)


def describe_match(name: str) -> str:
    """The note on renamed ids of a corpus."""
    return f"{{n}} video ids of {name} were matched with or without the prefix 'v_' or an ending such as .mp4"


def stem(id: str) -> str:
    """What all spellings of an id have in common: ids that can be reconciled have one stem."""
    while (bare := without_ending(id)) != id:
        id = bare
    while id.startswith("v_"):
        id = id[2:]
    return id
