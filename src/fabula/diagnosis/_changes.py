"""Ways to spoil a reference: each takes a story and chance, and gives the spoiled story, or None where it cannot.

Identities (Raajesh et al., CVPR 2024, Table 1; persons are P1, P2, …, renumbered by first mention afterwards):

swap ids    some mentions of persons who are mentioned twice or more (any number of mentions) name another person
add id      one such mention names a person who does not occur
remove id   the only mention of a person names another one

The story:

shuffle     captions change places; segments stay
split       half the events fall in two, in time and in words
merge       half the pairs of neighbours become one event, their captions joined
shift       every event moves by a quarter of its length, all in one direction
truncate    the story ends after half its events
duplicate   half the events are told twice
paraphrase  a quarter of the content words give way to a synonym (sharing most synsets in METEOR's tables)

And what evaluators with a judge or an encoder are known not to notice, made when asked for:

junk        half as many events again, about nothing that is shown, after the story
unrelated   every caption is about something else; segments stay
silence     of every other story nothing is told
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from fabula.data.stories import Event, Segment, Story
from fabula.text.meteor.index import FUNCTION, LEMMA, open_index

PERSON = re.compile(r"\bP(\d+)\b")
WORD = re.compile(r"[A-Za-z]+")
MOVED = 0.25  # of its length
REPLACED = 0.25  # of the content words that have a synonym

Chance = np.random.Generator
Change = Callable[[Story, Chance], Story | None]


def renumber_persons(story: Story) -> Story:
    """Persons renumbered by first mention: P4 carries P3 → P1 carries P2."""
    names: dict[str, str] = {}
    for event in story.events:
        for name in PERSON.findall(event.caption or ""):
            names.setdefault(name, f"P{len(names) + 1}")
    return replace_captions(story, [PERSON.sub(lambda m: names[m.group(1)], e.caption or "") for e in story.events])


def replace_captions(story: Story, captions: list[str]) -> Story:
    """The same segments, other words."""
    return replace(story, events=tuple(replace(e, caption=c) for e, c in zip(story.events, captions, strict=True)))


# --- identities ------------------------------------------------------------------------------------------------------


def find_mentions(story: Story) -> list[str]:
    """Who is mentioned, one entry a mention, in the order of the story."""
    return [m.group() for e in story.events for m in PERSON.finditer(e.caption or "")]


def name_mentions(story: Story, names: list[str]) -> Story:
    """The story with these persons at its mentions."""
    next_names = iter(names)
    return renumber_persons(
        replace_captions(story, [PERSON.sub(lambda m: next(next_names), e.caption or "") for e in story.events])
    )


def swap_ids(story: Story, chance: Chance) -> Story | None:
    names = find_mentions(story)
    often = Counter(names)
    places = [i for i, name in enumerate(names) if often[name] > 1]
    if not places or len(often) < 2:
        return None
    for i in chance.choice(places, size=int(chance.integers(1, len(places) + 1)), replace=False):
        names[i] = str(chance.choice([n for n in sorted(often) if n != names[i]]))
    return name_mentions(story, names)


def add_id(story: Story, chance: Chance) -> Story | None:
    names = find_mentions(story)
    often = Counter(names)
    places = [i for i, name in enumerate(names) if often[name] > 1]
    if not places:
        return None
    names[int(chance.choice(places))] = next(f"P{k}" for k in range(1, len(often) + 2) if f"P{k}" not in often)
    return name_mentions(story, names)


def remove_id(story: Story, chance: Chance) -> Story | None:
    names = find_mentions(story)
    often = Counter(names)
    places = [i for i, name in enumerate(names) if often[name] == 1]
    if not places or len(often) < 2:
        return None
    i = int(chance.choice(places))
    names[i] = str(chance.choice([n for n in sorted(often) if n != names[i]]))
    return name_mentions(story, names)


# --- the story -------------------------------------------------------------------------------------------------------


def half(n: int, chance: Chance) -> set[int]:
    """Half of n places, at least one."""
    return set(chance.choice(n, size=max(1, n // 2), replace=False).tolist())


def shuffle(story: Story, chance: Chance) -> Story | None:
    captions = [e.caption or "" for e in story.events]
    if len(set(captions)) < 2:
        return None
    order = list(range(len(captions)))
    while [captions[i] for i in order] == captions:
        order = chance.permutation(len(captions)).tolist()
    return replace_captions(story, [captions[i] for i in order])


def split(story: Story, chance: Chance) -> Story | None:
    events: list[Event] = []
    chosen = half(len(story), chance)
    for i, event in enumerate(story.events):
        words = (event.caption or "").split()
        if i not in chosen or len(words) < 2:
            events.append(event)
            continue
        s, e, k = event.segment.start, event.segment.end, len(words) // 2
        events.append(replace(event, segment=Segment(s, (s + e) / 2), caption=" ".join(words[:k])))
        events.append(replace(event, segment=Segment((s + e) / 2, e), caption=" ".join(words[k:])))
    return replace(story, events=tuple(events)) if len(events) > len(story) else None


def merge(story: Story, chance: Chance) -> Story | None:
    if len(story) < 2:
        return None
    chosen = half(len(story) // 2, chance)
    events: list[Event] = []
    for i in range(0, len(story) - 1, 2):
        a, b = story.events[i], story.events[i + 1]
        hull = Segment(min(a.segment.start, b.segment.start), max(a.segment.end, b.segment.end))
        joined = replace(a, segment=hull, caption=f"{a.caption or ''} {b.caption or ''}".strip())
        events += [joined] if i // 2 in chosen else [a, b]
    return replace(story, events=(*events, *story.events[len(story) - len(story) % 2 :]))


def shift(story: Story, chance: Chance) -> Story | None:
    sign = 1 if chance.random() < 0.5 else -1
    moved = [e.segment.length * MOVED * sign for e in story.events]
    if any(e.segment.start + d < 0 for e, d in zip(story.events, moved, strict=True)):
        moved = [abs(d) for d in moved]
    segments = [Segment(e.segment.start + d, e.segment.end + d) for e, d in zip(story.events, moved, strict=True)]
    return replace(story, events=tuple(replace(e, segment=s) for e, s in zip(story.events, segments, strict=True)))


def truncate(story: Story, chance: Chance) -> Story | None:
    return replace(story, events=story.events[: (len(story) + 1) // 2]) if len(story) > 1 else None


def duplicate(story: Story, chance: Chance) -> Story | None:
    chosen = half(len(story), chance)
    return replace(story, events=tuple(e for i, e in enumerate(story.events) for _ in range(1 + (i in chosen))))


def paraphrase(story: Story, chance: Chance) -> Story | None:
    places = [(i, m) for i, e in enumerate(story.events) for m in WORD.finditer(e.caption or "") if synonyms(m.group())]
    if not places:
        return None
    size = max(1, round(len(places) * REPLACED))
    chosen = {places[k] for k in chance.choice(len(places), size=size, replace=False)}
    captions = []
    for i, event in enumerate(story.events):
        text = event.caption or ""
        for m in sorted((m for j, m in chosen if j == i), key=lambda m: -m.start()):
            text = text[: m.start()] + str(chance.choice(synonyms(m.group()))) + text[m.end() :]
        captions.append(text)
    return replace_captions(story, captions)


@lru_cache(maxsize=1)
def lemmas() -> tuple[dict[str, list[int]], dict[int, list[str]]]:
    """METEOR's synsets by word, and words by synset; words of letters alone."""
    index = open_index()
    start, ids, flags = index.synset_start.tolist(), index.synset_ids.tolist(), index.word_flags.tolist()
    of_word = {
        w: ids[start[k] : start[k + 1]]
        for k, w in enumerate(index.words)
        if flags[k] & LEMMA and not flags[k] & FUNCTION and len(w) > 2 and w.isascii() and w.isalpha()
    }
    of_synset: dict[int, list[str]] = {}
    for w, synsets in of_word.items():
        for synset in synsets:
            of_synset.setdefault(synset, []).append(w)
    return of_word, of_synset


