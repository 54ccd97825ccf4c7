"""The HTML report: self-contained, well-formed, every user string escaped, nothing left out."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import fabula
from fabula import demo
from fabula.core.nouns import Corpus, Event, Segment, Story
from fabula.report._timeline import clock, lanes
from fabula.report.html import page

VOID = {"meta", "wbr"}
METRICS = ["SODA_d", "mIoU"]
EVIL = "<script>alert(1)</script> \"&' \ud800"


class Balance(HTMLParser):
    """Fails on a tag that is not closed in its place; keeps tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
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


def story(video: str, *events: tuple[float, float, str | None], duration: float | None = None) -> Story:
    return Story(video, tuple(Event(Segment(a, b), caption) for a, b, caption in events), duration)


def corpus(name: str, *stories: Story) -> Corpus:
    return Corpus({s.id: s for s in stories}, name=name)


def report(pred: Corpus, *refs: Corpus, title: str = "T", metrics: list[str] = METRICS, **options: int) -> str:
    return page(fabula.score(pred, refs, metrics=metrics), refs, pred, title, **options)


REF = corpus("ref.json", story("v1", (0, 10, "one"), (10, 20, "two"), duration=20))


@pytest.fixture(scope="module", params=list(demo.SYSTEMS))
def demo_page(request) -> str:
    refs = [fabula.read(path)[0] for path in demo.REFERENCES.values()]
    return report(fabula.read(demo.SYSTEMS[request.param])[0], *refs, title="Demo")


def test_well_formed_and_self_contained(demo_page):
    parser = parsed(demo_page)
    assert not re.search(r"https?://|//|url\(|@import", re.sub(r"/\*.*?\*/", "", demo_page))
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in parser.tags}
    assert not any(key in ("src", "href") or key.startswith("on") for _, attrs in parser.tags for key in attrs)
    assert [tag for tag, _ in parser.tags].count("h1") == 1
    assert all("scope" in attrs for tag, attrs in parser.tags if tag == "th")


def test_every_video_and_its_words_are_there(demo_page):
    parser = parsed(demo_page)
    for path in demo.REFERENCES.values():
        for video, told in fabula.read(path)[0].items():
            assert f"Timeline of {video}" in parser.text
            assert all(caption in parser.text for caption in told.captions)


def test_scores_stand_with_their_signatures():
    pred = corpus("p", story("v1", (0, 10, "one"), (10, 20, "two")))
    result = fabula.score(pred, REF, metrics=METRICS)
    text = parsed(page(result, [REF], pred, "T")).text
    assert "100.00" in text
    assert all(score.signature in text for score in result.scores.values())
    result = replace(result, scores={"SODA_d": replace(result["SODA_d"], ci={"f1": (0.125, 1.0)})})
    assert "12.50 to 100.00" in parsed(page(result, [REF], pred, "T")).text


def test_user_strings_stay_text():
    ref = corpus(EVIL, story(EVIL, (0, 10, EVIL), (5, 4, EVIL), duration=10))
    text = page(fabula.score(ref, corpus("r", story(EVIL, (0, 10, "x"))), metrics=METRICS), [ref, ref], ref, EVIL)
    parser = parsed(text)
    assert "<script" not in text and "alert(1)" in text
    assert "script" not in {tag for tag, _ in parser.tags}
    assert "<script>alert(1)</script> \"&' ?" in parser.text
    text.encode("utf-8")


def test_warnings_are_listed_or_said_to_be_none():
    told = story("v1", (0, 10, "one"), (10, 20, "two"))
    assert "No warnings." in report(corpus("p", told), REF)
    text = report(corpus("p", told, story("stranger", (0, 1, "x"))), REF)
    assert "No warnings." not in text and "&#x27;stranger&#x27;" in text


def test_malformed_events_are_listed_not_drawn():
    text = report(corpus("p", story("v1", (0, 10, "one"), (18, 12, "backwards"), (-3, 2, "early"))), REF)
    assert "p: [18, 12] backwards" in text and "p: [-3, 2] early" in text
    assert text.count('class="prediction') - text.count('<i class="prediction') == 1
    parsed(text)


def test_empty_prediction():
    text = report(corpus("p"), REF)
    assert "This video has no prediction." in text and "0.00" in text
    parsed(text)
    assert "This video has no prediction." not in report(corpus("p", story("v1")), REF)


def test_events_without_words_or_duration():
    ref = corpus("r", story("v1", (0, 10, None)), story("empty"))
    text = report(corpus("p", story("v1", (1, 9, None))), ref)
    assert "IoU 0.80" in text and "not scored" in text
    parsed(text)


def test_matched_pairs_are_ordered_and_one_to_one():
    pred = corpus("p", story("v1", (0, 10, "a"), (0, 9, "b"), (10, 18, "c")))
    text = report(pred, REF)
    assert re.findall(r"<title>IoU ([\d.]+)</title>", text) == ["1.00", "0.80"]
    assert text.count('class="prediction lone"') == 2  # the legend and b


def test_worst_first_and_the_limit_is_said():
    ref = corpus("r", *(story(f"v{k}", (0, 10, "x")) for k in range(4)))
    pred = corpus("p", *(story(f"v{k}", (0, k + 1, "x")) for k in (3, 1, 2, 0)))
    text = report(pred, ref, limit=3)
    assert re.findall(r"Timeline of (\w+)", text) == ["v0", "v1", "v2"]
    assert "Worst first by SODA_d; 3 of 4 are shown" in text


def test_a_video_counts_once_over_its_reference_sets():
    rows = fabula.score(
        corpus("p", story("v1", (0, 10, "x"))), [REF, corpus("r", story("v1", (0, 10, "x")))], metrics=["mIoU"]
    ).rows["mIoU"]
    assert rows.by_key("value") == {"v1": (1 / 2 + 1) / 2}


def test_ids_meet_as_they_do_in_scoring():
    text = report(corpus("p", story("v_v1", (0, 10, "one"))), REF)
    assert "IoU 1.00" in text and "no prediction" not in text


def test_a_video_only_the_second_set_knows():
    second = corpus("second.json", *REF.values(), story("v2", (0, 5, "late")))
    text = report(corpus("p", story("v2", (0, 5, "late"))), REF, second)
    assert "Timeline of v2" in text and "IoU 1.00" in text


def test_layout():
    events = story("v", (0, 10, ""), (0, 5, ""), (5, 10, ""), (10, 12, "")).events
    assert lanes(events) == [0, 1, 1, 0]
    assert clock(83.4) == "1:23" and clock(3600) == "60:00"
    crowd = corpus("p", story("v1", *((0, 20, f"c{k}") for k in range(12))))
    text = report(crowd, REF)
    assert 'height="9"' in text and "c11" in text
    long = corpus("r", story("v1", (0, 100_000, "long")))
    assert len(re.findall('class="tick"', report(long, long))) <= 11
