"""METEOR 1.5's tables as one memory-mapped file (synsets, function words, paraphrases; Denkowski & Lavie 2014).

The tables come from the installed `pycocoevalcap` wheel, which is found but never imported: its jar is read as
a zip, its paraphrase table as gzip text. They are compiled once into a file in the user's cache folder
(core/cachefile.py).

Phrases are nodes of one trie in breadth-first order. Nodes 0 … P−1 are the words of the paraphrase table; the
children of node n are the nodes trie_first[n] … trie_first[n+1]−1, sorted by their word. An entry (source
phrase → target phrase) is a node number in target_node; the entries of a source keep the order of the table.

The fingerprint that the file carries is made of the CRCs that the zip directory and the gzip trailer already hold, so
no source is read to compare it.

Nothing that the file holds is believed for its CRC alone. Of the tables that pycocoevalcap 1.2 carries it is known what
the file must hold, to the bit (KNOWN); of any others every number is checked for being in its range and order, so that
a forged index can at worst be a wrong one, of the user's own making: a folder that others may write to is refused.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import operator
import os
import struct
import sys
import threading
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabula._kernels import native
from fabula.core import cachefile
from fabula.core.cachefile import Array, cache_folder, find_distrust, make_folder, remove_leftovers, round_up
from fabula.core.errors import CacheError, InputError
from fabula.core.notes import announce

Progress = Callable[[str, float], None]  # what is being done, how far (0 … 1)

MAGIC = b"FABULA-METEOR\0\0\0"
VERSION = 2
FUNCTION, IRREGULAR, LEMMA = 1, 2, 4  # bits of word_flags
MOST_WORDS = 65536  # the trie keeps words in 16 bits
CHUNK = 1 << 24
JAR_MEMBERS = (
    "synonym/english.synsets",
    "synonym/english.exceptions",
    "function/english.words",
    "nonbreaking/english.prefixes",
)
KINDS = {  # of the sections
    "word_start": "u4", "word_bytes": "u1", "word_flags": "u1", "synset_start": "u4", "synset_ids": "u4",
    "base_start": "u4", "base_ids": "u4", "prefixes": "u1", "prefixes_number": "u1", "trie_word": "u2",
    "trie_first": "u4", "source_bits": "u8", "source_rank": "u4", "source_first": "u4", "target_node": "u4",
}  # fmt: skip
KNOWN = {  # fingerprint of tables → digest of their index: pycocoevalcap 1.2
    "0807996ceef6d37a4c005714ba948b4edebe15af627539101331af0300000000":
    "b487ad6186084e6e1997f3a9aca51f33c6b3ae69fff49de1a0e3659416a10cc9",
}  # fmt: skip
INSTALL = "install it with: pip install 'pycocoevalcap>=1.2,<2'"


@dataclass(frozen=True, slots=True)
class Tables:
    """Where METEOR's own tables are: the jar and the paraphrase text."""

    jar: Path
    paraphrases: Path

    @classmethod
    def installed(cls) -> Tables:
        """The tables of the installed pycocoevalcap."""
        spec = importlib.util.find_spec("pycocoevalcap")
        places = list(spec.submodule_search_locations or []) if spec else []
        for place in places:
            folder = Path(place) / "meteor"
            tables = cls(folder / "meteor-1.5.jar", folder / "data" / "paraphrase-en.gz")
            if tables.jar.is_file() and tables.paraphrases.is_file():
                return tables
        problem = (
            f"no METEOR tables in {places[0]}"
            if places
            else "pycocoevalcap, which carries METEOR's tables, is not installed"
        )
        raise InputError(problem, hint=INSTALL)

    def fingerprint(self) -> bytes:
        """32 bytes that change with the tables' contents; reads a few hundred bytes, not the tables."""
        try:
            with zipfile.ZipFile(self.jar) as jar:
                crcs = [jar.getinfo(member).CRC for member in JAR_MEMBERS]
            with self.paraphrases.open("rb") as file:
                file.seek(-8, os.SEEK_END)
                crc, length = struct.unpack("<II", file.read(8))
                return struct.pack("<6IQ", *crcs, crc, length, file.tell())
        except (OSError, KeyError, ValueError, zipfile.BadZipFile, struct.error) as error:
            raise InputError(f"METEOR's tables cannot be read ({error})", file=self.jar.parent, hint=INSTALL) from error


