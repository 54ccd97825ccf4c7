"""What benchmark files ask: of every format of references that Fabula reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fabula
from fabula.asking.bench import find_film, find_subject, read_bench
from fabula.asking.prompts import HERE, NEEDED, VARIABLES, find_prompt, list_prompts
from fabula.asking.run import ask_bench
from fabula.core.errors import InputError, SpecError
from fabula.io import kinds
from fabula.io.format import Format
from fabula.llm.fake import Server, serving
from fabula.media.coded.server import SeeingReply
from tests.asking.toys import list_events, options


def list_references(kind: str) -> list[Format]:
    """Formats with an example of references in one file."""
    shelf = kinds.SHELVES[kind]
    return [f for f in shelf.formats() if f.example and f.holds != "predictions" and f.read_queries]


@pytest.mark.parametrize("format", list_references("moments"), ids=lambda f: f.name)
def test_every_format_of_queries_is_asked(format, tmp_path):
    ending = format.pattern.partition(",")[0].removeprefix("*")
    path = tmp_path / f"bench{ending}"
    path.write_text(format.example + "\n")
    if not any(rule.name == format.name and rule.guessed for rule in kinds.QUERIES.rules):
        pytest.skip("it is known only when it is named")
    try:
        bench = read_bench(path)
    except InputError as error:
        assert "no text" in str(error)  # a format whose example has no sentence
        return
    assert bench.subject in ("grounding", "highlights") and bench.inquiries[0].values["query"]


def test_subjects_by_how_files_begin(tmp_path):
    files = {
        "sta.txt": ("kite 0.0 10.5##a kite rises\n", "grounding"),
        "qv.jsonl": (
            '{"qid": 1, "query": "a kite", "vid": "kite", "duration": 10, "relevant_windows": [[0, 4]], '
            '"relevant_clip_ids": [0], "saliency_scores": [[4, 2, 3]]}\n',
            "highlights",
        ),
        "anet.json": ('{"v_kite": {"duration": 9, "timestamps": [[0, 4]], "sentences": ["a kite"]}}', "dense"),
        "yc2.json": (
            '{"database": {"x": {"duration": 9, "subset": "validation", "annotations": '
            '[{"id": 0, "segment": [0, 4], "sentence": "cut"}]}}}',
            "dense",
        ),
        "q.jsonl": (
            '{"id": 1, "group": "kite", "question": "What?", "options": ["a", "b"], "gold": "A"}\n',
            "questions",
        ),
        "lens.json": ('{"kite": {"duration": 9, "spans": [[0, 4]], "queries": ["a kite"]}}', "grounding"),
    }
    for name, (text, subject) in files.items():
        path = tmp_path / name
        path.write_text(text)
        assert find_subject(path, None) == subject == read_bench(path).subject, name
    path = tmp_path / "boxes.json"
    path.write_text('[{"id": 1, "regions": [{"x": 0, "y": 0, "width": 1, "height": 1, "phrase": "a"}]}]')
    with pytest.raises(InputError, match="which nobody is asked for"):
        read_bench(path)
    with pytest.raises(InputError, match="no such file"):
        read_bench(tmp_path / "gone.json")


def test_films_by_their_names():
    films = dict.fromkeys(("kite", "a.b_0.0_10.0"), Path("x"))
    assert find_film("kite", films) == find_film("kite.mp4", films) == find_film("clips/kite.MKV", films) == "kite"
    assert find_film("a.b_0.0_10.0", films) == find_film("a.b_0.0_10.0.mp4", films) == "a.b_0.0_10.0"
    assert find_film("v_kite", films) == find_film("v_kite.mp4", films) == "kite"
    assert find_film("x", dict.fromkeys(["v_x"], Path("x"))) == "v_x"
    assert find_film("kit", films) is None and find_film("kite.0", films) is None


def test_prompts_fill_and_print_what_they_need():
    for kind, variables in VARIABLES.items():
        for name in list_prompts(kind):
            prompt = find_prompt(kind, name)
            filled = prompt.fill(**{variable: f"<{variable}>" for variable in variables})
            assert NEEDED.get(kind) is None or f"<{NEEDED[kind]}>" in filled
            assert len(prompt.text) < 1000 and filled == filled.strip()
    listed = {
        f"{kind}.txt" if name == "default" else f"{kind}_{name}.txt"
        for kind in VARIABLES
        for name in list_prompts(kind)
    }
    assert listed == {path.name for path in HERE.glob("*.txt")}
    with pytest.raises(SpecError, match="tags"):
        find_prompt("grounding", "tag")


def ask(bench, shelf, tmp_path, **changes):
    with serving(Server(reply=SeeingReply())) as server:
        return ask_bench(bench, options(server.url, shelf.videos, out=tmp_path / "a.jsonl", **changes))


def test_highlights_are_windows(shelf, tmp_path):
    bench = tmp_path / "qv.jsonl"
    rows = [
        {
            "qid": k,
            "query": caption,
            "vid": name,
            "duration": seconds,
            "relevant_windows": [[start, end]],
            "relevant_clip_ids": [0],
            "saliency_scores": [[1, 1, 1]],
        }
        for k, (name, seconds, caption, start, end) in enumerate(list_events(shelf.films)[:5])
    ]
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ask(bench, shelf, tmp_path)
    assert done.bench.subject == "highlights" and done.finished
    result = fabula.score(tmp_path / "a.jsonl", bench, task="highlights", metrics="MR_R1,MR_mAP")
    assert result["MR_R1"].values["r1@0.95"] == 1.0 and result["MR_mAP"].value == 1.0
    done = ask(bench, shelf, tmp_path, task="grounding", overwrite=True)
    assert fabula.score(tmp_path / "a.jsonl", bench, task="grounding")["Grounding"].values["miou"] == 1.0


def test_dense_captions_are_stories(shelf, tmp_path):
    bench = tmp_path / "anet.json"
    document = {}
    for film in shelf.films:
        story = film.story()
        document[f"film{film.number:02d}"] = {
            "duration": film.seconds,
            "timestamps": [[e["start"], e["end"]] for e in story],
            "sentences": [e["caption"] for e in story],
        }
    bench.write_text(json.dumps(document))
    done = ask(bench, shelf, tmp_path)
    assert done.finished and done.calls == 3
    assert fabula.score(tmp_path / "a.jsonl", bench, metrics=["SODA_d"])["SODA_d"].value == 1.0


def test_questions_with_options_and_without(shelf, tmp_path):
    bench = tmp_path / "q.jsonl"
    names = sorted({n for code in shelf.films[0].codes() for n in code.names()})
    rows = [
        {"id": 1, "group": "film00", "question": "Say who is there.", "options": ["P9", ", ".join(names)], "gold": "B"},
        {"id": 2, "group": "film00", "question": "Please name who is there.", "references": [", ".join(names)]},
    ]
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ask(bench, shelf, tmp_path, frames="fabula/rate(fps=2)")
    assert [one.kind for one in done.bench.inquiries] == ["options", "free"]
    record = [json.loads(line) for line in (tmp_path / "a.record.jsonl").read_text().splitlines()]
    words = [line["call"]["parts"][-1][1] for line in record]
    assert any("A. P9\nB. " in text and "letter" in text for text in words)
    assert done.texts == {1: ", ".join(names), 2: ", ".join(names)}
    result = fabula.score(tmp_path / "a.jsonl", bench, task="questions", metrics=["Choice"])
    assert result.counts["missing"] == 0 and not any("run" in line for line in result.warnings)
