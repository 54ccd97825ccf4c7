"""Everything a run knows, in one SQLite file: moments, frames, answers, tries that failed, outcomes.

    moments    what is annotated, in the order of the file
    frames     when the pictures of a moment were taken, and their hashes; the pictures stay in the video
    answers    by the call's key: the call, its answer, tokens, seconds and price
    attempts   tries that gave no answer, and what they cost
    outcomes   by moment and recipe: done, empty (no candidate may stand) or failed, with all that led there
    recipes    models, prompts' hashes, settings
    batches    that were sent and not yet fetched, by the tag that the endpoint knows them by too

Each answer is written the moment it comes, in a transaction of its own: a killed run loses the answers that were on
their way, and nothing else. Whatever a run knows is found here again by content, so that stopping, killing, starting
again and starting twice give the same store. One run at a time works on a store; others may look on.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabula.annotation.moments import Moment, read_line
from fabula.core.errors import InputError, shown
from fabula.data.moments import Id
from fabula.documents.document import open_document
from fabula.documents.fields import JsonDict, Source
from fabula.documents.files import parse_json
from fabula.llm import Answer, Call
from fabula.llm.answer import Attempt
from fabula.llm.batch import Sent

APPLICATION, VERSION = 0x46414241, 1  # "FABA"
FAULTS = (sqlite3.Error, UnicodeError)  # sqlite3 quotes bytes of a damaged file in its messages
PAGE = 500  # moments held at a time
NO_OUTCOME = "NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.moment = m.key AND o.recipe = ?)"
TABLES = """
CREATE TABLE moments (
    row INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, key TEXT NOT NULL,
    video TEXT NOT NULL, start REAL NOT NULL, end REAL NOT NULL, caption TEXT NOT NULL, duration REAL
);
CREATE INDEX moments_by_key ON moments (key);
CREATE TABLE frames (
    moment TEXT NOT NULL, kind TEXT NOT NULL, n INTEGER NOT NULL, time REAL NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (moment, kind, n)
) WITHOUT ROWID;
CREATE TABLE answers (
    key TEXT PRIMARY KEY, step TEXT NOT NULL, model TEXT NOT NULL, call TEXT NOT NULL, text TEXT NOT NULL,
    finish TEXT NOT NULL, tokens_in INTEGER, tokens_out INTEGER, seconds REAL NOT NULL, price REAL NOT NULL
);
CREATE INDEX answers_by_step ON answers (step, model, tokens_in, tokens_out, seconds, price);
CREATE TABLE attempts (
    row INTEGER PRIMARY KEY, key TEXT NOT NULL, step TEXT NOT NULL, model TEXT NOT NULL, kind TEXT NOT NULL,
    status INTEGER, message TEXT NOT NULL, tokens_in INTEGER, tokens_out INTEGER,
    seconds REAL NOT NULL, price REAL NOT NULL
);
CREATE TABLE outcomes (
    moment TEXT NOT NULL, recipe TEXT NOT NULL, state TEXT NOT NULL, branch TEXT, score REAL, caption TEXT,
    document TEXT NOT NULL, PRIMARY KEY (moment, recipe)
) WITHOUT ROWID;
CREATE INDEX outcomes_by_state ON outcomes (recipe, state, branch, score);
CREATE TABLE recipes (hash TEXT PRIMARY KEY, row INTEGER NOT NULL, document TEXT NOT NULL);
CREATE TABLE batches (id TEXT PRIMARY KEY, keys TEXT NOT NULL);
"""


class Store:
    """A store that is open: `with Store(path, work=True) as store`."""

    def __init__(self, path: Path, work: bool = False, asleep: bool = False) -> None:
        """`work`: to write. `asleep`: nobody writes it meanwhile, so that it can be read where disks have no locks."""
        self.path, self.lock = path, None if not work else lock_file(path)
        try:
            self.db = self.connect(work, "&immutable=1" if asleep else "")
        except FAULTS as error:
            self.unlock()
            raise explain(error, path) from None
        except BaseException:
            self.unlock()
            raise

    def connect(self, work: bool, more: str) -> sqlite3.Connection:
        if not work and not self.path.is_file():
            raise InputError("no such store", file=self.path, hint="fabula annotate run makes it")
        address = self.path.absolute().as_uri() + ("" if work else f"?mode=ro{more}")
        db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=30)
        try:
            application = db.execute("PRAGMA application_id").fetchone()[0]
            tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if work and not tables:
                db.execute("PRAGMA journal_mode = WAL")
                db.executescript(
                    f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
                )
            elif (
                application != APPLICATION
                or db.execute("PRAGMA user_version").fetchone()[0] != VERSION
                or db.execute("SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone()[0]
            ):  # a view or a trigger would run somebody else's statements
                raise InputError(
                    "is no store of annotations, or of another version",
                    file=self.path,
                    hint="name another file with --store",
                )
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA cache_size = -16384")  # 16 MB
        except BaseException:
            db.close()
            raise
        return db

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.db.close()
        self.unlock()

    def unlock(self) -> None:
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """All of what is written inside, or none of it."""
        with name_faults(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.db.execute("ROLLBACK")
                raise
            self.db.execute("COMMIT")

    def change(self, statement: str, values: Sequence[object] = ()) -> None:
        with name_faults(self.path):
            self.db.execute(statement, values)

    def rows(self, question: str, values: Sequence[object] = ()) -> list[Any]:
        with name_faults(self.path):
            return self.db.execute(question, values).fetchall()

    def parse(self, text: object, what: str) -> Any:
        """A cell of JSON."""
        if not isinstance(text, str):
            raise self.damaged(text, what)
        try:
            return parse_json(text, self.path)
        except InputError as error:
            raise self.damaged(text, what, error.problem) from None

    def damaged(self, value: object, what: str, why: str = "") -> InputError:
        problem = f"{what} is {shown(value)}" + (f" ({why})" if why else "")
        return InputError(
            f"is damaged: {problem}", file=self.path, hint="bring back a copy, or name another with --store"
        )

    # moments

    def add_moments(self, moments: Iterable[Moment]) -> int:
        """Those that are not there yet; one that is there with other words is refused. Returns how many there are."""
        statement = "INSERT INTO moments (id, key, video, start, end, caption, duration) VALUES (?,?,?,?,?,?,?)"
        with self.together():
            count = self.db.execute("SELECT count(*) FROM moments").fetchone()[0]
            for m in moments:
                batch = None
                if count:
                    batch = self.db.execute("SELECT key FROM moments WHERE id = ?", (json.dumps(m.id),)).fetchone()
                if batch is not None and batch[0] != m.key:
                    raise InputError(
                        "is in the store with other words or times",
                        video=m.id,
                        noun="moment",
                        hint="a store holds one set of moments; name another with --store",
                    )
                if batch is None:
                    row = (json.dumps(m.id), m.key, m.video, m.start, m.end, m.caption, m.duration)
                    self.db.execute(statement, row)
        return self.count_moments()

    def count_moments(self, pending: str | None = None) -> int:
        """All of them; with `pending` a recipe: those without an outcome."""
        if pending is None:
            return int(self.rows("SELECT count(*) FROM moments")[0][0])
        return int(self.rows(f"SELECT count(*) FROM moments m WHERE {NO_OUTCOME}", (pending,))[0][0])

    def last_row(self) -> int:
        return int(self.rows("SELECT coalesce(max(row), 0) FROM moments")[0][0])

    def moments(self, pending: str | None = None, after: int = 0, until: int | None = None) -> Iterator[Moment]:
        """In their order, a page at a time; with `pending` a recipe: those without an outcome, each content once.

        `after` and `until` are rows."""
        where = "row > ?" + (f" AND row <= {int(until)}" if until is not None else "")
        if pending is not None:
            twin = "SELECT 1 FROM moments n WHERE n.key = m.key AND n.row < m.row"
            where += f" AND {NO_OUTCOME} AND NOT EXISTS ({twin})"
        names = "row, id, video, start, end, caption, duration"
        question = f"SELECT {names} FROM moments m WHERE {where} ORDER BY row LIMIT {PAGE}"
        row = after
        while page := self.rows(question, (row,) if pending is None else (row, pending)):
            row = page[-1][0]
            for columns in page:
                yield self.read_moment(*columns)

    def read_moment(self, row: int, *cells: object) -> Moment:
        """A row of the table; a store that somebody else changed may hold anything."""
        id, video, start, end, caption, duration = cells
        entry = {
            "desc_id": self.parse(id, f"moments row {row} id"),
            "video": video,
            "time": [start, end],
            "cog_desc": caption,
            "duration": duration,
        }
        return read_line(entry, f"moments row {row}", Source(open_document(self.path), noun="moment"))

    def without(self, recipe: str, moments: Iterable[Moment]) -> Iterator[Moment]:
        """Those of these moments that have no outcome yet."""
        for moment in moments:
            if not self.rows("SELECT 1 FROM outcomes WHERE moment = ? AND recipe = ?", (moment.key, recipe)):
                yield moment

    # frames

    def get_frames(self, moment: str) -> dict[str, list[tuple[float, str]]]:
        found: dict[str, list[tuple[float, str]]] = {}
        for kind, time, digest in self.rows(
            "SELECT kind, time, digest FROM frames WHERE moment = ? ORDER BY kind, n", (moment,)
        ):
            found.setdefault(kind, []).append((time, digest))
        return found

    def put_frames(self, moment: str, frames: dict[str, list[tuple[float, str]]]) -> None:
        with self.together():
            self.db.executemany("DELETE FROM frames WHERE moment = ? AND kind = ?", [(moment, kind) for kind in frames])
            rows = [
                (moment, kind, n, t, d)
                for kind, frames_of_kind in frames.items()
                for n, (t, d) in enumerate(frames_of_kind)
            ]
            self.db.executemany("INSERT INTO frames VALUES (?,?,?,?,?)", rows)

    # answers

    def get(self, key: str) -> Answer | None:
        found = self.rows("SELECT text, finish, tokens_in, tokens_out, seconds FROM answers WHERE key = ?", (key,))
        if not found:
            return None
        (text, finish, tokens_in, tokens_out, seconds) = found[0]
        counts = [count is None or isinstance(count, int) for count in (tokens_in, tokens_out)]
        if not (isinstance(text, str) and isinstance(finish, str) and isinstance(seconds, int | float) and all(counts)):
            raise self.damaged(found[0], f"answer {key}")
        return Answer(text, finish, tokens_in, tokens_out, seconds)

    def put(self, call: Call, answer: Answer, step: str, price: float) -> None:
        text = json.dumps(call.to_dict(), ensure_ascii=False, sort_keys=True)
        row = (call.key, step, call.model, text, *answer.to_dict().values(), price)
        self.change("INSERT OR IGNORE INTO answers VALUES (?,?,?,?,?,?,?,?,?,?)", row)

    def note(self, attempt: Attempt, step: str, model: str, price: float) -> None:
        a = attempt
        row = (a.key, step, model, a.kind, a.status, a.message, a.tokens_in, a.tokens_out, a.seconds, price)
        names = "key, step, model, kind, status, message, tokens_in, tokens_out, seconds, price"
        self.change(f"INSERT INTO attempts ({names}) VALUES (?,?,?,?,?,?,?,?,?,?)", row)

    def spent(self) -> float:
        """Money, on answers and on tries that failed."""
        question = "SELECT total(price) FROM answers UNION ALL SELECT total(price) FROM attempts"
        return float(sum(row[0] for row in self.rows(question)))

    # batches

    def batches(self) -> list[Sent]:
        """Those that were sent, or about to be, and whose answers are not all here."""
        found = []
        for tag, text in self.rows("SELECT id, keys FROM batches"):
            document = self.parse(text, "batches")
            keys = document.get("keys") if isinstance(document, dict) else None
            if not isinstance(keys, list) or not all(
                isinstance(k, str) for k in (tag, document.get("batch") or "", *keys)
            ):
                raise self.damaged(text, "batches")
            found.append(Sent(tag, tuple(keys), document.get("batch")))
        return found

    def put_batch(self, sent: Sent) -> None:
        text = json.dumps({"batch": sent.id, "keys": sent.keys})
        self.change("INSERT OR REPLACE INTO batches VALUES (?,?)", (sent.tag, text))

    def drop_batch(self, tag: str) -> None:
        self.change("DELETE FROM batches WHERE id = ?", (tag,))

    # outcomes

    def put_recipe(self, hash: str, document: JsonDict) -> None:
        row = (hash, json.dumps(document, sort_keys=True))
        self.change("INSERT OR IGNORE INTO recipes SELECT ?, count(*), ? FROM recipes", row)

    def recipes(self) -> dict[str, JsonDict]:
        """Those that were run, the first first."""
        found = {}
        for hash, text in self.rows("SELECT hash, document FROM recipes ORDER BY row"):
            if not isinstance(hash, str):
                raise self.damaged(hash, "recipe")
            found[hash] = check_recipe(
                self.parse(text, f"recipe {hash}"), f"recipe {hash}", Source(open_document(self.path))
            )
        return found

    def find_recipe(self, begins: str | None) -> str:
        """The recipe whose hash begins so; without that, the only one."""
        known = list(self.recipes())
        found = [hash for hash in known if begins is None or hash.startswith(begins)]
        if len(found) != 1:
            there = ", ".join(known) or "none"
            raise InputError(
                "no recipe was run" if not known else f"{len(found)} recipes" + (f" {shown(begins)}" if begins else ""),
                file=self.path,
                hint=f"there are: {there}; name one with --recipe",
            )
        return found[0]

    def put_outcome(self, moment: str, recipe: str, state: str, document: JsonDict) -> None:
        chosen = document.get("chosen") or {}
        text = json.dumps(document, ensure_ascii=False, sort_keys=True)
        row = (moment, recipe, state, chosen.get("branch"), chosen.get("score"), chosen.get("text"), text)
        self.change("INSERT OR REPLACE INTO outcomes VALUES (?,?,?,?,?,?,?)", row)

    def forget_outcomes(self, recipe: str, states: Sequence[str]) -> int:
        """So that a run takes them up again; their answers stay."""
        marks = ",".join("?" * len(states))
        count = self.rows(f"SELECT count(*) FROM outcomes WHERE recipe = ? AND state IN ({marks})", (recipe, *states))[
            0
        ][0]
        self.change(f"DELETE FROM outcomes WHERE recipe = ? AND state IN ({marks})", (recipe, *states))
        return int(count)

    def outcomes(self, recipe: str) -> Iterator[tuple[Moment, str | None, JsonDict]]:
        """Every moment with its state and outcome; None where it has none yet."""
        question = "SELECT state, document FROM outcomes WHERE moment = ? AND recipe = ?"
        for moment in self.moments():
            found = self.rows(question, (moment.key, recipe))
            yield (moment, *self.read_outcome(moment, *found[0])) if found else (moment, None, {})

    def read_outcome(self, moment: Moment, state: object, text: object) -> tuple[str, JsonDict]:
        """State and document of a moment, checked as far as others take them for granted."""
        if not isinstance(state, str):
            raise self.damaged(state, f"outcome of {shown(moment.id)}")
        source = Source(open_document(self.path), noun="moment")
        return state, check_outcome(self.parse(text, "outcome"), state == "done", moment.id, source)

    def states(self, recipe: str) -> dict[str, int]:
        question = "SELECT state, count(*) FROM outcomes WHERE recipe = ? GROUP BY state"
        found = {state: int(count) for state, count in self.rows(question, (recipe,))}
        if other := [state for state in found if not isinstance(state, str)]:
            raise self.damaged(other[0], "outcomes")
        return found

    def take_over(self, other: Path) -> None:
        """Whatever another store of the same moments has beyond this one: what a worker did."""
        with name_faults(other):
            self.db.execute("ATTACH DATABASE ? AS other", (str(other),))
            try:
                with self.together():
                    for table in ("frames", "answers", "outcomes"):
                        self.db.execute(f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table}")
                    names = "key, step, model, kind, status, message, tokens_in, tokens_out, seconds, price"
                    self.db.execute(f"INSERT INTO attempts ({names}) SELECT {names} FROM other.attempts")
            finally:
                self.db.execute("DETACH DATABASE other")


def check_recipe(document: object, at: str, source: Source) -> JsonDict:
    recipe = source.mapping(document, at)
    for name in ("models", "prompts"):
        for key, value in source.mapping(source.entry(recipe, name, None, at), f"{at} {name}").items():
            source.text(value, f"{at} {name} {shown(key)}")
    for name in ("keyframes", "video_frames"):
        source.number(source.entry(recipe, name, None, at), f"{at} {name}")
    source.text(source.entry(recipe, "scorer", None, at), f"{at} scorer")
    source.entry(recipe, "blind", None, at)
    if evaluator := recipe.get("evaluator"):
        inner = source.mapping(evaluator, f"{at} evaluator")
        for feature in source.listing(source.entry(inner, "features", None, at), f"{at} features"):
            source.text(feature, f"{at} features")
        for name in ("weights", "simulated"):
            source.entry(inner, name, None, at)
    return recipe


def check_outcome(document: object, done: bool, id: Id, source: Source) -> JsonDict:
    outcome = source.mapping(document, "outcome", id)
    if done:
        chosen = source.mapping(source.entry(outcome, "chosen", id), "chosen", id)
        source.caption(source.entry(chosen, "text", id), "chosen text", id)
        source.text(source.entry(chosen, "branch", id), "chosen branch", id)
        if (score := source.entry(chosen, "score", id)) is not None:
            source.number(score, "chosen score", id)
    source.listing(outcome.get("candidates") or [], "candidates", id)
    for dropped in source.listing(outcome.get("dropped") or [], "dropped", id):
        source.text(source.entry(source.mapping(dropped, "dropped", id), "why", id), "dropped why", id)
    for audit in source.listing(outcome.get("audits") or [], "audits", id):
        source.text(source.entry(source.mapping(audit, "audits", id), "step", id), "audits step", id)
        for what in source.listing(source.entry(audit, "repaired", id), "audits repaired", id):
            source.text(what, "audits repaired", id)
    return outcome


def lock_file(path: Path) -> int | None:
    """One run at a time works on a store."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)  # SQLite's files beside it have its rights
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", file=path, hint="check the folder, or name another with --store"
        ) from None
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError("another run is using it", file=path, hint="wait for it, or stop it") from None
    except (ImportError, OSError):
        pass  # Windows, a disk without locks
    return descriptor


@contextmanager
def name_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except FAULTS as error:
        raise explain(error, path) from None


def explain(error: Exception, path: Path) -> InputError:
    why = " ".join(str(error).split())[:120]
    if "full" in why:
        return InputError(
            f"cannot be written ({why})", file=path, hint="free disk space, then run the same command again to resume"
        )
    return InputError(f"cannot be used as a store ({why})", file=path, hint="name another with --store")
