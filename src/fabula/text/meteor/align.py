"""METEOR 1.5's aligner (Denkowski & Lavie 2014): which words of a candidate stand for which words of a reference.

Four matchers propose matches between spans of words, each over the whole sentences:

    0 exact       equal words                        1 stem         equal Porter2 stems
    2 synonym     a WordNet synset in common         3 paraphrase   an entry of the table, in either direction

A beam search over the reference then chooses matches that do not overlap: most words, then fewest chunks, then
smallest distance. Three habits of the published program change digits and are kept: words are compared by their
32-bit Java hash; the number of matched words is cut to an integer after each match (a one-word stem, synonym or
paraphrase match adds nothing to it); and the distance of a match that was one of several choices is booked on
the path that did not take it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from fabula.core.errors import InputError
from fabula.text.meteor.index import FUNCTION, IRREGULAR, LEMMA, Index
from fabula.text.meteor.stem import stem

BEAM = 40
CACHED = 1 << 16  # words and phrases that are looked up once
WEIGHT = (1.0, 0.5, 0.5, 0.5)  # of the modules in the search; the weights of the score are others
MOST_WORDS = 250_000  # of one text
MOST_CELLS = 25_000_000  # candidate words × reference words
MOST_MATCHES = 1_000_000  # proposed matches of one pair: the search costs up to BEAM times this

# WordNet's rules of detachment: nouns, verbs, adjectives; the first that gives a lemma wins.
DETACHMENT = [
    *[
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ],
    *[("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")],
    *[("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
]


class Match(NamedTuple):
    """`ref_words` words of the reference from `ref` on, matched by `hyp_words` words of the candidate from `hyp` on."""

    ref: int
    hyp: int
    ref_words: int
    hyp_words: int
    module: int


def java_hash(word: str) -> int:
    """String.hashCode: h = 31·h + c over the UTF-16 code units, modulo 2³²."""
    h = 0
    units = word.encode("utf-16-le")
    for k in range(0, len(units), 2):
        h = (31 * h + units[k] + 256 * units[k + 1]) & 0xFFFFFFFF
    return h


class Word(NamedTuple):
    """What the matchers ask of a word, looked up once."""

    hash: int
    number: int | None  # in the tables
    is_function: bool
    stem_hash: int
    synsets: frozenset[int]


@lru_cache(CACHED)
def read_word(word: str, index: Index) -> Word:
    number = index.words.get(word)
    is_function = number is not None and bool(index.word_flags[number] & FUNCTION)
    return Word(java_hash(word), number, is_function, java_hash(stem(word)), synsets_of(word, index))


class Phrase(NamedTuple):
    """A node of the trie: what may follow it, and what the table has for it, in the table's order and as a set."""

    children: dict[int, int]  # number of the next word → node
    targets: list[int]
    every_target: frozenset[int]


@lru_cache(CACHED)
def read_phrase(node: int, index: Index) -> Phrase:
    targets = index.target_node[index.entries(node)].tolist()
    return Phrase(index.children(node), targets, frozenset(targets))


def forget_words() -> None:
    for kept in (read_word, read_phrase):
        kept.cache_clear()


class Sentence:
    """A normalised sentence and all that the matchers ask of it, worked out once."""

    def __init__(self, text: str, index: Index) -> None:
        self.index = index
        self.words = text.split(" ") if text else []
        self.found = [read_word(word, index) for word in self.words]
        self.is_function = [word.is_function for word in self.found]
        self.functions = sum(self.is_function)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def by_hash(self) -> dict[int, list[int]]:
        return group((word.hash,) for word in self.found)

    @cached_property
    def by_stem(self) -> dict[int, list[int]]:
        return group((word.stem_hash,) for word in self.found)

    @cached_property
    def by_synset(self) -> dict[int, list[int]]:
        return group(word.synsets for word in self.found)

    @cached_property
    def phrases(self) -> list[tuple[int, int, int, Phrase]]:
        """(position, words, node) of each phrase of the table, in reading order, shortest first."""
        P, found = self.index.phrase_words, []
        numbers = [word.number for word in self.found]
        for k, number in enumerate(numbers):
            if number is None or number >= P:
                continue
            node = number
            for size, following in enumerate([*numbers[k + 1 :], None], 1):
                phrase = read_phrase(node, self.index)
                found.append((k, size, node, phrase))
                child = None if following is None else phrase.children.get(following)
                if child is None:
                    break
                node = child
        return found

    @cached_property
    def places(self) -> dict[int, list[tuple[int, int]]]:
        """Trie node → (position, words) of each place where that phrase stands."""
        places: dict[int, list[tuple[int, int]]] = {}
        for k, size, node, _ in self.phrases:
            places.setdefault(node, []).append((k, size))
        return places

    @cached_property
    def sources(self) -> list[tuple[int, int, Phrase]]:
        """(position, words) of each phrase that the table can paraphrase."""
        return [(k, size, phrase) for k, size, _, phrase in self.phrases if phrase.targets]

    def paraphrases(self, other: Sentence) -> Iterator[tuple[int, int, int, int]]:
        """(position, words) here, and those of the other sentence's phrases for which the table has these words."""
        there = other.places
        for k, size, phrase in self.sources:
            if not phrase.every_target.isdisjoint(there):
                for target in phrase.targets:
                    for at, words in there.get(target, ()):
                        yield k, size, at, words


