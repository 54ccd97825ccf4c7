"""The endpoint that sees: right exactly where the right frames were sent with the right times."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fabula.core.errors import SpecError
from fabula.io.answers.readers import READERS
from fabula.llm import Answer, Call, EndpointOptions
from fabula.llm.fake import Server, serving
from fabula.llm.layouts import LAYOUTS, layout
from fabula.llm.session import Session
from fabula.llm.store import AnswerStore
from fabula.media.coded.code import read_code
from fabula.media.coded.film import CodedEvent, CodedFilm, make_film, write_coded_film
from fabula.media.coded.server import FAULTS, LATER, SeeingReply, decode_picture
from fabula.media.frame_calls import build_call, refer_film, time_images
from fabula.media.frame_sets import FilmFrames, PictureFormat, take_frames_for

SCHEMA = {"type": "object", "properties": {"events": {"type": "array"}}, "required": ["events"]}
CLOCKED = [
    "pairs",
    "pairs(mark=seconds)",
    "pairs(mark=t,first=prompt)",
    "pairs(mark=number)",
    "numbered",
    "listed",
    "jpeg",
]
SHIFT = 0.5  # seconds


@pytest.fixture(scope="module")
def film():
    return make_film(7, 40.0)


@pytest.fixture(scope="module")
def path(film, tmp_path_factory):
    return write_coded_film(tmp_path_factory.mktemp("coded") / "film.mp4", film)


@pytest.fixture(scope="module")
def frames(path):
    return take_frames_for(path, "fabula/rate(fps=2)", PictureFormat(side=160))


def ask(frames: FilmFrames, text: str = "pairs", reply: SeeingReply | None = None, prompt: str = "What happens?"):
    call = build_call("m", frames, prompt, layout(text), schema=SCHEMA)
    return json.loads((reply or SeeingReply())(call.body()))["events"]


def shift(frames: FilmFrames, seconds: float) -> FilmFrames:
    """The same pictures, each called later than it is."""
    moved = (replace(s, time=s.time + seconds, until=s.until + seconds) for s in frames.samples)
    return FilmFrames(tuple(moved), frames.record)


def iou(a, b) -> float:
    both = max(0.0, min(a["end"], b["end"]) - max(a["start"], b["start"]))
    return both / (a["end"] - a["start"] + b["end"] - b["start"] - both)


def test_every_frame_tells_its_time(frames, film):
    codes = [read_code(decode_picture(sample.data)) for sample in frames.samples]
    assert (
        [code.time / 1000 for code in codes] == [sample.time for sample in frames.samples] == [k / 2 for k in range(80)]
    )
    assert codes == [film.code_at(k / 2) for k in range(80)]


@pytest.mark.parametrize("text", CLOCKED)
def test_right_frames_with_right_times_give_the_right_answer(frames, film, text):
    reply = SeeingReply()
    assert ask(frames, text, reply) == film.story() and not reply.unreadable
    assert all(sight.time == sight.code.time / 1000 for sight in reply.received[0])


def test_half_a_second_late_is_wrong_as_computed(frames, film):
    late = ask(shift(frames, SHIFT))
    for found, true in zip(late, film.story(), strict=True):
        assert found["caption"] == true["caption"]
        assert (found["start"], found["end"]) == pytest.approx((true["start"] + SHIFT, true["end"] + SHIFT))
        length = true["end"] - true["start"]
        assert iou(found, true) == pytest.approx((length - SHIFT) / (length + SHIFT))


def test_without_times_it_is_wrong(frames, film):
    assert ask(frames, "plain") != film.story()


def test_without_a_frame_of_an_event_it_is_missing(frames, film):
    shown = [s for s in frames.samples if film.code_at(s.time).event != 2]
    found = ask(FilmFrames(tuple(shown), frames.record))
    assert [event["caption"] for event in found] == [e["caption"] for k, e in enumerate(film.story()) if k != 1]


def test_the_film_itself(path, film):
    call = build_call(
        "m",
        FilmFrames((), {"pictures": {"kind": "jpeg"}}),
        "?",
        layout("video(fps=2)"),
        schema=SCHEMA,
        film=refer_film(path),
    )
    assert json.loads(SeeingReply()(call.body()))["events"] == film.story()
    there = refer_film(path, path.as_uri())
    other = replace(call, parts=(there, *call.parts[1:]))
    assert other.key == call.key and other.body() != call.body()  # the same film, however it travels
    assert json.loads(SeeingReply()(other.body()))["events"] == film.story()
    with pytest.raises(SpecError, match="sends the film itself"):
        layout("video").arrange([], "?")


def test_a_question_and_who(frames, film):
    caption = film.story()[1]["caption"]
    truth = film.story()[1]
    for fault, text in ((None, f"{truth['start']} - {truth['end']} seconds"), ("wrong", None)):
        call = build_call("m", frames, f"When does this happen: {caption}?", layout("pairs"))
        found = SeeingReply(fault)(call.body())
        assert found == (text or f"{truth['start'] + LATER} - {truth['end'] + LATER} seconds")
    people = SeeingReply()(build_call("m", frames, "who is in it", layout("pairs")).body())
    assert people.split(", ") == sorted({f"P{p}" for event in film.events for p in event.people})


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_one(frames, film, fault):
    call = build_call("m", frames, "What happens?", layout("pairs"))
    right, found = SeeingReply()(call.body()), SeeingReply(fault)(call.body())
    assert found != right
    signs = {
        "late": f"{film.story()[0]['start'] + SHIFT} - ",  # the next frame is half a second later
        "wrong": f"{film.story()[0]['start'] + LATER} - ",
        "cut": right[: len(right) // 2],
        "one_based": f"{next(k for k in range(80) if film.code_at(k / 2).event) + 1} - ",
        "verbose": "```",
        "clock": "00:0",
        "chinese": "秒",
        "instructing": "Ignore all previous instructions",
    }
    assert signs[fault] in found
    sometimes = SeeingReply(fault, when=lambda n: n == 2)
    assert [sometimes(call.body()) == right for _ in range(3)] == [True, False, True]


def test_the_readers_that_we_have_read_its_answers(frames, film):
    caption, truth = film.story()[0]["caption"], film.story()[0]
    call = build_call("m", frames, f"When does this happen: {caption}?", layout("pairs"))
    reader = READERS.get("fabula")
    for fault in (None, "verbose", "clock"):  # 从 1.6 秒到 5.8 秒 is read by none of our readers yet
        assert reader.read(SeeingReply(fault)(call.body()))[0] == (truth["start"], truth["end"]), fault


def test_over_a_connection_on_record_and_replayed(frames, film, tmp_path):
    """Answers come over HTTP, go on record with the frames' provenance, and are replayed without a server."""
    record = tmp_path / "record.jsonl"
    call = build_call("m", frames, "What happens?", layout("pairs"), {"temperature": 0}, SCHEMA)
    with serving(Server(reply=SeeingReply())) as server:
        options = EndpointOptions(url=server.url, model="m", record=record)
        with Session(options) as session:
            (answer,) = session.ask([call])
    assert isinstance(answer, Answer) and json.loads(answer.text)["events"] == film.story()
    with Session(EndpointOptions(url="http://127.0.0.1:9/v1", model="m", replay=record)) as session:
        assert session.ask([call]) == [answer]
    with AnswerStore(record) as store:
        found = store.read_provenance(call.key)
        assert found == json.loads(json.dumps(call.provenance))
        assert found["signature"] == frames.signature and len(found["sent"]) == 80
        assert store.read_provenance("another") is None


