"""Queries of every format, field by field: what is read, in both gears, and what is said of each fault."""

import json

import pytest

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Notes
from fabula.data.moments import Query, Saliency
from fabula.io import moments
from tests.moment_toys import lines

TVR = {"desc_id": 7, "vid_name": "kite", "ts": [0, 10.5], "duration": 30.5, "desc": "a kite rises", "type": "vt"}
FIG = {"desc_id": 7, "video": "kite", "duration": 30.5, "time": [0, 10.5], "cog_desc": "x", "fig_desc": "a red kite"}
QV = {
    "qid": 7,
    "query": "a kite",
    "vid": "kite",
    "duration": 10,
    "relevant_windows": [[0, 4], [6, 8.5]],
    "relevant_clip_ids": [0, 1],
    "saliency_scores": [[4, 2, 3], [1, 1, 0]],
}
WHOLE = ((0.0, 10.5),)
READ = {
    "tvr": (TVR, Query(7, "kite", WHOLE, 30.5, "a kite rises", None, "vt")),
    "fig": (FIG, Query(7, "kite", WHOLE, 30.5, "a red kite")),
    "qv": (
        QV,
        Query(7, "kite", ((0.0, 4.0), (6.0, 8.5)), 10.0, "a kite", Saliency((0, 1), ((4, 2, 3), (1, 1, 0)))),
    ),
}


def read(path, **options):
    notes = Notes()
    return moments.read_queries([path], notes, **options), notes.lines()


@pytest.mark.parametrize("name", READ)
def test_every_field(tmp_path, name, kernels):
    entry, wanted = READ[name]
    found, notes = read(lines(tmp_path / "q.jsonl", [entry]))
    assert found == {7: wanted} and notes == []


@pytest.mark.parametrize("name", READ)
def test_the_slow_gear_reads_the_same(tmp_path, name, kernels):
    """A field that is not known, and holds an object, makes a line odd; the field is named."""
    entry, wanted = READ[name]
    found, notes = read(lines(tmp_path / "q.jsonl", [entry | {"seen by": {"x": [1]}}]))
    assert found == {7: wanted} and notes == ["fields of queries that were not used: 'seen by' (1)"]


@pytest.mark.parametrize("name", ["tvr", "fig"])
def test_what_may_be_left_out(tmp_path, name, kernels):
    entry, wanted = READ[name]
    some = {k: v for k, v in entry.items() if k not in ("duration", "desc", "fig_desc", "type")}
    form = {"tvr": "tvr", "fig": "verified-fig"}[name]
    found, _ = read(lines(tmp_path / "q.jsonl", [some]), format=form)
    assert found == {7: wanted._replace(duration=None, text=None, type=None)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ts": [0]}, r"query 7: ts: expected \[start, end\], saw 1 entries; give two numbers"),
        ({"ts": "now"}, r"query 7: ts: expected a list, saw the string 'now'; a segment is"),
        ({"ts": [0, "1"]}, r"query 7: ts\[1\]: expected a number, saw the string '1'"),
        ({"ts": []}, r"query 7: ts"),
        ({"duration": 0}, r"query 7: duration: a duration of 0 seconds; a video is longer than nothing"),
        ({"duration": "long"}, r"query 7: duration: expected a number, saw the string 'long'"),
        ({"vid_name": 3}, r"query 7: vid_name: expected text, saw the number 3"),
        ({"desc": ["x"]}, r"query 7: desc: expected text, saw a list of 1"),
        ({"desc_id": None}, r"line 1 desc_id: expected an id|line 1.*desc_id"),
        ({"ts": [5, 5]}, r"query 7: window 0: a zero-length window \[5, 5\]; mend the file, or say how: --repair"),
        ({"ts": [-1, 5]}, r"query 7: window 0: a negative window \[-1, 5\]"),
        ({"ts": [9, 5]}, r"query 7: window 0: a reversed window \[9, 5\]"),
    ],
)
def test_faults_name_file_and_place(tmp_path, change, said, kernels):
    with pytest.raises(InputError, match=said) as caught:
        read(lines(tmp_path / "q.jsonl", [TVR | change]))
    assert "q.jsonl" in str(caught.value) and caught.value.hint


def test_ids_stand_once_within_a_file_and_between_files(tmp_path, kernels):
    one, two = lines(tmp_path / "a.jsonl", [TVR, TVR | {"desc_id": 8}]), lines(tmp_path / "b.jsonl", [TVR])
    with pytest.raises(InputError, match=r"b\.jsonl: query 7: this query id stands twice; keep one of the two"):
        moments.read_queries([one, two], Notes())
    with pytest.raises(InputError, match=r"c\.jsonl: query 7: this query id stands twice"):
        read(lines(tmp_path / "c.jsonl", [TVR, TVR | {"desc_id": 8}, TVR]))
    apart = lines(tmp_path / "d.jsonl", [TVR | {"desc_id": 9}])
    assert list(moments.read_queries([one, apart], Notes())) == [7, 8, 9]


def test_windows_repaired_taken_or_kept(tmp_path, kernels):
    back = lines(tmp_path / "q.jsonl", [TVR | {"ts": [9, 5]}])
    found, notes = read(back, repair=["swap"])
    assert found[7].windows == ((5.0, 9.0),) and notes[0].startswith("1 reference windows were repaired (swap:")
    found, notes = read(back, judged=False)
    assert found[7].windows == ((9.0, 5.0),)
    assert notes == [
        "1 queries have a reversed, zero-length or negative window, taken as it is, as the evaluator does: 7"
    ]
    with pytest.raises(InputError, match="query 7: no window is left; take the query out"):
        read(back, repair=["drop"])
    with pytest.raises(SpecError, match="no repair is called 'wish'; there are: "):
        read(back, repair=["wish"])
    late = lines(tmp_path / "l.jsonl", [TVR | {"ts": [0, 31]}])
    found, notes = read(late)
    assert found[7].windows == ((0.0, 31.0),) and "end after their video's duration" in notes[0]
    edge = lines(tmp_path / "e.jsonl", [TVR | {"ts": [0, 30.5]}])
    assert read(edge)[1] == []  # the end of the video is inside it


def test_a_query_of_many_windows_loses_the_faulty_one_alone(tmp_path):
    entry = QV | {"relevant_windows": [[0, 4], [8, 6]]}
    found, _ = read(lines(tmp_path / "q.jsonl", [entry]), repair=["drop"])
    assert found[7].windows == ((0.0, 4.0),)
    with pytest.raises(InputError, match=r"query 7: window 1: a reversed window \[8, 6\]"):
        read(lines(tmp_path / "r.jsonl", [entry]))


def test_formats_by_name_and_role(tmp_path):
    path = lines(tmp_path / "q.jsonl", [TVR])
    with pytest.raises(SpecError, match="no format of moments is called 'tvx'; did you mean 'tvr'"):
        read(path, format="tvx")
    with pytest.raises(SpecError, match="the format 'tvr-predictions' holds predictions, not references"):
        read(path, format="tvr-predictions")
    odd = tmp_path / "odd.jsonl"
    odd.write_text(json.dumps({"a": 1, "b": 2}) + "\n")
    with pytest.raises(InputError, match=r"odd\.jsonl: a line with 'a', 'b': no known format of references; known: "):
        read(odd)
    empty = tmp_path / "none.jsonl"
    empty.write_text(" \n")
    with pytest.raises(InputError, match=r"none\.jsonl: the file is empty; it should hold references"):
        read(empty)
