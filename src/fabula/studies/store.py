"""A study in one SQLite file: its plan, its booklets and its answers.

    study     the plan, the items, and whether the raters are simulated; written once
    raters    a number, the hash of a token, a code for the end
    slots     each rater's booklet
    events    the first time that something happened at a place: shown, fetched, played, skipped; at place -1 consent,
              and "id TEXT", where the plan asks raters for an id
    answers   one row an answer; a changed mind is a further row, and the last one counts

Rows are only ever added: the file itself refuses to change or delete one. Each answer is on the disk before it is
acknowledged (synchronous = FULL), events soon after: a power cut may cost a rater a second look at a clip. An answer
carries a nonce of the page that sent it: sent twice, it is written once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from fabula.core import atomic
from fabula.core.errors import InputError, SpecError, shown
from fabula.documents.fields import JsonDict
from fabula.documents.files import name_write_failures
from fabula.studies.design import Design, Question, Slot
from fabula.studies.items import Item, check_expect
from fabula.studies.plan import Plan
from fabula.web.tokens import hash_token, make_code, make_token

T = TypeVar("T")
APPLICATION, VERSION = 0x46414253, 1  # "FABS"
FILE, LINKS = "study.sqlite", "links.csv"
ID = "id "  # before a rater's answer to the plan's question for an id
TABLES = """
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE raters (rater INTEGER PRIMARY KEY, token TEXT UNIQUE NOT NULL, code TEXT NOT NULL);
CREATE TABLE slots (
    rater INTEGER NOT NULL, place INTEGER NOT NULL, role TEXT NOT NULL, question TEXT NOT NULL, item INTEGER NOT NULL,
    shown TEXT NOT NULL, expect TEXT, PRIMARY KEY (rater, place)
) WITHOUT ROWID;
CREATE TABLE events (
    row INTEGER PRIMARY KEY AUTOINCREMENT, rater INTEGER NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL,
    at REAL NOT NULL, UNIQUE (rater, place, kind)
);
CREATE TABLE answers (
    row INTEGER PRIMARY KEY AUTOINCREMENT, rater INTEGER NOT NULL, place INTEGER NOT NULL, nonce TEXT NOT NULL,
    answer TEXT NOT NULL, seconds REAL NOT NULL, at REAL NOT NULL, UNIQUE (rater, nonce)
);
CREATE INDEX answers_by_place ON answers (rater, place, row);
"""
ANSWER = "INSERT INTO answers (rater, place, nonce, answer, seconds, at) VALUES (?, ?, ?, ?, ?, ?)"
TABLES += "".join(
    f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'rows are only ever added'); END;\n"
    for table in ("events", "answers", "study", "raters", "slots")
    for verb in ("UPDATE", "DELETE")
)


@dataclass(frozen=True, slots=True)
class Row:
    """An answer as it was written."""

    row: int
    rater: int
    place: int
    answer: dict[str, int]
    seconds: float  # from the clip's end
    at: float


class RefusedError(Exception):
    """An answer that cannot be taken; `wait` seconds may mend it."""

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.wait = wait


def find_store(path: Path) -> Path:
    """STUDY is its folder, or the file in it."""
    found = path / FILE if path.is_dir() else path
    if not found.is_file():
        raise InputError("no such study", file=path, hint="fabula study new PLAN.toml --out STUDY makes one")
    return found


def describe(plan: Plan, design: Design) -> tuple[str, dict[str, str]]:
    """What is written once, and the study's id: the hash of all of it."""
    document = {
        "plan": plan.to_dict(),
        "systems": list(design.systems),
        "items": [item.to_dict() for item in design.items],
        "questions": [[q.id, q.item, list(q.systems)] for q in design.questions],
    }
    texts = {key: json.dumps(value, ensure_ascii=False, sort_keys=True) for key, value in document.items()}
    booklets = json.dumps([[s.rater, s.place, s.role, s.question, s.item, s.order, s.expect] for s in design.slots])
    id = hashlib.sha256(json.dumps([texts, booklets], sort_keys=True).encode("utf-8", "replace")).hexdigest()[:12]
    return id, texts


@dataclass(frozen=True, slots=True)
class NewStudy:
    """A new study: its id, and the token of each rater, which is kept nowhere else."""

    id: str
    tokens: list[str]


def check_new(folder: Path) -> None:
    if folder.exists() or folder.is_symlink():
        raise exists_already(folder)


