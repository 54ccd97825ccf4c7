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

from collections import defaultdict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fabula.core.errors import InputError
from fabula.text.meteor.index import FUNCTION, IRREGULAR, LEMMA, Index
from fabula.text.meteor.stem import stem

BEAM = 40
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


class Sentence:
    """A normalised sentence and all that the matchers ask of it, worked out once."""

    def __init__(self, text: str, index: Index) -> None:
        self.index = index
        self.words = text.split(" ") if text else []
        self.hashes = [java_hash(word) for word in self.words]

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> list[int | None]:
        return [self.index.words.get(word) for word in self.words]

    @cached_property
    def is_function(self) -> list[bool]:
        flags = self.index.word_flags
        return [number is not None and bool(flags[number] & FUNCTION) for number in self.numbers]

    @cached_property
    def stem_hashes(self) -> list[int]:
        return [java_hash(stem(word)) for word in self.words]

    @cached_property
    def synsets(self) -> list[frozenset[int]]:
        found = {word: synsets_of(word, self.index) for word in set(self.words)}
        return [found[word] for word in self.words]

    @cached_property
    def phrases(self) -> list[list[int]]:
        """Per position the trie nodes of the phrases that start there, shortest first."""
        P, found = self.index.phrase_words, []
        for k in range(len(self)):
            nodes: list[int] = []
            for j in range(k, len(self)):
                number = self.numbers[j]
                if number is None or number >= P:
                    break
                node = self.index.child(nodes[-1], number) if nodes else number
                if node is None:
                    break
                nodes.append(node)
            found.append(nodes)
        return found

    @cached_property
    def places(self) -> dict[int, list[tuple[int, int]]]:
        """Trie node → (position, words) of each place where that phrase stands."""
        places = defaultdict(list)
        for k, nodes in enumerate(self.phrases):
            for size, node in enumerate(nodes, 1):
                places[node].append((k, size))
        return dict(places)

    @cached_property
    def sources(self) -> list[tuple[int, int, list[int]]]:
        """(position, words, targets) of each phrase that the table can paraphrase, in reading order, shortest first."""
        found = []
        for k, nodes in enumerate(self.phrases):
            for size, node in enumerate(nodes, 1):
                if entries := self.index.entries(node):
                    found.append((k, size, self.index.target_node[entries.start : entries.stop].tolist()))
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

    def propose(match: Match) -> None:
        nonlocal room
        room -= 1
        if room < 0:
            raise InputError(
                f"more than {MOST_MATCHES} ways to match words", hint="METEOR's search would not end; shorten the text"
            )
        found[match.ref].append(match)

    _propose_words(hyp, ref, 0, propose)
    if hyp.words != ref.words:
        _propose_words(hyp, ref, 1, propose)
        _propose_words(hyp, ref, 2, propose)
        for i, size, targets in ref.sources:
            for target in targets:
                for j, hyp_size in hyp.places.get(target, ()):
                    propose(Match(i, j, size, hyp_size, 3))
        for j, size, targets in hyp.sources:
            for target in targets:
                for i, ref_size in ref.places.get(target, ()):
                    propose(Match(i, j, ref_size, size, 3))
    return found


def _propose_words(hyp: Sentence, ref: Sentence, module: int, propose: Callable[[Match], None]) -> None:
    """One-word matches: equal hashes (module 0), or unequal hashes and equal stems (1) or a common synset (2)."""
    for i in range(len(ref)):
        for j in range(len(hyp)):
            same = ref.hashes[i] == hyp.hashes[j]
            if module == 0:
                matched = same
            elif module == 1:
                matched = not same and ref.stem_hashes[i] == hyp.stem_hashes[j]
            else:
                matched = not same and not ref.synsets[i].isdisjoint(hyp.synsets[j])
            if matched:
                propose(Match(i, j, 1, 1, module))


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

    @property
    def rank(self) -> tuple[int, int, int]:
        """Smaller is better."""
        return -(self.hyp_matches + self.ref_matches), self.chunks, self.distance


def align_pair(hyp: Sentence, ref: Sentence) -> list[Match]:
    """The best path's matches, in the order of the reference."""
    found = propose_matches(hyp, ref)
    fixed, ref_used, hyp_used = _fix_unrivalled(found, len(hyp), len(ref))
    queue = [Path(hyp_used)]
    for position in range(len(ref) + 1):
        queue.sort(key=lambda path: path.rank)
        following: list[Path] = []
        for path in queue[:BEAM]:
            if position == len(ref):
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
                        branch = copy(path)
                        branch.take(match)
                        following.append(branch)
                        path.distance += abs(match.ref - match.hyp)
                path.close_chunk()
                path.at += 1
            following.append(path)
        queue = following or queue[:1]
    matches, step = [], min(queue, key=lambda path: path.rank).chosen
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
