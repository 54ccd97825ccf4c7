"""The HTML report without a browser: self-contained, well-formed, every user string escaped, nothing left out."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest

import fabula
from fabula import demo
from fabula.core.errors import SpecError
from fabula.data.stories import Corpus, Event, Segment, Story
from fabula.report import _data
from fabula.report.html import SCRIPTS, page

VOID = {"meta", "wbr"}
METRICS = ["SODA_d", "mIoU"]
EVIL = "</script><script>alert(1)</script><!-- \"&' \ud800"


class Balance(HTMLParser):
    """Fails on a tag that is not closed in its place; keeps tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.inside: dict[str, str] = {}

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            key = self.tags[-1][1].get("id") or self.tags[-1][0]
            self.inside[key] = self.inside.get(key, "") + data
        else:
            self.text += data


def parsed(text: str) -> Balance:
    parser = Balance()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    ids = [attrs["id"] for _, attrs in parser.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    labels = [label for _, attrs in parser.tags for label in (attrs.get("aria-labelledby") or "").split()]
    assert set(labels) <= set(ids)
    return parser


def embedded(text: str) -> dict[str, Any]:
    """What the script will draw from."""
    return json.loads(gzip.decompress(base64.b64decode(parsed(text).inside["data"])))


def story(video: str, *events: tuple[float, float, str | None], duration: float | None = None) -> Story:
    return Story(video, tuple(Event(Segment(a, b), caption) for a, b, caption in events), duration)


def corpus(name: str, *stories: Story) -> Corpus:
    return Corpus({s.id: s for s in stories}, name=name)


def report(pred: Corpus, *refs: Corpus, title: str = "T", metrics: list[str] = METRICS) -> str:
    return page(fabula.score(pred, refs, metrics=metrics), title)


def pairs_of(text: str, video: int = 0, system: int = 0, refset: int = 0) -> list[list[Any]]:
    """Reference, prediction and IoU of the pairs of a row."""
    return [pair[:3] for pair in embedded(text)["rows"][video][4][system][1][refset]]


REF = corpus("ref.json", story("v1", (0, 10, "one"), (10, 20, "two"), duration=20))


@pytest.fixture(scope="module", params=list(demo.SYSTEMS))
def demo_page(request) -> str:
    refs = [fabula.read(path)[0] for path in demo.REFERENCES.values()]
    return report(fabula.read(demo.SYSTEMS[request.param])[0], *refs, title="Demo")


def test_well_formed_and_self_contained(demo_page):
    parser = parsed(demo_page)
    assert not {"link", "img", "iframe", "object", "base", "form"} & {tag for tag, _ in parser.tags}
    assert not any(key in ("src", "style") or key.startswith("on") for _, attrs in parser.tags for key in attrs)
    assert all(attrs["href"].startswith("#") for _, attrs in parser.tags if "href" in attrs)
    outside = re.findall(r"https?://[^\"' ]+", demo_page)
    assert set(outside) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"url\(|@import", parser.inside["style"])
    assert [tag for tag, _ in parser.tags].count("h1") == 1
    assert all("scope" in attrs for tag, attrs in parser.tags if tag == "th")


def test_only_the_own_script_and_style_may_run(demo_page):
    parser = parsed(demo_page)
    policy = next(a["content"] for _, a in parser.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for what in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(parser.inside[what].encode()).digest()).decode()
        assert f"{what}-src 'sha256-{digest}'" in policy


def test_the_script_writes_no_html():
    scripts = [f for f in files("fabula.report").iterdir() if f.name.endswith(".js")]
    assert {f.name for f in scripts} >= {name for some in SCRIPTS.values() for name in some}
    for text in (f.read_text("utf-8") for f in scripts if f.name != "watch.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|</script|<!--", text
        )
        assert len(text.splitlines()) < 600 and max(map(len, text.splitlines())) <= 120


def test_every_video_and_its_words_are_there(demo_page):
    rows = {row[0]: row for row in embedded(demo_page)["rows"]}
    for k, path in enumerate(demo.REFERENCES.values()):
        for video, told in fabula.read(path)[0].items():
            assert [event[2] for event in rows[video][3][k]] == told.in_order().captions


def test_the_same_result_makes_the_same_page():
    assert report(REF, REF) == report(REF, REF)


def test_scores_stand_with_their_signatures_and_intervals():
    pred = corpus("p", story("v1", (0, 10, "one"), (10, 20, "two")))
    result = fabula.score(pred, REF, metrics=METRICS)
    text = parsed(page(result, "T")).text
    assert "100.00" in text
    assert all(score.signature in text for score in result.scores.values())
    result = replace(result, scores={"SODA_d": replace(result["SODA_d"], ci={"f1": (0.125, 1.0)})})
    assert "12.50 to 100.00" in parsed(page(result, "T")).text