def group(keys: Iterable[Iterable[int]]) -> dict[int, list[int]]:
    """Key → the positions that have it, ascending."""
    found: dict[int, list[int]] = {}
    for position, own in enumerate(keys):
        for key in own:
            found.setdefault(key, []).append(position)
    return found


def synsets_of(word: str, index: Index) -> frozenset[int]:
    """The synsets of a word itself and of its base form."""

    def own(word: str) -> frozenset[int]:
        number = index.words.get(word)
        if number is None:
            return frozenset()
        return frozenset(index.synset_ids[index.synset_start[number] : index.synset_start[number + 1]].tolist())

    number = index.words.get(word)
    if number is not None and index.word_flags[number] & IRREGULAR:
        return own(word) | frozenset(index.base_ids[index.base_start[number] : index.base_start[number + 1]].tolist())
    return own(word) | own(base_form(word, index))


def base_form(word: str, index: Index) -> str:
    """WordNet's detachment: the first rule whose result is a lemma; "" if none is."""
    if word.endswith("ss") or len(word) <= 2:
        return word
    for suffix, ending in DETACHMENT:
        if word.endswith(suffix):
            base = word[: -len(suffix)] + ending
            number = index.words.get(base)
            if number is not None and index.word_flags[number] & LEMMA:
                return base
    return ""


# --- the four matchers -----------------------------------------------------------------------------------------------


def propose_matches(hyp: Sentence, ref: Sentence) -> list[list[Match]]:
    """Per reference position the matches that start there, in the order in which the modules find them."""
    most = max(len(hyp), len(ref))
    if most > MOST_WORDS:
        raise InputError(f"{most} words in one text (at most {MOST_WORDS}); shorten it")
    if len(hyp) * len(ref) > MOST_CELLS:
        sides = f"{len(hyp)} × {len(ref)} words"
        raise InputError(f"{sides} are too many for METEOR's aligner (at most {MOST_CELLS}); shorten one")
    found: list[list[Match]] = [[] for _ in range(len(ref))]
    room = MOST_MATCHES
    for match in find_matches(hyp, ref):
        room -= 1
        if room < 0:
            raise InputError(
                f"more than {MOST_MATCHES} ways to match words", hint="METEOR's search would not end; shorten the text"
            )
        found[match.ref].append(match)
    return found


def find_matches(hyp: Sentence, ref: Sentence) -> Iterator[Match]:
    """Module by module: equal hashes; unequal hashes and equal stems, or a common synset; the paraphrase table."""
    for i, word in enumerate(ref.found):
        for j in hyp.by_hash.get(word.hash, ()):
            yield Match(i, j, 1, 1, 0)
    if hyp.words == ref.words:
        return
    for i, word in enumerate(ref.found):
        for j in hyp.by_stem.get(word.stem_hash, ()):
            if hyp.found[j].hash != word.hash:
                yield Match(i, j, 1, 1, 1)
    for i, word in enumerate(ref.found):
        if common := word.synsets & hyp.by_synset.keys():
            for j in sorted({j for synset in common for j in hyp.by_synset[synset]}):
                if hyp.found[j].hash != word.hash:
                    yield Match(i, j, 1, 1, 2)
    for i, size, j, hyp_size in ref.paraphrases(hyp):
        yield Match(i, j, size, hyp_size, 3)
    for j, size, i, ref_size in hyp.paraphrases(ref):
        yield Match(i, j, ref_size, size, 3)