class Index:
    """The tables, ready for look-up; each section is a read-only array over the mapped file."""

    word_start: NDArray[np.uint32]  # [V+1] into word_bytes
    word_bytes: NDArray[np.uint8]  # the words, UTF-8, without separators
    word_flags: NDArray[np.uint8]  # [V] FUNCTION | IRREGULAR | LEMMA
    synset_start: NDArray[np.uint32]  # [V+1] into synset_ids
    synset_ids: NDArray[np.uint32]  # synsets of the word itself, sorted
    base_start: NDArray[np.uint32]  # [V+1] into base_ids
    base_ids: NDArray[np.uint32]  # synsets of the bases of an irregular form, sorted
    prefixes: NDArray[np.uint8]  # words that keep their dot, one per line
    prefixes_number: NDArray[np.uint8]  # words that keep it before a number, one per line
    trie_word: NDArray[np.uint16]  # [N] last word of a phrase
    trie_first: NDArray[np.uint32]  # [N+1] first child
    source_bits: NDArray[np.uint64]  # [N/64] one bit per node: is it the source of entries?
    source_rank: NDArray[np.uint32]  # [N/64] sources before this word of bits
    source_first: NDArray[np.uint32]  # [S+1] into target_node
    target_node: NDArray[np.uint32]  # [E]

    def __init__(self, path: Path, sections: dict[str, Array]) -> None:
        self.path = path
        self.sections = sections
        self.__dict__.update(sections)

    @cached_property
    def words(self) -> dict[str, int]:
        """Every word of the tables and its number."""
        text, start = self.word_bytes.tobytes(), self.word_start.tolist()
        return {text[a:b].decode(): k for k, (a, b) in enumerate(pairwise(start))}

    @cached_property
    def prefix_words(self) -> tuple[frozenset[str], frozenset[str]]:
        """(always, before a number): words whose final dot stays."""
        always, number = (
            frozenset(section.tobytes().decode().split("\n")) - {""}
            for section in (self.prefixes, self.prefixes_number)
        )
        return always, number

    @property
    def phrase_words(self) -> int:
        """P: words with a lower number are words of the paraphrase table."""
        return int(self.trie_first[0])

    def children(self, node: int) -> dict[int, int]:
        """Word → the phrase `node` followed by it."""
        a, b = int(self.trie_first[node]), int(self.trie_first[node + 1])
        return dict(zip(self.trie_word[a:b].tolist(), range(a, b), strict=True))

    def entries(self, node: int) -> slice:
        """The entries whose source is this phrase, in the table's order: places in target_node."""
        bits, bit = int(self.source_bits[node // 64]), 1 << node % 64
        if not bits & bit:
            return slice(0, 0)
        s = int(self.source_rank[node // 64]) + (bits & (bit - 1)).bit_count()
        return slice(int(self.source_first[s]), int(self.source_first[s + 1]))


# --- opening ---------------------------------------------------------------------------------------------------------

_open: dict[tuple[Tables | None, Path | None], Index] = {}
_open_lock = threading.Lock()


def open_index(tables: Tables | None = None, cache: Path | None = None, progress: Progress | None = None) -> Index:
    """The index of these tables: mapped if the cache holds it whole, else built first; kept while the process lives."""
    with _open_lock:
        key = (tables, cache or cache_folder())
        if key not in _open:
            _open[key] = load_or_build(tables or Tables.installed(), key[1] or cache_folder(), progress)
        return _open[key]


def load_or_build(tables: Tables, cache: Path, progress: Progress | None = None) -> Index:
    """One process builds, others wait; who dies leaves no lock and at most a temporary file, which is removed here."""
    fingerprint = tables.fingerprint()
    path = index_path(fingerprint, cache)
    if why := find_distrust(path):  # building it anew in every process would take seconds and hide the fault
        hint = f"make it yours alone (chmod go-w {cache}), or set FABULA_CACHE to a folder that is"
        raise CacheError(f"{why}: METEOR's tables are not read from there; {hint}")
    if index := load(path, fingerprint):
        return index
    try:
        make_folder(cache)
        with lock_file(path.with_suffix(".lock")) as alone:
            if index := load(path, fingerprint):  # somebody else built it while we waited
                return index
            remove_leftovers(path, older_than=0 if alone else 3600)
            announce(f"METEOR's tables are compiled into {path}, once; it takes {'seconds' if native() else 'minutes'}")
            with show_progress(progress) as report:
                cachefile.write(path, seal_of(fingerprint), build(tables, report))
    except OSError as error:
        raise CacheError(
            f"the METEOR tables cannot be cached in {cache} ({error.strerror or error}); "
            "make the folder writable, or set FABULA_CACHE to one that is (it needs about 50 MB)"
        ) from error
    if index := load(path, fingerprint):
        return index
    raise CacheError(
        f"{path} was just written and does not hold what it should; the disk is at fault, or the tables are not what "
        "they say they are: reinstall pycocoevalcap"
    )


def index_path(fingerprint: bytes, cache: Path) -> Path:
    return cache / f"meteor-{VERSION}-{zlib.crc32(fingerprint):08x}.index"


def find_index(tables: Tables, cache: Path) -> Index | None:
    """The index of these tables if the cache holds it whole and is nobody else's; nothing is built."""
    fingerprint = tables.fingerprint()
    path = index_path(fingerprint, cache)
    return None if find_distrust(path) else load(path, fingerprint)


def seal_of(fingerprint: bytes) -> cachefile.Seal:
    known = KNOWN.get(fingerprint.hex())
    return cachefile.Seal(MAGIC, VERSION, fingerprint, None if known is None else bytes.fromhex(known))


def load(path: Path, fingerprint: bytes) -> Index | None:
    """The index in this file, or None if there is none, it is of other tables, or it is not what it should be."""
    seal = seal_of(fingerprint)
    sections = cachefile.load(path, seal)
    if sections is None or (seal.digest is None and not is_sound(sections)):
        return None
    return Index(path, sections)


def is_sound(sections: dict[str, Array]) -> bool:
    """Whether all that will be looked up is there: no number leads out of its table, none is out of order."""
    kernels = native()
    try:
        (check_sections_python if kernels is None else kernels.meteor_check)(sections)
    except (KeyError, ValueError):
        return False
    return True


def check_sections_python(sections: dict[str, Array]) -> None:
    """The specification of the kernel's check: KeyError or ValueError for the first section that does not fit."""
    arrays = {name: sections[name] for name in KINDS}
    for name, array in arrays.items():
        require(array.dtype == np.dtype(KINDS[name]) and array.ndim == 1, name)
    t = Index(Path(), arrays)
    V, N = len(t.word_flags), len(t.trie_word)
    check_starts(t.word_start, V, len(t.word_bytes), "word_start")
    text, start = t.word_bytes.tobytes(), t.word_start.tolist()
    for a, b in pairwise(start):
        text[a:b].decode()  # UnicodeDecodeError is a ValueError
    require((t.word_flags <= FUNCTION | IRREGULAR | LEMMA).all(), "word_flags")
    for name in ("synset", "base"):
        starts, ids = arrays[f"{name}_start"], arrays[f"{name}_ids"]
        check_starts(starts, V, len(ids), f"{name}_start")
        check_rising(starts, ids, f"{name}_ids")
    for prefixes in (t.prefixes, t.prefixes_number):
        prefixes.tobytes().decode()

    # A forest in breadth-first order: the roots are the words of phrases, children come behind their parents.
    require(len(t.trie_first) == N + 1 and (P := int(t.trie_first[0])) <= min(N, V, MOST_WORDS - 1), "trie_first")
    check_starts(t.trie_first - t.trie_first[0], N, N - P, "trie_first")
    parents = np.flatnonzero(np.diff(t.trie_first))
    require((t.trie_first[parents] > parents).all(), "trie_first")
    require((t.trie_word[:P] == np.arange(P)).all() and (t.trie_word[P:] < P).all(), "trie_word")
    check_rising(t.trie_first, t.trie_word, "trie_word")

    words = -(-N // 64)
    require(len(t.source_bits) == len(t.source_rank) == words, "source_bits")
    bits = np.unpackbits(t.source_bits.view(np.uint8), bitorder="little")
    require(not bits[N:].any(), "source_bits")
    ranks = np.cumsum(bits.reshape(-1, 64).sum(axis=1, dtype=np.int64))
    require((t.source_rank[1:] == ranks[:-1]).all() and not t.source_rank[:1].any(), "source_rank")
    check_starts(t.source_first, int(bits.sum(dtype=np.int64)), len(t.target_node), "source_first")
    require(int(t.target_node.max(initial=0)) < N or not len(t.target_node), "target_node")


def require(holds: object, section: str) -> None:
    if not holds:
        raise ValueError(section)


def check_starts(start: Array, rows: int, size: int, section: str) -> None:
    """Rows of unequal length: where each of them begins in so many things."""
    require(len(start) == rows + 1 and start[0] == 0 and start[-1] == size, section)
    require((start[:-1] <= start[1:]).all(), section)  # type: ignore[operator]


def check_rising(start: Array, values: Array, section: str) -> None:
    """Each row strictly rises: neighbours may fall only where a row begins."""
    falls = np.flatnonzero(values[:-1] >= values[1:]) + 1  # type: ignore[operator]
    require(np.isin(falls, start).all(), section)


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[bool]:
    """Hold an advisory lock that dies with the process; yields whether we are really alone."""
    with path.open("ab") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        except (ImportError, OSError):  # a system or file system without locks: each builds its own, the last one wins
            yield False
        else:
            yield True


@contextlib.contextmanager
def show_progress(progress: Progress | None) -> Iterator[Progress]:
    """The caller's progress call; without one, a bar if somebody looks at stderr, otherwise silence."""
    if progress is not None or not sys.stderr.isatty():
        yield progress or (lambda what, share: None)
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("METEOR tables, once", total=1.0)
        yield lambda what, share: bar.update(task, completed=share, description=f"METEOR tables, once: {what}")


# --- building --------------------------------------------------------------------------------------------------------


def build(tables: Tables, report: Progress) -> dict[str, Array]:
    """All sections of the index."""
    report("words", 0.0)
    try:
        with zipfile.ZipFile(tables.jar) as jar:
            synsets, exceptions, function, prefixes = (jar.read(member).decode().split("\n") for member in JAR_MEMBERS)
        numbers: defaultdict[bytes, int] = defaultdict()
        numbers.default_factory = numbers.__len__  # a new word gets the next number
        sections = phrase_sections(tables.paraphrases, numbers, report)
    except (zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError, gzip.BadGzipFile) as error:
        raise InputError(
            f"METEOR's tables are damaged ({error})", file=tables.jar.parent, hint="reinstall pycocoevalcap"
        ) from error
    sections |= word_sections(numbers, synsets, exceptions, function)
    sections |= prefix_sections(prefixes)
    report("done", 1.0)
    return sections


def word_sections(
    numbers: defaultdict[bytes, int], synsets: list[str], exceptions: list[str], function: list[str]
) -> dict[str, Array]:
    """Words and synsets. A lemma of several words (`hot_dog`) is left out: no normalised word but `_` has a `_`."""
    lemmas = {
        numbers[lemma.encode()]: sorted({int(synset) for synset in ids.split()})
        for lemma, ids in zip(synsets[::2], synsets[1::2], strict=False)
        if "_" not in lemma or lemma == "_"
    }
    bases: defaultdict[int, set[int]] = defaultdict(set)
    for base, forms in zip(exceptions[::2], exceptions[1::2], strict=False):
        for form in forms.split():
            bases[numbers[form.encode()]].update(lemmas.get(numbers[base.encode()], ()))
    function_words = {numbers[word.strip().encode()] for word in function if word.strip()}

    V = len(numbers)
    flags = np.zeros(V, np.uint8)
    flags[sorted(function_words)] |= FUNCTION
    flags[sorted(bases)] |= IRREGULAR
    flags[sorted(lemmas)] |= LEMMA
    synset_start, synset_ids = pack_rows([lemmas.get(k, ()) for k in range(V)])
    base_start, base_ids = pack_rows([sorted(bases.get(k, ())) for k in range(V)])
    word_start = np.zeros(V + 1, np.uint32)
    np.cumsum([len(word) for word in numbers], out=word_start[1:])
    return {
        "word_start": word_start,
        "word_bytes": np.frombuffer(b"".join(numbers), np.uint8),
        "word_flags": flags,
        "synset_start": synset_start,
        "synset_ids": synset_ids,
        "base_start": base_start,
        "base_ids": base_ids,
    }


def pack_rows(rows: list[object]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Rows of unequal length as (start, values)."""
    start = np.zeros(len(rows) + 1, np.uint32)
    np.cumsum([len(row) for row in rows], out=start[1:])  # type: ignore[arg-type]
    return start, np.fromiter((value for row in rows for value in row), np.uint32, int(start[-1]))  # type: ignore[attr-defined]


def prefix_sections(lines: list[str]) -> dict[str, Array]:
    always: list[str] = []
    number: list[str] = []
    for line in lines:
        words = line.split()
        if words and not words[0].startswith("#"):
            (number if "#NUMERIC_ONLY#" in line else always).append(words[0])
    return {
        name: np.frombuffer("\n".join(words).encode() or b"\n", np.uint8)
        for name, words in (("prefixes", always), ("prefixes_number", number))
    }


def phrase_sections(paraphrases: Path, numbers: defaultdict[bytes, int], report: Progress) -> dict[str, Array]:
    """The trie of all phrases, and per source its targets in the table's order."""
    sources, targets = Phrases(numbers), Phrases(numbers)
    per_source: list[NDArray[np.int64]] = []
    last: bytes | None = None
    for share, lines in record_lines(paraphrases):
        report("paraphrases", 0.7 * share)
        # Neighbouring records share their source: keep it once, with the number of its records.
        all_sources = lines[1::3]
        changes = map(operator.ne, all_sources, [last, *all_sources])
        starts = np.flatnonzero(np.fromiter(changes, bool, len(all_sources))).tolist()
        counts = np.diff([*starts, len(all_sources)])
        carried = starts[0] if starts else len(all_sources)
        if carried:
            per_source[-1][-1] += carried
        if starts:
            sources.add([all_sources[k] for k in starts])
            per_source.append(counts)
        targets.add(lines[2::3])
        last = all_sources[-1]
    if len(numbers) >= MOST_WORDS:
        raise CacheError(f"{paraphrases}: {len(numbers)} distinct words; the index can hold {MOST_WORDS - 1}")

    P = len(numbers)
    source_words, source_lengths = sources.arrays()
    target_words, target_lengths = targets.arrays()
    words = np.concatenate([source_words, target_words])
    lengths = np.concatenate([source_lengths, target_lengths])
    del source_words, target_words, sources, targets
    trie_word, trie_first, nodes = build_trie(words, lengths, P, report)
    S = len(source_lengths)
    source_of_run, records_of_run = nodes[:S], np.concatenate(per_source) if per_source else np.zeros(0, np.int64)
    target_node = nodes[S:]
    if np.any(
        np.diff(source_of_run.astype(np.int64)) <= 0
    ):  # runs come in any order: sort, keeping the table's order within a source
        of_record = np.repeat(source_of_run, records_of_run)
        order = np.argsort(of_record, kind="stable")
        target_node = target_node[order]
        source_node, records = np.unique(of_record, return_counts=True)
    else:
        source_node, records = source_of_run, records_of_run
    source_first = np.zeros(len(source_node) + 1, np.uint32)
    np.cumsum(records, out=source_first[1:])
    is_source = np.zeros(round_up(len(trie_word)), np.uint8)
    is_source[source_node] = 1
    bits = np.packbits(is_source, bitorder="little").view(np.uint64)
    rank = (np.cumsum(is_source.reshape(-1, 64).sum(axis=1)) - is_source.reshape(-1, 64).sum(axis=1)).astype(np.uint32)
    return {
        "trie_word": trie_word,
        "trie_first": trie_first,
        "source_bits": bits,
        "source_rank": rank,
        "source_first": source_first,
        "target_node": target_node.astype(np.uint32),
    }


class Phrases:
    """Phrases as numbers of their words, collected block by block."""

    def __init__(self, numbers: defaultdict[bytes, int]) -> None:
        self.numbers = numbers
        self.words: list[NDArray[np.uint16]] = []
        self.lengths: list[NDArray[np.uint8]] = []

    def add(self, phrases: list[bytes]) -> None:
        words = b" ".join(phrases).split(b" ")
        signs = np.frombuffer(b"\n".join([*phrases, b""]), np.uint8)
        blanks = np.cumsum(signs == ord(" "))[signs == ord("\n")]
        self.lengths.append((np.diff(blanks, prepend=0) + 1).astype(np.uint8))
        ids = np.fromiter(map(self.numbers.__getitem__, words), np.uint32, len(words))
        self.words.append(ids.astype(np.uint16))

    def arrays(self) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
        if not self.words:
            return np.zeros(0, np.uint16), np.zeros(0, np.uint8)
        return np.concatenate(self.words), np.concatenate(self.lengths)


def record_lines(paraphrases: Path) -> Iterator[tuple[float, list[bytes]]]:
    """(share read, lines) in blocks of whole three-line records: probability, source, target."""
    size = max(1, paraphrases.stat().st_size)
    with paraphrases.open("rb") as raw, gzip.open(raw) as text:
        rest: list[bytes] = []
        tail = b""
        while block := text.read(CHUNK):
            lines = (tail + block).split(b"\n")
            tail = lines.pop()
            lines = rest + lines
            whole = len(lines) - len(lines) % 3
            rest = lines[whole:]
            if whole:
                yield raw.tell() / size, lines[:whole]
        if tail:
            rest.append(tail)
        if len(rest) == 3:
            yield 1.0, rest


def build_trie(
    words: NDArray[np.uint16], lengths: NDArray[np.uint8], P: int, report: Progress
) -> tuple[NDArray[np.uint16], NDArray[np.uint32], NDArray[np.uint32]]:
    """Number all prefixes of all phrases breadth first; returns (trie_word, trie_first, node of each phrase)."""
    start = np.zeros(len(lengths), np.uint32)
    np.cumsum(lengths[:-1], out=start[1:])
    node = words[start].astype(np.uint32)  # level 1: a word's node is its number
    trie_word = [np.arange(P, dtype=np.uint16)]
    parents = []
    N, longest = P, int(lengths.max(initial=1))
    for depth in range(1, longest):
        report("phrases", 0.7 + 0.3 * depth / longest)
        longer = np.flatnonzero(lengths > depth)
        key = (node[longer].astype(np.uint64) << np.uint64(16)) | words[start[longer] + np.uint32(depth)]
        order = np.argsort(key)
        key = key[order]
        new = np.concatenate([np.ones(1, bool), key[1:] != key[:-1]])
        rank = np.cumsum(new, dtype=np.uint32) - np.uint32(1)
        node[longer[order]] = rank + np.uint32(N)
        key = key[new]
        trie_word.append((key & np.uint64(0xFFFF)).astype(np.uint16))
        parents.append((key >> np.uint64(16)).astype(np.uint32))
        N += len(key)
    parent = np.concatenate(parents) if parents else np.zeros(0, np.uint32)
    children = np.bincount(parent, minlength=N)
    trie_first = np.zeros(N + 1, np.uint32)
    trie_first[0] = P
    trie_first[1:] = P + np.cumsum(children)
    return np.concatenate(trie_word), trie_first, node