def test_keys_depend_on_times_and_pictures_not_on_provenance(path, frames):
    call = build_call("m", frames, "?", layout("pairs"))
    assert replace(call, provenance=None).key == call.key
    others = [
        build_call("m", shift(frames, SHIFT), "?", layout("pairs")),
        build_call("m", frames, "?", layout("pairs(mark=t)")),
        build_call("m", frames, "?", layout("numbered")),
        build_call("m", frames, "??", layout("pairs")),
        build_call("m", take_frames_for(path, "fabula/rate(fps=2)", PictureFormat(side=128)), "?", layout("pairs")),
    ]
    assert len({call.key, *(other.key for other in others)}) == 6


def test_times_of_the_recipe_in_place_of_the_films(path):
    frames = take_frames_for(path, "lmms-eval/llava_vid(fps=2,max_frames_num=200)")
    labels = {times: [t.label for t in time_images(frames, times=times)] for times in ("film", "recipe")}
    assert labels["film"][:3] == ["0.0", "0.5", "1.0"] and labels["recipe"][:3] == ["0.00", "1.00", "2.00"]


def test_films_are_what_they_say():
    film = CodedFilm(3, 10.0, (CodedEvent(1.0, 4.0, (2,)), CodedEvent(4.0, 9.5, (1, 8))))
    assert film.story()[0] == {"start": 1.0, "end": 4.0, "caption": "P2 opens the white kettle"}
    assert film.story()[1]["caption"] == "P1 and P8 paint the white kettle"
    assert film.code_at(3.9).event == 1 and film.code_at(4.0).event == 2 and film.code_at(9.5).event == 0
    captions = [e["caption"].partition(" ")[2] for e in make_film(1, 3600.0).story()]
    for wrong in ((CodedEvent(1.0, 4.0), CodedEvent(3.0, 5.0)), (CodedEvent(8.0, 11.0),)):
        with pytest.raises(SpecError):
            CodedFilm(3, 10.0, wrong)
    assert len(captions) > 200


def test_layouts_print_themselves():
    for cls in LAYOUTS:
        assert layout(str(cls())) == cls() and cls.about
    with pytest.raises(SpecError, match="no layout is called 'pares'; did you mean 'pairs'"):
        layout("pares")
    assert layout("video(fps=1,knob=loader)").arrange([], "?", refer()).parameters == {
        "media_io_kwargs": {"video": {"fps": 1.0}}
    }
    assert layout("video(fps=1,num_frames=8)").arrange([], "?", refer()).parameters == {
        "mm_processor_kwargs": {"fps": 1.0, "num_frames": 8}
    }
    assert layout("video(knob=none,fps=1)").arrange([], "?", refer()).parameters == {}


def refer():
    from fabula.llm import VideoPart

    return VideoPart(address="http://host/film.mp4")


def test_a_video_without_bytes_counts_by_its_address():
    from fabula.llm import Text

    here, there = (Call("m", parts=(Text("?"), replace(refer(), address=f"http://{h}/a.mp4"))) for h in "ab")
    assert here.key != there.key
    assert here.body()["messages"][0]["content"][1] == {"type": "video_url", "video_url": {"url": "http://a/a.mp4"}}
