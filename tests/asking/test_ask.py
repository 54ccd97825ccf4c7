"""Coded films asked about through a server that sees: right frames give right windows, and all of it is on record."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import fabula
from fabula.asking.options import AskOptions
from fabula.asking.plan import plan_bench
from fabula.asking.run import ask_bench
from fabula.asking.settings import Settings
from fabula.asking.sources import open_film
from fabula.benchmarks import room
from fabula.core.errors import InputError, SpecError
from fabula.llm import EndpointError
from fabula.llm.fake import Server, serving
from fabula.media.coded.server import FAULTS, SeeingReply
from tests.asking.toys import FormReply, list_events, options, write_bench, write_films

FORM_OF = {"charades-tvg": "phrase", "time-r1": "tags", "plm-rtloc": "brackets"}
WHOLE_SECONDS = "RTLoc"  # it cuts what stands behind the point: its windows count frames


def grounding_protocols():
    return [p.name for p in room.all() if p.task == "grounding"]


def read_score(answers, bench, protocol=None):
    return fabula.score(answers, bench, task="grounding", protocol=protocol)


def find_hits(score) -> float:
    """The share of right answers, as the protocol prints it; at IoU 0.3 where it cuts fractions off."""
    return score.values["r1@0.3"] if score.name == WHOLE_SECONDS else score.value


def read_lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_right_frames_give_right_windows(shelf, tmp_path):
    reply = SeeingReply()
    with serving(Server(reply=reply)) as server:
        done = ask_bench(shelf.bench, options(server.url, shelf.videos, out=tmp_path / "a.jsonl"))
    events = list_events(shelf.films)
    assert done.finished and done.calls == len(events) and not done.left and not reply.unreadable
    lines = read_lines(tmp_path / "a.jsonl")
    assert [line["answer"] for line in lines] == [f"{start} - {end} seconds" for *_, start, end in events]
    assert {line["run"] for line in lines} == {done.signature}
    result = read_score(tmp_path / "a.jsonl", shelf.bench)
    assert result["Grounding"].values["miou"] == 1.0 and not result.warnings


@pytest.mark.parametrize("form", ["default", "phrase", "tags", "brackets", "json"])
def test_every_form_of_answer_is_read_by_somebody(form, shelf, tmp_path):
    with serving(Server(reply=FormReply())) as server:
        o = options(server.url, shelf.videos, out=tmp_path / "a.jsonl", prompt=form, limit=12)
        done = ask_bench(shelf.bench, o)
    bench = write_bench(tmp_path / "bench.json", shelf.films, 12)
    assert done.finished and read_score(tmp_path / "a.jsonl", bench)["Grounding"].value == 1.0
    if form in ("phrase", "tags", "brackets"):
        (name,) = (protocol for protocol, wanted in FORM_OF.items() if wanted == form)
        assert all(find_hits(score) == 1.0 for score in read_score(tmp_path / "a.jsonl", bench, name).scores.values())


def test_the_record_has_every_frame_prompt_and_answer(shelf, tmp_path):
    with serving(Server(reply=SeeingReply())) as server:
        done = ask_bench(shelf.bench, options(server.url, shelf.videos, out=tmp_path / "a.jsonl"))
    lines = read_lines(tmp_path / "a.record.jsonl")
    assert len(lines) == done.calls
    for line in lines:
        found = line["provenance"]
        assert found["frames"]["recipe"].startswith("fabula/rate(") and found["frames"]["decoder"]["av"]
        sent = found["frames"]["sent"]
        digests = [part[2] for part in line["call"]["parts"] if part[0] == "image"]
        assert [frame["digest"] for frame in sent] == digests and all(frame["width"] == 80 for frame in sent)
        assert f"⟨{sent[1]['time']} s⟩" in [part[1] for part in line["call"]["parts"] if part[0] == "text"]
        assert (
            found["server"] == "seeing"
            and found["prompt"]["name"] == "grounding"
            and len(found["prompt"]["hash"]) == 16
        )
        assert line["answer"]["tokens_in"] and found["settings"] == done.signature.partition("-")[0]


def test_a_replay_gives_the_same_bytes_without_server_and_films(shelf, tmp_path, monkeypatch):
    with serving(Server(reply=SeeingReply())) as server:
        done = ask_bench(shelf.bench, options(server.url, shelf.videos, out=tmp_path / "a.jsonl"))
    monkeypatch.setattr("fabula.asking.run.open_client", None)  # nothing may be sent
    monkeypatch.setattr("fabula.asking.sources.take_frames_for", None)  # nothing may be decoded
    o = AskOptions(replay=tmp_path / "a.record.jsonl", out=tmp_path / "b.jsonl", side=80, frames="fabula/rate(fps=0.5)")
    again = ask_bench(shelf.bench, o)
    assert again.signature == done.signature and again.settings == done.settings
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()
    with pytest.raises(InputError, match="no film whose frames"):
        ask_bench(shelf.bench, replace(o, side=64))
    with pytest.raises(InputError, match="no answer to any"):
        ask_bench(shelf.bench, replace(o, prompt="phrase"))


def test_another_prompt_frame_size_or_server_is_another_signature(shelf, tmp_path):
    own = tmp_path / "own.txt"
    own.write_text("When in these {duration} seconds: {query}?")
    changes = [
        {},
        {"prompt": "phrase"},
        {"prompt": str(own)},
        {"side": 64},
        {"quality": 70},
        {"server": "other"},
        {"model": "n"},
        {"layout": "numbered"},
        {"times": "recipe"},
        {"frames": "fabula/rate(fps=0.4)"},
        {"seed": 1},
    ]
    signatures = []
    with serving(Server(reply=SeeingReply())) as server:
        for change in changes:
            done = ask_bench(shelf.bench, options(server.url, shelf.videos, limit=2, **change))
            signatures.append(done.signature)
        assert ask_bench(shelf.bench, options(server.url, shelf.videos, limit=2)).signature == signatures[0]
    assert len({signature.partition("-")[0] for signature in signatures}) == len(changes)
    frames = [signature.partition("-")[2] for signature in signatures]
    # prompt, server, model, layout and times leave the frames as they are
    assert frames.count(frames[0]) == 8 and len(set(frames)) == 4


def test_a_film_that_was_changed_is_another_signature(shelf, tmp_path):
    (tmp_path / "films").mkdir()
    (film,) = write_films(tmp_path / "films", [0])
    bench = write_bench(tmp_path / "bench.json", [film], 2)
    with serving(Server(reply=SeeingReply())) as server:
        o = options(server.url, tmp_path / "films", out=tmp_path / "a.jsonl")
        first = ask_bench(bench, o)
        write_films(tmp_path / "films", [0], seconds=38.0)
        second = ask_bench(bench, o)
    assert first.signature.partition("-")[0] == second.signature.partition("-")[0]
    assert first.signature != second.signature and second.calls == 2


def test_a_run_goes_on_where_it_stopped(shelf, tmp_path):
    fault = {"on": True}
    server = Server(reply=SeeingReply(), fault=lambda n, body: "server" if fault["on"] and n > 7 else None)
    with serving(server):
        o = options(server.url, shelf.videos, out=tmp_path / "a.jsonl", retries=0, concurrency=1)
        first = ask_bench(shelf.bench, o)
        assert not first.finished and first.calls == 7 and len(first.failed) == first.left > 0
        assert len(read_lines(tmp_path / "a.jsonl")) == 7
        fault["on"] = False
        second = ask_bench(shelf.bench, o)
        assert second.finished and second.calls == len(first.failed)
        third = ask_bench(shelf.bench, o)
        assert third.calls == 0 and third.signature == second.signature
        whole = ask_bench(shelf.bench, replace(o, out=tmp_path / "w.jsonl"))
    assert whole.calls == len(second.bench.inquiries)
    assert (tmp_path / "w.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


def test_what_is_on_record_is_not_decoded_again(shelf, tmp_path, monkeypatch):
    with serving(Server(reply=SeeingReply())) as server:
        o = options(server.url, shelf.videos, out=tmp_path / "a.jsonl")
        first = ask_bench(shelf.bench, o)
        monkeypatch.setattr("fabula.asking.sources.take_frames_for", None)
        second = ask_bench(shelf.bench, o)
    assert second.calls == 0 and second.signature == first.signature


def test_the_same_question_twice_is_one_call(shelf, tmp_path):
    document = json.loads(shelf.bench.read_text())
    document["annotations"] = [{**document["annotations"][0], "id": k} for k in range(6)]
    bench = tmp_path / "bench.json"
    bench.write_text(json.dumps(document))
    server = Server(reply=SeeingReply(), seconds=0.05)
    with serving(server):
        done = ask_bench(bench, options(server.url, shelf.videos, out=tmp_path / "a.jsonl"))
    assert len(done.answers) == 6 and done.calls == 1 and len(server.log) == 1


def test_a_budget_is_never_exceeded(shelf, tmp_path):
    spent = []
    with serving(Server(reply=SeeingReply())) as server:
        base = options(server.url, shelf.videos, price="1000/1000", max_tokens=40, concurrency=1)
        whole = ask_bench(shelf.bench, base)
        settings = Settings(base, whole.bench.kinds)
        film = open_film(settings, "film00", shelf.videos / "film00.mp4")
        calls = [settings.build_call(inquiry, film) for inquiry in whole.bench.inquiries]
        worst = max(call.tokens for call in calls) / 1000 + 0.04  # of one call, before it is sent; answers cost less
        for share in (0, 0.3, 0.7):
            budget = worst + whole.spent * (share - 0.05) if share else 0.5 * worst
            o = replace(base, budget=budget, out=tmp_path / f"{share}.jsonl")
            done = ask_bench(shelf.bench, o)
            assert done.spent <= budget and not done.finished and "does not reach" in done.stopped
            assert (tmp_path / f"{share}.jsonl").exists() == bool(done.answers)
            spent.append(len(done.answers))
        assert spent[0] == 0 < spent[-1]
        again = ask_bench(shelf.bench, replace(o, budget=None))
    assert again.finished and again.calls == len(again.bench.inquiries) - spent[-1]
    with pytest.raises(InputError, match="without prices"):
        ask_bench(shelf.bench, replace(base, price=(), budget=1.0))


def test_the_plan_is_what_the_run_takes(shelf):
    server = Server(reply=SeeingReply())
    with serving(server):
        o = options(server.url, shelf.videos, price="1/2", budget=0.000001)
        plan = plan_bench(shelf.bench, o)
        assert not server.log
        reply = server.reply
        ask_bench(shelf.bench, replace(o, budget=None))
    assert plan.calls == len(list_events(shelf.films)) and plan.films == 3
    assert plan.pictures == sum(map(len, reply.received)) and plan.seconds == 90.0
    assert plan.cost < plan.most and any("may end" in line for line in plan.lines())
    assert plan.settings == Settings(o, ["grounding"]).line()


def test_films_that_are_missing_or_broken(shelf, tmp_path):
    films = tmp_path / "films"
    films.mkdir()
    for path in sorted(shelf.videos.iterdir())[:2]:
        (films / path.name).symlink_to(path)
    with serving(Server(reply=SeeingReply())) as server:
        o = options(server.url, films, out=tmp_path / "a.jsonl")
        with pytest.raises(InputError, match=r"1 of its films are not among --videos: film02\.mp4"):
            ask_bench(shelf.bench, o)
        (films / "film02.mp4").write_bytes(b"nothing")
        with pytest.raises(InputError):
            ask_bench(shelf.bench, o)
        warnings: list[str] = []
        done = ask_bench(shelf.bench, replace(o, skip_bad=True), warn=warnings.append)
    assert len(done.answers) == len(list_events(shelf.films[:2])) and done.left
    assert any("cannot be read" in line for line in warnings)
    assert read_score(tmp_path / "a.jsonl", shelf.bench).counts["missing"] == done.left


def test_a_recipe_that_stops_names_the_film(shelf):
    o = options("fake:", shelf.videos, frames="qwen-vl-utils/decord(nframes=1000)")
    for run in (ask_bench, plan_bench):
        with pytest.raises(InputError, match=r"film00\.mp4.*choose another recipe"):
            run(shelf.bench, o)
    assert not plan_bench(shelf.bench, replace(o, skip_bad=True)).calls


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_the_model_answers_is_written_as_it_is(fault, shelf, tmp_path):
    bench = write_bench(tmp_path / "bench.json", shelf.films, 4)
    with serving(Server(reply=SeeingReply(fault=fault))) as server:
        done = ask_bench(
            bench, options(server.url, shelf.videos, out=tmp_path / "a.jsonl", frames="fabula/rate(fps=2)")
        )
    record = {line["answer"]["text"] for line in read_lines(tmp_path / "a.record.jsonl")}
    assert done.finished and {line["answer"] for line in read_lines(tmp_path / "a.jsonl")} == record
    result = read_score(tmp_path / "a.jsonl", bench)
    miou = result["Grounding"].values["miou"]
    if fault in ("verbose", "clock", "instructing"):
        assert miou == 1.0
    elif fault == "chinese":  # no reader of windows knows 从 … 秒到 … 秒: counted, and a miss
        assert miou == 0.0 and result.counts["unparsed"] == 4
    elif fault == "late":  # every picture bears the time of the next one, half a second on
        spans = [(start, end) for *_, start, end in list_events(shelf.films)[:4]]
        expected = [(b - a - 0.5) / (b - a + 0.5) for a, b in spans]
        assert miou == pytest.approx(sum(expected) / 4)
    else:
        assert miou < 1.0


def test_a_record_is_of_one_server(shelf, tmp_path):
    with serving(Server(reply=SeeingReply())) as server:
        o = options(server.url, shelf.videos, out=tmp_path / "a.jsonl", limit=1)
        ask_bench(shelf.bench, o)
        with pytest.raises(InputError, match="of the server seeing, not other"):
            ask_bench(shelf.bench, replace(o, server="other", overwrite=True))
        with pytest.raises(InputError, match="with answers of a run with other settings"):
            ask_bench(shelf.bench, replace(o, prompt="phrase"))
        (tmp_path / "b.jsonl").write_text("mine")
        with pytest.raises(InputError, match="exists already"):
            ask_bench(shelf.bench, replace(o, out=tmp_path / "b.jsonl"))


def test_the_key_is_in_no_file(shelf, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    server = Server(reply=SeeingReply(), fault=lambda n, body: "closed" if n == 3 else None)
    with serving(server):
        o = options(server.url, shelf.videos, out=tmp_path / "a.jsonl", concurrency=1)
        with pytest.raises(EndpointError):
            ask_bench(shelf.bench, o)
        ask_bench(shelf.bench, o)
    for path in tmp_path.rglob("*"):
        assert b"very-secret" not in path.read_bytes()


def test_what_is_wrong_is_said_before_any_work(shelf, tmp_path):
    bare = AskOptions(videos=shelf.videos)
    with pytest.raises(SpecError, match="no server is named"):
        ask_bench(shelf.bench, bare)
    with pytest.raises(SpecError, match="no films are named"):
        ask_bench(shelf.bench, AskOptions(url="fake:"))
    for change, problem in (
        ({"prompt": "frase"}, "no prompt for grounding is called 'frase'"),
        ({"frames": "fabula/rat"}, "frame recipe"),
        ({"layout": "pears"}, "layout"),
        ({"prompt": str(tmp_path / "gone.txt")}, "cannot be read"),
    ):
        with pytest.raises((SpecError, InputError), match=problem):
            ask_bench(shelf.bench, replace(options("fake:", shelf.videos), **change))
    own = tmp_path / "own.txt"
    own.write_text("What happens?")
    with pytest.raises(SpecError, match="every question would be the same"):
        ask_bench(shelf.bench, options("fake:", shelf.videos, prompt=str(own)))


@pytest.mark.parametrize("layout", ["pairs(mark=seconds)", "numbered", "listed", "jpeg", "video(fps=2)"])
def test_every_layout_reaches_the_model(layout, shelf, tmp_path):
    with serving(Server(reply=SeeingReply())) as server:
        o = options(server.url, shelf.videos, out=tmp_path / "a.jsonl", layout=layout, limit=4)
        done = ask_bench(shelf.bench, o)
        again = ask_bench(shelf.bench, o)
    bench = write_bench(tmp_path / "bench.json", shelf.films, 4)
    assert done.finished and again.calls == 0 and again.signature == done.signature
    assert read_score(tmp_path / "a.jsonl", bench)["Grounding"].value == 1.0
    o = replace(o, replay=tmp_path / "a.record.jsonl", out=tmp_path / "b.jsonl", url="none", videos=())
    ask_bench(shelf.bench, o)
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


# ── slow ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_two_hundred_queries_under_every_grounding_protocol(tmp_path):
    films = write_films(tmp_path / "films", range(20), seconds=80.0)
    assert len(list_events(films)) >= 200
    bench = write_bench(tmp_path / "bench.json", films, 200)
    read = set()
    with serving(Server(reply=FormReply())) as server:
        for form in ("default", "phrase", "tags", "brackets"):
            out = tmp_path / f"{form}.jsonl"
            done = ask_bench(bench, options(server.url, tmp_path / "films", out=out, prompt=form))
            assert done.finished and len(done.answers) == 200
            for name in grounding_protocols():
                if FORM_OF.get(name, "default") == form:
                    result = read_score(out, bench, name)
                    assert all(find_hits(score) == 1.0 for score in result.scores.values()), name
                    read.add(name)
    assert read == set(grounding_protocols())


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_the_same(shelf, tmp_path):
    server = Server(reply=SeeingReply(), seconds=0.1)
    with serving(server):
        whole = ask_bench(shelf.bench, options(server.url, shelf.videos, out=tmp_path / "w.jsonl"))
        before = len(server.log)
        out = tmp_path / "a.jsonl"
        command = [sys.executable, "-m", "fabula", "ask", str(shelf.bench), "--videos", str(shelf.videos)]
        command += ["--url", server.url, "-m", "m", "--side", "80", "--server", "seeing", "--concurrency", "2"]
        command += ["--frames", "fabula/rate(fps=0.5)", "-o", str(out)]
        record = tmp_path / "a.record.jsonl"
        kills = 0
        for lines in (1, 5, 12):
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                if record.exists() and record.read_bytes().count(b"\n") >= lines:
                    break
                time.sleep(0.01)
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
            process.wait()
            assert not out.exists()
        assert kills == 3
        assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    assert out.read_bytes() == (tmp_path / "w.jsonl").read_bytes()
    keys = [line["key"] for line in read_lines(record)]
    assert len(keys) == len(set(keys)) == whole.calls
    assert len(server.log) - before <= whole.calls + 2 * kills  # what was under way when it was killed