@lru_cache(maxsize=4096)
def synonyms(word: str) -> tuple[str, ...]:
    """The words that share most synsets with it; none for a word that is not in its base form, nor for a name."""
    of_word, of_synset = lemmas()
    shared = Counter(w for s in of_word.get(word, ()) for w in of_synset[s] if w != word)
    return tuple(sorted(w for w, n in shared.items() if n == max(shared.values())))


OTHER = (
    "The quarterly ledger lists seven unpaid invoices.",
    "Granite forms when magma cools slowly underground.",
    "Her grandfather wrote letters to a senator.",
    "The treaty was signed in a neutral country.",
    "Prime numbers thin out as they grow.",
    "An orchestra tunes to the oboe's note.",
    "Tax returns are due before midsummer.",
    "The comet will not return for centuries.",
)  # about nothing that a video is likely to show
LATER = 5.0  # seconds between a story and the junk that follows it


def junk(story: Story, chance: Chance) -> Story | None:
    end = max(e.segment.end for e in story.events)
    length = float(np.mean([abs(e.segment.length) for e in story.events])) or 1.0
    captions = chance.choice(OTHER, size=max(1, len(story) // 2)).tolist()
    starts = [end + LATER + k * length for k in range(len(captions))]
    return replace(
        story,
        events=(*story.events, *(Event(Segment(s, s + length), c) for s, c in zip(starts, captions, strict=True))),
    )


def unrelated(story: Story, chance: Chance) -> Story | None:
    return replace_captions(story, chance.choice(OTHER, size=len(story)).tolist())


def silence(story: Story, chance: Chance) -> Story | None:
    return Story(story.id, (), story.duration) if chance.random() < 0.5 else story


CHANGES: dict[str, Change] = {
    "swap ids": swap_ids,
    "add id": add_id,
    "remove id": remove_id,
    "shuffle": shuffle,
    "split": split,
    "merge": merge,
    "shift": shift,
    "truncate": truncate,
    "duplicate": duplicate,
    "paraphrase": paraphrase,
}
USUAL = tuple(CHANGES)  # unless others are asked for
CHANGES |= {"junk": junk, "unrelated": unrelated, "silence": silence}