def test_user_strings_stay_text():
    ref = corpus(EVIL, story(EVIL, (0, 10, EVIL), (5, 4, EVIL), duration=10))
    result = fabula.score(ref, corpus("r", story(EVIL, (0, 10, "x"))), metrics=METRICS)
    text = page(replace(result, refs=(ref, ref), predictions=ref), EVIL)
    parser = parsed(text)
    assert [tag for tag, _ in parser.tags].count("script") == 2  # the data and ours
    assert "alert(1)" not in parser.inside["script"] and "alert(1)" not in parser.inside["data"]
    assert EVIL.replace("\ud800", "?") in parser.text
    assert embedded(text)["rows"][0][0] == EVIL.replace("\ud800", "?")
    text.encode("utf-8")


def test_without_a_script_a_note_says_what_is_missing():
    text = report(REF, REF)
    assert "need JavaScript" in text[text.index("<noscript>") : text.index("</noscript>")]


def test_warnings_are_listed_or_said_to_be_none():
    told = story("v1", (0, 10, "one"), (10, 20, "two"))
    assert "No warnings." in report(corpus("p", told), REF)
    text = report(corpus("p", told, story("stranger", (0, 1, "x"))), REF)
    assert "No warnings." not in text and "&#x27;stranger&#x27;" in text


def test_malformed_events_come_last_and_as_text():
    pred = corpus(
        "p", story("v1", (18, 12, "backwards"), (0, 10, "one"), (-3, 2, "early"), (4, float("inf"), "endless"))
    )
    events, _ = embedded(report(pred, REF))["rows"][0][4][0]
    assert events == [[0, 10, "one"], ["18", "12", "backwards"], ["-3", "2", "early"], ["4", "inf", "endless"]]


def test_no_prediction_is_not_an_empty_one():
    assert embedded(report(corpus("p"), REF))["rows"][0][4] == [None]
    assert embedded(report(corpus("p", story("v1")), REF))["rows"][0][4] == [[[], [[]]]]


def test_events_without_words_or_duration():
    ref = corpus("r", story("v1", (0, 10, None)), story("empty"))
    text = report(corpus("p", story("v1", (1, 9, None))), ref)
    assert pairs_of(text) == [[0, 0, 0.8]]
    rows = embedded(text)["rows"]
    assert rows[1][:3] == ["empty", [[None, None]], 0] and rows[1][3] == [[]]  # not scored, last


def test_pairs_are_ordered_and_one_to_one():
    pred = corpus("p", story("v1", (0, 10, "a"), (0, 9, "b"), (10, 18, "c")))
    assert pairs_of(report(pred, REF)) == [[0, 1, 1.0], [1, 2, 0.8]]  # [0, 9] is told before [0, 10]


def test_pairs_are_those_that_soda_c_sums():
    ref = corpus("r", story("v1", (0, 9, "a dog runs over the field"), (0, 10, "a man opens the door")))
    pred = corpus("p", story("v1", (0, 9, "a man opens a door"), (0, 10, "nobody there")))
    assert pairs_of(report(pred, ref)) == [[0, 0, 1.0], [1, 1, 1.0]]  # by time alone
    data = embedded(report(pred, ref, metrics=["SODA_c"]))
    assert data["text"] == "METEOR"
    (pair,) = data["rows"][0][4][0][1][0]
    i, j, iou, meteor, gold, guess, matches = pair
    assert (i, j, iou) == (1, 0, 0.9) and 0 < meteor < 1
    assert (" ".join(gold), " ".join(guess)) == ("a man opens the door", "a man opens a door")
    assert matches == [[0, 0, 1, 1, 0], [1, 1, 1, 1, 0], [2, 2, 1, 1, 0], [3, 3, 2, 2, 3]]  # the door = a door


def test_a_pair_without_a_common_word_is_a_pair():
    pred = corpus("p", story("v1", (0, 10, "xyzzy"), (10, 20, "two")))
    rows = embedded(report(pred, REF, metrics=["SODA_c"]))["rows"]
    assert [pair[:4] for pair in rows[0][4][0][1][0]] == [[0, 0, 1.0, 0.0], [1, 1, 1.0, 1.0]]


def test_words_are_aligned_for_a_bounded_number_of_pairs(monkeypatch):
    monkeypatch.setattr(_data, "ALIGNED", 1)
    pairs = embedded(report(REF, REF, metrics=["SODA_c"]))["rows"][0][4][0][1][0]
    assert [len(pair) for pair in pairs] == [7, 4]


def test_worst_first():
    ref = corpus("r", *(story(f"v{k}", (0, 10, "x")) for k in range(4)))
    pred = corpus("p", *(story(f"v{k}", (0, k + 1, "x")) for k in (3, 1, 2, 0)))
    assert [row[0] for row in embedded(report(pred, ref))["rows"]] == ["v0", "v1", "v2", "v3"]


def test_a_video_counts_once_over_its_reference_sets():
    pred = corpus("p", story("v1", (0, 10, "x")))
    text = report(pred, REF, corpus("r", story("v1", (0, 10, "x"))), metrics=["mIoU"])
    assert embedded(text)["rows"][0][1] == [[(1 / 2 + 1) / 2]]
    assert pairs_of(text, refset=1) == [[0, 0, 1.0]]


