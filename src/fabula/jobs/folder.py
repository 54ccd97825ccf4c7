"""A work folder holds all there is to know of a run; every file in it is written whole or not at all.

    manifest.json     the fingerprint: what was read and how; a run over anything else is refused

What else lies in it is the work's own affair. A folder that holds a run is taken up again only when told so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError
from fabula.io.files import dump_json

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Folder:
    """A work folder."""

    path: Path

    def at(self, *parts: str) -> Path:
        return self.path.joinpath(*parts)

    def begin(self, inputs: dict[str, Any], plan: dict[str, Any], resume: bool) -> dict[str, Any]:
        """The plan of the run: that of the earlier one where it is resumed, for the same inputs."""
        manifest = self.at(MANIFEST)
        if manifest.exists():
            if not resume:
                hint = "say --resume to go on with it, or name another folder with --work"
                raise InputError("holds an earlier run", file=self.path, hint=hint)
            kept = load_part(manifest)
            other = sorted(k for k in {*inputs, *kept["inputs"]} if kept["inputs"].get(k) != inputs.get(k))
            if other:
                hint = "give what the run began with, or name another folder with --work"
                raise InputError(f"holds a run that differs in: {', '.join(other)}", file=self.path, hint=hint)
            return {name: kept[name] for name in plan}
        try:
            if self.path.exists() and any(not f.name.startswith(".manifest") for f in self.path.iterdir()):
                hint = "--work takes a new folder, an empty one, or that of an earlier run"
                raise InputError("is not empty and holds no earlier run", file=self.path, hint=hint)
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"cannot be used as a work folder ({error.strerror or error})"
            raise InputError(problem, file=self.path, hint="name another with --work") from None
        dump_json(manifest, {"inputs": inputs, **plan}, indent=2)
        return plan


def load_part(path: Path) -> Any:
    """A JSON file of the folder."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "every machine must see the work folder; where it is broken, name another with --work"
        raise InputError(f"cannot be read ({error})", file=path, hint=hint) from None
