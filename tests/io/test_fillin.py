"""LSMDC fill-in files, as they are found in the wild."""

import pytest

from fabula.core.errors import InputError
from fabula.core.notes import Notes
from fabula.io.fields import Source
from fabula.io.files import write_text
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