def test_ids_meet_as_they_do_in_scoring():
    assert pairs_of(report(corpus("p", story("v_v1", (0, 10, "one"))), REF)) == [[0, 0, 1.0]]


def test_a_video_only_the_second_set_knows():
    second = corpus("second.json", *REF.values(), story("v2", (0, 5, "late")))
    rows = {row[0]: row for row in embedded(report(corpus("p", story("v2", (0, 5, "late"))), REF, second))["rows"]}
    assert rows["v2"][3][0] is None and rows["v2"][4][0][1] == [[], [[0, 0, 1.0, None]]]


def test_two_systems_side_by_side():
    a = fabula.score(corpus("a", story("v1", (0, 10, "one"), (10, 20, "two"))), REF, metrics=METRICS)
    b = fabula.score(corpus("b", story("v1", (0, 10, "one"))), REF, metrics=METRICS)
    text = page(a, "T", other=b)
    data = embedded(text)
    assert data["systems"] == ["a", "b"]
    assert data["rows"][0][1] == [[1.0, 1.0], [0.66667, 0.5]]
    assert pairs_of(text, system=1) == [[0, 0, 1.0]]
    assert "-33.33" in parsed(text).text  # the difference
    assert embedded(page(a, "T", other=a))["systems"] == ["a", "a (2)"]


def test_two_results_of_different_metrics_are_refused():
    a = fabula.score(REF, REF, metrics=["SODA_d"])
    with pytest.raises(SpecError, match="same options"):
        page(a, "T", other=fabula.score(REF, REF, metrics=["mIoU"]))


def test_items(tmp_path):
    path = tmp_path / "pairs.jsonl"
    lines = [{"id": 7, "cand": "a dog", "refs": ["a dog runs", EVIL[:-1]]}, {"id": "7", "cand": "cat", "refs": ["x"]}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = fabula.score(path, task="captions", metrics=["BLEU_1", "ROUGE_L"])
    data = embedded(page(result, "T"))
    assert data["kind"] == "items" and [name for name, *_ in data["metrics"]] == ["BLEU_1", "ROUGE_L"]
    assert data["rows"][1][0] == 7 and data["rows"][1][2:] == [["a dog"], ["a dog runs", EVIL[:-1]]]


def test_a_result_without_its_rows_is_its_summary():
    result = replace(fabula.score(REF, REF, metrics=METRICS), refs=(), predictions=None, rows={})
    text = parsed(page(result, "T"))
    assert "saved without its videos" in text.text and "script" not in {tag for tag, _ in text.tags}


# Scene graphs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def captions(tmp_path):
    def scored(name: str, *said: str, metrics: str = "SPICE,iSPICE"):
        lines = ({"id": k, "cand": c, "refs": ["P1 is holding a lamp."]} for k, c in enumerate(said))
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return fabula.score(tmp_path / name, task="captions", metrics=metrics)

    return scored


def test_scene_graphs_are_what_the_metrics_compared(captions):
    first = captions("a.jsonl", "P4 is holding a lamp.", "a dog")
    second = captions("b.jsonl", "P4 is holding a dog.", "P2 is holding a lamp.")
    data = embedded(page(first, "T", other=second))
    assert data["graphs"] == ["SPICE", "iSPICE"]
    rows = {row[0]: row for row in data["rows"]}
    for s, result in enumerate((first, second)):
        for m, name in enumerate(data["graphs"]):
            for k in (0, 1):
                value, said, gold = rows[k][4][s][m]
                assert value == pytest.approx(result.rows[name]["value"][k], abs=1e-5)
                assert {len(t) for t in said + gold} <= {2, 3, 4} and {t[0] for t in said + gold} <= {0, 1, 2}
    assert [1, "p1", "hold", "lamp"] in rows[0][4][0][1][2] and [2, "lamp"] in rows[0][4][0][1][2]


def test_no_scene_graphs_unasked_and_no_more_than_can_be_made(captions, monkeypatch):
    assert embedded(page(captions("a.jsonl", "a dog", metrics="ROUGE_L"), "T"))["graphs"] == []
    monkeypatch.setattr("fabula.report._graphs.GRAPHED", 2)
    data = embedded(page(captions("a.jsonl", "a dog", "a cat", "P1 holds a lamp.", metrics="SPICE"), "T"))
    assert [row[4][0] is None for row in data["rows"]] == [False, False, True]


def test_scene_graphs_of_captionsets_have_the_renamed_people(tmp_path):
    for name, who in {"r": "P1", "p": "P8"}.items():
        line = {"id": "a", "captions": [f"{who} is holding a lamp.", f"{who} is riding a horse."]}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    result = fabula.score(tmp_path / "p.jsonl", tmp_path / "r.jsonl", task="identity", metrics="SPICE(tok=none),iSPICE")
    for value, said, gold in embedded(page(result, "T"))["rows"][0][4][0]:
        assert value == 1 and said == gold and all(t[0] for t in said)
