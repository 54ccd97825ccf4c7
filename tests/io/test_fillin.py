"""LSMDC fill-in files, as they are found in the wild."""

from pathlib import Path

import pytest

from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.documents.fields import Source
from fabula.documents.files import write_text
from fabula.io import identity
from fabula.io.identity import fillin


@pytest.fixture
def file(tmp_path):
    def write(text, name="x.csv"):
        (tmp_path / name).write_bytes(text.encode())
        return tmp_path / name

    return write


def test_ids_stay_as_they_are_spelled(file):
    path = file("c1\t[A],[B]\r\n\r\nc2\t_\r\n  c3 \t [1, 2] \n")
    assert fillin.read_predictions(path, Notes()) == {"c1": ("[A]", "[B]"), "c2": ("_",), "c3": ("[1", " 2]")}
    assert fillin.read_references(path, Notes())["c2"] == ()


def test_sets_with_blank_lines_and_tabs_at_the_end(file):
    assert fillin.read_grouping(file("c1\tc2\t\t\n\nc3\r\n"), Notes()) == [("c1", "c2"), ("c3",)]


def test_a_prediction_without_ids_is_noted_a_reference_is_refused(file):
    notes = Notes()
    assert fillin.read_predictions(file("c1\t\nc2\t[1]\n"), notes) == {"c1": (), "c2": ("[1]",)}
    assert "1 lines" in notes.lines()[0] and "'c1'" in notes.lines()[0]
    with pytest.raises(InputError, match=r"x\.csv: clip 'c1': no tab"):
        fillin.read_references(file("c1\nc2\t[1]\n"), Notes())


def test_more_columns_are_noted(file):
    notes = Notes()
    assert fillin.read_predictions(file("c1\t[1]\t0.9\n"), notes) == {"c1": ("[1]",)}
    assert "more than two columns" in notes.lines()[0]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("c1\t[1]\nc1\t[2]\n", ["clip 'c1'", "line 2", "stands twice"]),
        ("c1,[1]\nc2,[2]\n", ["no tab in any line", "a line is: clip, tab, ids"]),
    ],
)
def test_bad_files_are_named(file, text, parts):
    with pytest.raises(InputError) as caught:
        fillin.read_predictions(file(text), Notes())
    assert all(part in str(caught.value) for part in ("x.csv", *parts))


def test_a_clip_belongs_to_one_set(file):
    with pytest.raises(InputError, match="clip 'c1': line 2: this clip stands twice"):
        fillin.read_grouping(file("c1\tc2\nc1\n"), Notes())


def test_written_as_the_evaluator_reads_it(tmp_path):
    labels = {"c1": ("0", "1"), "c2": ()}
    write_text(tmp_path / "x.csv", fillin.write_labels(labels, Source(tmp_path)))
    assert (tmp_path / "x.csv").read_text() == "c1\t[0],[1]\nc2\t_\n"
    assert fillin.read_references(tmp_path / "x.csv", Notes()) == {"c1": ("[0]", "[1]"), "c2": ()}


def test_clips_out_of_their_order():
    assert fillin.find_misplaced("abc", "abc") == []
    assert fillin.find_misplaced("abc", "axbc") == []
    assert fillin.find_misplaced("abc", "bac") == ["b", "a"]


def joined(truth, given, sets):
    notes = Notes()
    files = tuple(map(Path, ("refs.csv", "preds.csv", "sets.csv")))
    return fillin.join_labels(truth, given, sets, files, notes), notes.lines()


def test_what_meets_and_what_does_not():
    truth = {"a": ("1",), "b": ("1", "2"), "c": (), "d": ("3",)}
    found, notes = joined(truth, {"b": ("1", "1"), "a": ("2",), "x": ("1",)}, [("a", "b"), ("c",)])
    assert [[(c.id, c.truth, c.given) for c in s.clips] for s in found] == [
        [("a", ("1",), ("2",)), ("b", ("1", "2"), ("1", "1"))],
        [("c", (), None)],
    ]
    assert notes == [
        "1 reference clips are in no set and are not scored: 'd'",
        "1 predicted clips are not in the references and are not scored: 'x'",
        "2 predicted clips stand in another order than in the references; they were met by name, where the published "
        "evaluator stops: 'b', …",
    ]
    with pytest.raises(InputError, match=r"sets\.csv: clip 'z': the references do not have this clip; is refs\.csv of"):
        joined(truth, {}, [("z",)])
    with pytest.raises(
        InputError, match=r"preds\.csv: no predicted clip is among .* predictions have 'x', references 'a'"
    ):
        joined(truth, {"x": ()}, [("a",)])


def test_clips_out_of_place():
    assert fillin.find_misplaced("abcd", "abcd") == fillin.find_misplaced("abcd", "bd") == []
    assert fillin.find_misplaced("abcd", "xadc") == ["d", "c"]
    assert fillin.find_misplaced("", "a") == []


def test_lines_of_labels(tmp_path):
    file = tmp_path / "f.csv"
    file.write_text("a\t[1],[2]\nb\t_\nc\nd\t1\tmore\n")
    notes = Notes()
    assert fillin.read_predictions(file, notes) == {"a": ("[1]", "[2]"), "b": ("_",), "c": (), "d": ("1",)}
    assert notes.lines() == [
        f"1 lines of {file} have more than two columns; the others are not used: 'd'",
        f"1 lines of {file} name a clip and no id: 'c'",
    ]
    with pytest.raises(InputError, match=r"f\.csv: clip 'c': no tab, so no ids; "):
        fillin.read_references(file, Notes())
    file.write_text("a\t[1]\nb\t_\n")
    assert fillin.read_references(file, Notes()) == {"a": ("[1]",), "b": ()}
    file.write_text("a\t1\na\t2\n")
    with pytest.raises(
        InputError, match=r"f\.csv: clip 'a': line 2: this clip stands twice; keep one of the two lines"
    ):
        fillin.read_references(file, Notes())
    file.write_text("a\nb\n")
    with pytest.raises(InputError, match=r"f\.csv: clip 'a': no tab in any line, so no ids"):
        fillin.read_predictions(file, Notes())
    file.write_text("a\t b \tc\t\nd\ta\n")
    with pytest.raises(
        InputError, match=r"f\.csv: clip 'a': line 2: this clip stands twice; a clip belongs to one set"
    ):
        fillin.read_grouping(file, Notes())
    file.write_text("a\t b \tc\t\nd\n")
    assert fillin.read_grouping(file, Notes()) == [("a", "b", "c"), ("d",)]


def test_which_role_a_file_of_clips_plays():
    held = {f.name: f.holds for f in identity.SHELF.formats()}
    assert (held["fillin"], held["fillin-sets"]) == ("either", "references")
    assert {r.name: r.holds for r in identity.SHELF.rules}.items() <= held.items()
