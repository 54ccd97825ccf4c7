"""`v_x` and `x` mean one video when only one of them is known; nothing is lost on the way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fabula.core.notes import Notes
from fabula.data.ids import reconcile, respell_id, stem
from fabula.data.stories import Corpus, Event, Segment, Story


def corpus(*ids: str) -> Corpus:
    return Corpus({id: Story(id, (Event(Segment(n, n + 1)),)) for n, id in enumerate(ids)}, name="f.json")


def test_the_other_spellings() -> None:
    assert (respell_id("v_a")[:2], respell_id("a")[:1]) == (["v_v_a", "a"], ["v_a"])
    assert respell_id("v_a.mp4") == ["v_v_a.mp4", "a.mp4", "v_a", "v_v_a", "a"]
    assert {"a.mp4", "v_a.mp4", "a.mkv"} <= set(respell_id("a"))


def test_an_ending_of_a_file() -> None:
    assert list(reconcile(corpus("a.mp4", "v_b.MKV", "c"), ["a", "b", "v_c.webm"], Notes())) == ["a", "b", "v_c.webm"]
    assert list(reconcile(corpus("a"), ["a.mp4", "a.mkv"], Notes())) == ["a"]  # which of the two?
    assert len({stem(id) for id in ("x", "v_x", "x.mp4", "v_v_x.mkv", "x.MOV")}) == 1


def test_an_id_that_itself_begins_with_the_prefix() -> None:
    assert list(reconcile(corpus("a", "v_dk"), ["v_a", "v_v_dk"], Notes())) == ["v_a", "v_v_dk"]
    assert list(reconcile(corpus("v_a", "v_v_dk"), ["a", "v_dk"], Notes())) == ["a", "v_dk"]


def test_an_id_that_could_be_two_videos_stays() -> None:
    assert list(reconcile(corpus("v_a"), ["a", "v_v_a"], Notes())) == ["v_a"]


def test_ids_are_matched_with_a_note() -> None:
    notes = Notes()
    assert list(reconcile(corpus("v_a", "b", "c"), ["a", "v_b", "c"], notes)) == ["a", "v_b", "c"]
    said = "2 video ids of f.json were matched with or without the prefix 'v_' or an ending such as .mp4: 'v_a', 'b'"
    assert notes.lines() == [said]


def test_ids_that_fit_or_are_unknown_stay() -> None:
    notes, given = Notes(), corpus("a", "v_a", "b")
    assert reconcile(given, ["a", "v_a", "z"], notes) is given
    assert notes.lines() == []


def test_the_story_takes_the_new_name() -> None:
    assert reconcile(corpus("a"), ["v_a"], Notes())["v_a"].id == "v_a"


def test_two_ids_that_lead_to_one_name_are_both_kept() -> None:
    assert list(reconcile(corpus("a", "v_v_a"), ["v_a"], Notes())) == ["v_a", "v_v_a"]


names = st.lists(
    st.sampled_from(["a", "v_a", "v_v_a", "a.mp4", "v_a.mp4", "v_v_v_a", "b", "v_b", "v_", ".mp4"]), unique=True
)


@given(names, names)
def test_no_story_is_lost(given: list[str], known: list[str]) -> None:
    before = corpus(*given)
    after = reconcile(before, known, Notes())
    assert [s.events for s in after.values()] == [s.events for s in before.values()]
    assert all(id == story.id for id, story in after.items())