# --- the search ------------------------------------------------------------------------------------------------------


Chosen = tuple[Match, "Chosen | None"]  # the last match, and those before it


@dataclass(slots=True)
class Path:
    """A partial alignment: what is chosen, and what the order of paths looks at."""

    used: int  # candidate words taken, as bits
    at: int = 0  # next reference word
    hyp_matches: int = 0
    ref_matches: int = 0
    chunks: int = 0
    distance: int = 0
    open_end: int = -1  # where the open chunk ends in the candidate; −1: none is open
    chosen: Chosen | None = None

    def take(self, match: Match) -> None:
        self.hyp_matches = int(self.hyp_matches + match.hyp_words * WEIGHT[match.module])
        self.ref_matches = int(self.ref_matches + match.ref_words * WEIGHT[match.module])
        if self.open_end not in (-1, match.hyp):
            self.chunks += 1
        self.open_end = match.hyp + match.hyp_words
        self.used |= _bits(match.hyp, match.hyp_words)
        self.at = match.ref + match.ref_words
        self.chosen = (match, self.chosen)

    def close_chunk(self) -> None:
        if self.open_end != -1:
            self.chunks += 1
            self.open_end = -1

    def branch(self) -> Path:
        """A copy; `copy.copy` takes ten times as long."""
        return Path(
            self.used,
            self.at,
            self.hyp_matches,
            self.ref_matches,
            self.chunks,
            self.distance,
            self.open_end,
            self.chosen,
        )


def rank(path: Path) -> tuple[int, int, int]:
    """Smaller is better."""
    return -(path.hyp_matches + path.ref_matches), path.chunks, path.distance


def align_pair(hyp: Sentence, ref: Sentence) -> list[Match]:
    """The best path's matches, in the order of the reference. Of many pairs at once: search.py."""
    return search_matches(propose_matches(hyp, ref), len(hyp), len(ref))


def search_matches(found: list[list[Match]], hyp_size: int, ref_size: int) -> list[Match]:
    fixed, ref_used, hyp_used = _fix_unrivalled(found, hyp_size, ref_size)
    queue = [Path(hyp_used)]
    for position in range(ref_size + 1):
        if len(queue) > 1:
            queue.sort(key=rank)
        following: list[Path] = []
        for path in queue[:BEAM]:
            if position == ref_size:
                path.close_chunk()
            elif position < path.at:
                pass  # inside a match
            elif match := fixed[position]:
                path.take(match)
                path.distance += abs(match.ref - match.hyp)
            elif ref_used >> position & 1:
                continue
            else:
                for match in found[position]:
                    hyp_bits, ref_bits = _bits(match.hyp, match.hyp_words), _bits(match.ref, match.ref_words)
                    if not (path.used & hyp_bits or ref_used & ref_bits):
                        branch = path.branch()
                        branch.take(match)
                        following.append(branch)
                        path.distance += abs(match.ref - match.hyp)
                path.close_chunk()
                path.at += 1
            following.append(path)
        queue = following or queue[:1]
    matches, step = [], min(queue, key=rank).chosen
    while step:
        match, step = step
        matches.append(match)
    return matches[::-1]


def _fix_unrivalled(found: list[list[Match]], hyp_size: int, ref_size: int) -> tuple[list[Match | None], int, int]:
    """Matches without a rival: the only one at their start, all of whose words no other match covers."""
    hyp_cover, ref_cover = [0] * hyp_size, [0] * ref_size
    for matches in found:
        for match in matches:
            for i in range(match.ref, match.ref + match.ref_words):
                ref_cover[i] += 1
            for j in range(match.hyp, match.hyp + match.hyp_words):
                hyp_cover[j] += 1
    fixed: list[Match | None] = [None] * ref_size
    ref_used = hyp_used = 0
    for i, matches in enumerate(found):
        if len(matches) == 1:
            match = matches[0]
            alone = all(cover == 1 for cover in ref_cover[match.ref : match.ref + match.ref_words])
            if alone and all(cover == 1 for cover in hyp_cover[match.hyp : match.hyp + match.hyp_words]):
                fixed[i] = match
                ref_used |= _bits(match.ref, match.ref_words)
                hyp_used |= _bits(match.hyp, match.hyp_words)
    return fixed, ref_used, hyp_used


def _bits(start: int, size: int) -> int:
    return ((1 << size) - 1) << start
