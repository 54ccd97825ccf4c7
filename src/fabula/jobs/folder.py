"""A work folder stores the state of a run. Every file in it is written atomically and carries a seal (a hash).

    manifest.json     the fingerprint: what was read and how; a run over anything else is refused

What else lies in it is the work's own affair. A folder that holds a run is taken up again only when told so.

A seal is a hash of what stands in a file, of its name, and of the run's fingerprint. So a file that was cut, changed,
put in another's place or brought from another run is no part of this one: it counts as absent and its work is done
again, before anything in it is looked at. It keeps out damage, not forgers: who can write here can seal as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fabula.core.atomic import remove_all_leftovers
from fabula.core.errors import InputError, shown
from fabula.documents.fields import JsonDict
from fabula.documents.files import dump_json, load_json, name_write_failures, write_bytes

MANIFEST = "manifest.json"
LAYOUT = 2  # of the files in it; a folder of another one is not gone on with
LONGEST = 1 << 20  # bytes of a manifest
CHUNK = 1 << 20  # bytes hashed at a time
SIZE = 16  # bytes of a seal
OPENING = '{"seal": "'
NAMED = 5  # differences that are named


@dataclass(frozen=True, slots=True)
class Folder:
    """A work folder; `mark` is the fingerprint that its files are sealed with."""

    path: Path
    mark: str = ""
    is_new: bool = False  # for this run; or it was there, and empty

    def at(self, *parts: str) -> Path:
        return self.path.joinpath(*parts)

    def seal(self, parts: tuple[str, ...], pieces: Iterable[bytes]) -> str:
        """The seal of a file with this name and content."""
        digest = self.hasher(parts)
        for piece in pieces:
            digest.update(piece)
        return str(digest.hexdigest())

    def hasher(self, parts: tuple[str, ...]) -> hashlib.blake2b:
        return hashlib.blake2b("\0".join((self.mark, *parts, "")).encode(), digest_size=SIZE)

    # JSON, its seal under the first key

    def put(self, document: JsonDict, *parts: str) -> None:
        """An object, which is not empty, as JSON."""
        body = json.dumps(document, separators=(",", ":"))[1:].encode("ascii")
        self.put_bytes([f'{OPENING}{self.seal(parts, [body])}", '.encode(), body], *parts)

    def put_bytes(self, pieces: Iterable[bytes], *parts: str) -> None:
        """Bytes that carry their seal with them."""
        path = self.at(*parts)
        with name_write_failures(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, pieces, sweep=False)  # `begin` has swept

    def holds(self, *parts: str) -> bool:
        """Whether the file exists and matches its seal."""
        return self.body(parts) is not None

    def body(self, parts: tuple[str, ...]) -> bytes | None:
        """What follows the seal."""
        data = read_regular(self.at(*parts))
        head = len(OPENING) + 2 * SIZE
        if data is None:
            return None
        body = data[head + 3 :]
        return body if data[: head + 3] == f'{OPENING}{self.seal(parts, [body])}", '.encode() else None

    def find(self, *parts: str) -> JsonDict | None:
        """The object that was put there; None where it is not there, or damaged."""
        body = self.body(parts)
        return None if body is None else json.loads(b"{" + body)

    def get(self, *parts: str) -> JsonDict:
        """The object that was put there."""
        found = self.find(*parts)
        if found is None:
            raise InputError(
                "is not there, or damaged",
                file=self.at(*parts),
                hint="--resume computes it again; every machine must see the work folder; "
                "or start again with another --work",
            )
        return found

    # large files, whose seals stand elsewhere

    def put_large(self, pieces: Iterable[bytes], *parts: str) -> str:
        """Write the bytes as they arrive; returns their seal."""
        digest = self.hasher(parts)

        def passing() -> Iterator[bytes]:
            for piece in pieces:
                digest.update(piece)
                yield piece

        self.put_bytes(passing(), *parts)
        return str(digest.hexdigest())

    def seal_of(self, *parts: str) -> str | None:
        """The seal of the file on disk; None if there is no file."""
        path = self.at(*parts)
        try:
            return self.seal(parts, read_chunks(path)) if path.is_file() else None
        except OSError:
            return None


def read_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as raw:
        while piece := raw.read(CHUNK):
            yield piece


def read_regular(path: Path) -> bytes | None:
    """The bytes of a regular file; None if it is not one (a pipe would block) or cannot be read."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def begin(path: Path, inputs: JsonDict, plan: dict[str, int], resume: bool) -> tuple[Folder, dict[str, int]]:
    """The folder of a run, and its plan: that of the earlier one where it is resumed, for the same inputs."""
    inputs = json.loads(json.dumps({**inputs, "layout": LAYOUT}))  # as the file has them
    manifest = path / MANIFEST
    try:
        taken = manifest.exists() or manifest.is_symlink()
        if not taken and path.exists() and any(not f.name.startswith(f".{MANIFEST}") for f in path.iterdir()):
            raise InputError(
                "is not empty and holds no earlier run",
                file=path,
                hint="--work takes a new folder, an empty one, or that of an earlier run",
            )
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be used as a work folder ({error.strerror or error})", file=path, hint="name another with --work"
        ) from None
    if taken and not resume:
        raise InputError(
            "holds an earlier run", file=path, hint="use --resume to continue it, or name another folder with --work"
        )
    if taken:
        plan = read_plan(manifest, inputs, plan)
        remove_all_leftovers(path)
    else:
        dump_json(manifest, {"inputs": inputs, **plan, "seal": fingerprint(inputs, plan)}, indent=2)
    return Folder(path, fingerprint(inputs, plan), is_new), plan