def exists_already(folder: Path) -> InputError:
    return InputError("exists already", file=folder, hint="a study is made once; choose another --out")


def make_study(
    folder: Path, plan: Plan, design: Design, clips: Path, simulated: Iterable[Sequence[Any]] | None = None
) -> NewStudy:
    """The folder of a study, whole or not at all. `simulated`: the answers that simulated raters gave, as
    rows whose last number are the seconds since the study was made."""
    check_new(folder)
    (id, texts), now = describe(plan, design), time.time()
    tokens = [make_token() for _ in range(design.raters)]
    codes = [plan.return_code or make_code() for _ in tokens]
    texts |= {"simulated": json.dumps(simulated is not None)}
    texts |= {"id": id, "clips": os.path.realpath(clips), "made": repr(now)}
    with name_write_failures(folder), atomic.beside(folder) as place:
        staged = place / "study"
        staged.mkdir()
        (staged / FILE).touch(mode=0o600)  # codes, expected answers, answers; SQLite's files beside it have its rights
        db = sqlite3.connect(staged / FILE, isolation_level=None)
        with contextlib.closing(db):
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};")
            db.executemany("INSERT INTO study VALUES (?, ?)", texts.items())
            rows = [(n, hash_token(t), c) for n, (t, c) in enumerate(zip(tokens, codes, strict=True))]
            db.executemany("INSERT INTO raters VALUES (?, ?, ?)", rows)
            db.executemany("INSERT INTO slots VALUES (?, ?, ?, ?, ?, ?, ?)", map(pack_slot, design.slots))
            db.executemany(ANSWER, ((*row[:-1], now + row[-1]) for row in simulated or ()))
            db.execute("COMMIT")
        links = staged / LINKS
        links.touch(mode=0o600)
        lines = [f"{n + 1},/start?token={t}\n" for n, t in enumerate(tokens)]
        links.write_text("".join(["rater,link\n", *lines]), encoding="utf-8", newline="\n")
        try:
            atomic.take_new_folder_place(staged, folder)
        except FileExistsError:
            raise exists_already(folder) from None
    return NewStudy(id, tokens)


def pack_slot(s: Slot) -> tuple[object, ...]:
    expect = None if s.expect is None else json.dumps(s.expect)
    return (s.rater, s.place, s.role, s.question, s.item, json.dumps(s.order, ensure_ascii=False), expect)


def make_clock(latest: float) -> Callable[[], float]:
    """Seconds since 1970 as of now, counted on by the machine's steady clock: they go neither back nor ahead where the
    clock is set while the study is served, and never begin before what was written last."""
    begun = max(time.time(), latest) - time.monotonic()
    return lambda: begun + time.monotonic()