@contextlib.contextmanager
def taken_away_if_refused(folder: Folder) -> Iterator[None]:
    """Delete a new folder if an input is refused: the fixed input differs, and the folder would not accept it.

    What is wrong with the folder itself (a full disk, a damaged file) leaves it as it is, to be gone on with.
    """
    try:
        yield
    except InputError as error:
        if error.file is None or not Path(str(error.file)).absolute().is_relative_to(folder.path.absolute()):
            empty(folder)
        raise


def empty(folder: Folder) -> None:
    """Delete the files of the run, and the folder if the run created it."""
    with contextlib.suppress(OSError):
        for entry in folder.path.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        if folder.is_new:
            folder.path.rmdir()


def read_plan(manifest: Path, inputs: JsonDict, like: dict[str, int]) -> dict[str, int]:
    """The plan of an earlier run over these inputs."""
    try:
        if manifest.is_file() and manifest.stat().st_size > LONGEST:
            raise damaged(manifest, "it is too long")
        manifest_found = load_json(manifest) if manifest.is_file() else None
    except OSError as error:
        raise damaged(manifest, error.strerror or str(error)) from None
    except InputError as error:
        if error.file != manifest or (error.problem or "").startswith("is damaged"):
            raise
        raise damaged(manifest, ": ".join(filter(None, [error.field, error.problem]))) from None
    if not isinstance(manifest_found, dict) or not isinstance(there := manifest_found.get("inputs"), dict):
        raise damaged(manifest, "it says nothing of the inputs")
    other = sorted(k for k in {*inputs, *there} if k not in there or k not in inputs or there[k] != inputs[k])
    if other:
        named = [k if k in inputs or len(k) < 40 else shown(k) for k in other[:NAMED]]
        more = f" and {len(other) - NAMED} more" if len(other) > NAMED else ""
        raise InputError(
            f"holds a run that differs in: {', '.join(named)}{more}",
            file=manifest.parent,
            hint="give what the run began with, or name another folder with --work",
        )
    plan: JsonDict = {name: manifest_found.get(name) for name in like}
    if manifest_found.keys() != {"inputs", "seal", *like} or manifest_found["seal"] != fingerprint(inputs, plan):
        raise damaged(manifest, "its seal is not that of what stands in it")
    return plan


def fingerprint(inputs: JsonDict, plan: JsonDict) -> str:
    """The fingerprint of a run: its inputs, its settings and the number of parts."""
    text = json.dumps([inputs, plan], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=SIZE).hexdigest()


def damaged(manifest: Path, why: str) -> InputError:
    hint = "it identifies the run, so the folder cannot be resumed: start again with another folder (--work)"
    return InputError(f"is damaged ({why})", file=manifest, hint=f"{hint}, or delete this one")