class Store:
    """A study that is open: `with Store(path) as store`; `work` to write answers."""

    def __init__(self, path: Path, work: bool = False, clock: Callable[[], float] | None = None) -> None:
        self.path, self.work = find_store(path), work
        self.lock = threading.RLock()
        self.lock_file = hold(self.path.with_name("serve.lock"), self.path) if work else None
        try:
            if work:
                with contextlib.suppress(OSError):
                    self.path.chmod(0o600)  # of studies that were made when it was open to others
            self.db = self.connect()
            self.read_plan()
            self.clock = clock or make_clock(self.latest_time())
        except BaseException:
            self.close()
            raise

    def connect(self) -> sqlite3.Connection:
        address = self.path.absolute().as_uri() + ("" if self.work else "?mode=ro")
        try:
            db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=30)
            pragmas = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            if pragmas != [APPLICATION, VERSION]:
                db.close()
                raise InputError(
                    "is no study, or of another version", file=self.path, hint="fabula study new makes one"
                )
        except sqlite3.Error as error:
            raise InputError(
                f"cannot be used as a study ({error})", file=self.path, hint="take a backup of it"
            ) from None
        return db

    def read_plan(self) -> None:
        with self.name_damage():
            texts = dict(self.rows("SELECT key, value FROM study"))
            self.id, self.clips = as_text(texts["id"]), Path(as_text(texts["clips"]))
            self.plan = Plan.of(json.loads(texts["plan"]))
            self.form = self.plan.make_form()
            self.systems: tuple[str, ...] = tuple(map(as_text, as_kind(json.loads(texts["systems"]), list)))
            self.items = [read_item(entry) for entry in json.loads(texts["items"])]
            if not all(set(item.descriptions) == set(self.systems) for item in self.items):
                raise ValueError("items and systems differ")
            self.questions = {q[0]: Question(q[0], q[1], tuple(q[2])) for q in json.loads(texts["questions"])}
            self.simulated = as_kind(json.loads(texts["simulated"]), bool)
            self.created = as_seconds(float(texts["made"]))
            self.booklet = {(slot.rater, slot.place): slot for slot in self.slots()}
            if set(self.tokens().values()) != {rater for rater, _ in self.booklet}:
                raise ValueError("raters and booklets differ")
            # who serves is the only one who writes, and need not ask the file what it wrote
            question = "SELECT rater, place, kind, at FROM events"
            self.known = {(r, p, as_text(kind)): as_seconds(at) for r, p, kind, at in self.rows(question)}
        self.last = {(row.rater, row.place): row.answer for row in self.answers()}
        self.upto: dict[int, int] = {}  # places that are done, from the first on

    @contextlib.contextmanager
    def name_damage(self) -> Iterator[None]:
        """An error for content that Fabula cannot have written; it names the file."""
        try:
            yield
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError, SpecError) as error:
            why = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"is not whole ({why})", file=self.path, hint="take a backup of it") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
        if self.lock_file is not None:
            os.close(self.lock_file)
            self.lock_file = None

    def rows(self, question: str, values: Sequence[object] = ()) -> list[Any]:
        with self.lock:
            try:
                return self.db.execute(question, values).fetchall()
            except sqlite3.Error as error:
                raise InputError(f"cannot be read ({error})", file=self.path, hint="take a backup of it") from None

    @contextlib.contextmanager
    def together(self, sure: bool = True) -> Iterator[None]:
        """All of what is written inside, or none of it; `sure`: on the disk before it is over."""
        with self.lock:
            self.db.execute(f"PRAGMA synchronous = {'FULL' if sure else 'NORMAL'}")
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:  # a full disk may have ended it
                    with contextlib.suppress(sqlite3.Error):
                        self.db.execute("ROLLBACK")
                raise

    # who and what

    def tokens(self) -> dict[str, int]:
        """Hash of a token → rater."""
        with self.name_damage():
            return {as_text(token): rater for rater, token in self.rows("SELECT rater, token FROM raters")}

    def code(self, rater: int) -> str:
        with self.name_damage():
            return as_text(self.rows("SELECT code FROM raters WHERE rater = ?", (rater,))[0][0])

    def rater_id(self, rater: int) -> str | None:
        """What the rater answered to the plan's question for an id."""
        found = [kind for (r, place, kind) in self.known if r == rater and place == -1 and kind.startswith(ID)]
        return found[-1].removeprefix(ID) if found else None

    def slots(self, rater: int | None = None) -> list[Slot]:
        where, values = ("", ()) if rater is None else (" WHERE rater = ?", (rater,))
        question = f"SELECT rater, place, role, question, item, shown, expect FROM slots{where} ORDER BY rater, place"
        with self.name_damage():
            return [
                self.check_slot(
                    Slot(r, p, role, q, item, tuple(json.loads(order)), None if expect is None else json.loads(expect))
                )
                for r, p, role, q, item, order, expect in self.rows(question, values)
            ]

    def check_slot(self, slot: Slot) -> Slot:
        """A place that can be shown and judged."""
        place = f"place {slot.place} of rater {slot.rater}"
        if type(slot.item) is not int or not 0 <= slot.item < len(self.items):
            raise ValueError(f"{place}: item {shown(slot.item)}")
        item = self.items[slot.item]
        if not slot.order or not all(system in item.descriptions for system in slot.order):
            raise ValueError(f"{place}: systems {shown(slot.order)}")
        if slot.role == "question" and slot.question not in self.questions:
            raise ValueError(f"{place}: question {shown(slot.question)}")
        if slot.role == "check":
            self.form.check(slot.expect, len(slot.order))
        elif slot.role == "gold":
            try:
                check_expect(replace(item, expect=as_kind(slot.expect, dict)), self.path, self.systems, self.form)
            except InputError as error:
                raise ValueError(f"{place}: {error.problem}") from None
        elif slot.role != "question":
            raise ValueError(f"{place}: role {shown(slot.role)}")
        return slot

    # events

    def note(self, rater: int, place: int, kind: str) -> float:
        """When it first happened; now, if it never did."""
        with self.lock:
            earlier = self.when(rater, place, kind)
            if earlier is not None:
                return earlier
            now = self.clock()
            with self.together(sure=False):
                values = (rater, place, kind, now)
                self.db.execute("INSERT INTO events (rater, place, kind, at) VALUES (?, ?, ?, ?)", values)
            self.known[rater, place, kind] = now
            return now

    def when(self, rater: int, place: int, kind: str) -> float | None:
        return self.known.get((rater, place, kind))

    def events(self, kind: str) -> dict[tuple[int, int], float]:
        return {(rater, place): at for (rater, place, k), at in list(self.known.items()) if k == kind}

    def latest_time(self) -> float:
        """Of all that was written."""
        return max(self.created, *self.known.values(), *(row.at for row in self.answers()), 0.0)

    # answers

    def next_place(self, rater: int) -> int:
        """The first place with neither answer nor skip; as many as there are where all is done."""
        place = self.upto.get(rater, 0)
        while (rater, place) in self.last or (rater, place, "skipped") in self.known:
            place += 1
        self.upto[rater] = place
        return place

    def latest(self, rater: int, place: int) -> dict[str, int] | None:
        return self.last.get((rater, place))

    def add(self, rater: int, place: int, nonce: str, answer: dict[str, int]) -> bool:
        """Write an answer; False where it is written already: the same nonce, or nothing changed."""
        text = json.dumps(answer, sort_keys=True)
        with self.lock:
            earlier = self.rows("SELECT place, answer FROM answers WHERE rater = ? AND nonce = ?", (rater, nonce))
            if earlier:
                if tuple(earlier[0]) != (place, text):
                    raise RefusedError("this page has sent another answer already")
                return False
            if self.latest(rater, place) == answer:
                return False
            played = self.when(rater, place, "played")
            if played is None:
                raise RefusedError("the clip was not played")
            now = self.clock()
            with self.together():
                self.db.execute(ANSWER, (rater, place, nonce, text, now - played, now))
            self.last[rater, place] = dict(answer)  # only what is on the disk is known
        return True

    def answers(self) -> list[Row]:
        """Every row ever written, in order."""
        question = "SELECT row, rater, place, answer, seconds, at FROM answers ORDER BY row"
        with self.name_damage():
            return [
                Row(n, r, p, self.check_answer(r, p, a), as_seconds(s), as_seconds(at))
                for n, r, p, a, s, at in self.rows(question)
            ]

    def check_answer(self, rater: int, place: int, text: str) -> dict[str, int]:
        """What stands in the row of an answer."""
        if (rater, place) not in self.booklet:
            raise ValueError(f"an answer at place {shown(place)} of rater {shown(rater)}")
        return self.form.check(json.loads(text), len(self.booklet[rater, place].order))

    def backup(self, target: Path) -> None:
        """A copy as of now, while others write; whole or not at all."""
        with name_write_failures(target), atomic.beside(target) as place:
            staged = place / "copy.sqlite"
            staged.touch(mode=0o600)
            try:
                with contextlib.closing(sqlite3.connect(staged)) as copy:
                    self.db.backup(copy, pages=256, sleep=0.01)
                    copy.execute("PRAGMA journal_mode = DELETE")
                    if copy.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                        raise InputError("is damaged; the copy would be too", file=self.path)
            except sqlite3.Error as error:
                raise InputError(f"cannot be copied ({error})", file=self.path, hint="try again") from None
            atomic.take_place(staged, target, private=True)


def as_kind(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise ValueError(f"saw {shown(value)}")
    return value


def as_text(value: object) -> str:
    return as_kind(value, str)


def as_seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise ValueError(f"saw {shown(value)}")
    return float(value)


def read_item(entry: JsonDict) -> Item:
    """An item as `Item.to_dict` wrote it."""
    item = Item(**entry)
    for text in (item.id, item.video, item.kind, item.clip, *item.descriptions, *item.descriptions.values()):
        as_text(text)
    if not 0 <= as_seconds(item.start) < as_seconds(item.end):
        raise ValueError(f"item {shown(item.id)}: from {item.start} to {item.end} s")
    return item


def hold(path: Path, study: Path) -> int | None:
    """One server at a time works on a study."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", file=path, hint="check the folder") from None
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError("another server is using it", file=shown(str(study)), hint="stop it first") from None
    except (ImportError, OSError):
        pass  # Windows, a disk without locks
    return descriptor
