"""Pages of every kind of row in a real browser: what matched, what was missed, worst first, wide and narrow.

A picture of each at 1,280 and at 400 px is left in test-screenshots/.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fabula
from fabula import demo
from fabula.core.errors import SpecError
from fabula.data.result import Result
from fabula.report.html import page
from fabula.report.pages import make_page
from fabula.verbs.terminal.beside import find_beside
from tests.moment_toys import lines
from tests.report.test_browser import EVIL, Page

WIDE, NARROW = 1280, 400
LONG = "a_system_whose_name_goes_on_and_on_with_seed_17"


@pytest.fixture
def browser(chromium: Any, tmp_path: Path, screenshots: Path) -> Iterator[Page]:
    opened = Page(chromium, tmp_path, screenshots)
    yield opened
    opened.media()
    opened.quiet()


@contextmanager
def screen(browser: Page, width: int) -> Iterator[None]:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# What is scored -------------------------------------------------------------------------------------------------------


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def moments(folder: Path) -> Result:
    videos = {"kitchen": 0, "garden": 1, EVIL: 2}
    asked = {1: ("kitchen", [0, 10]), 2: ("garden", [20, 30]), 3: (EVIL, [5, 9]), 4: ("kitchen", [40, 50])}
    queries = [
        {"desc_id": i, "vid_name": v, "ts": ts, "duration": 60, "desc": f"{EVIL} query {i}", "type": "v"}
        for i, (v, ts) in asked.items()
    ]
    found = {1: [[0, 0, 10, 0.9], [1, 3, 4, 0.5]], 2: [[0, 1, 2, 0.7], [1, 26, 34, 0.6]], 3: [[2, 30, 40, 0.3]]}
    preds = [{"desc_id": i, "desc": "x", "predictions": rows} for i, rows in found.items()]
    document = {"video2idx": videos, "VCMR": preds, "SVMR": preds}
    return fabula.score(write(folder / "p.json", document), lines(folder / "q.jsonl", queries), task="moments")


def highlights(folder: Path) -> Result:
    common = {"duration": 20, "vid": "beach"}
    refs = [
        {"qid": 1, "query": "a dog swims", **common, "relevant_windows": [[4, 10]], "relevant_clip_ids": [2, 3, 4],
         "saliency_scores": [[4, 3, 4], [4, 4, 4], [2, 1, 0]]},
        {"qid": 2, "query": EVIL, **common, "relevant_windows": [[0, 4], [12, 16]], "relevant_clip_ids": [0, 1, 6, 7],
         "saliency_scores": [[1, 2, 3], [3, 3, 3], [4, 4, 4], [2, 2, 2]]},
    ]  # fmt: skip
    preds = [
        {"qid": 1, "query": "", "vid": "beach", "pred_relevant_windows": [[4, 9, 0.9], [0, 3, 0.2]],
         "pred_saliency_scores": [0, 0.1, 0.9, 1, 0.2, 0, 0, 0, 0, -1]},
        {"qid": 2, "query": "", "vid": "beach", "pred_relevant_windows": [[10, 20, 0.9]],
         "pred_saliency_scores": [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]},
    ]  # fmt: skip
    return fabula.score(lines(folder / "p.jsonl", preds), lines(folder / "q.jsonl", refs), task="highlights")


def grounding(folder: Path) -> Result:
    refs = [{"desc_id": k, "vid_name": "v", "ts": [0, 10], "duration": 30, "desc": f"q{k}"} for k in range(3)]
    preds = {"video2idx": {"v": 0}, "SVMR": [
        {"desc_id": k, "desc": "", "predictions": [[0, 5 * k, 5 * k + 10, 1]]} for k in range(2)]}  # fmt: skip
    return fabula.score(write(folder / "p.json", preds), lines(folder / "q.jsonl", refs), task="grounding")


def regions(folder: Path) -> Result:
    refs = [
        {"image_id": "1", "boxes": [[0, 0, 100, 100], [200, 50, 80, 80], [10, 150, 40, 40]],
         "captions": ["a brown dog", EVIL, "a red ball"]},
        {"image_id": "2", "boxes": [[0, 0, 50, 50]], "captions": ["the sky"]},
        {"image_id": "3", "boxes": [[0, 0, 50, 50]], "captions": ["nothing was found here"]},
    ]  # fmt: skip
    preds = [
        {"image_id": "1", "boxes": [[5, 0, 100, 100], [220, 70, 80, 80], [0, 0, 90, 100], [400, 10, 30, 30]],
         "captions": ["a dog", EVIL, "a brown dog again", "a cup"], "scores": [0.9, 0.8, 0.7, 0.6]},
        {"image_id": "2", "boxes": [[0, 0, 50, 48]], "captions": ["blue sky"], "scores": [0.5]},
    ]  # fmt: skip
    return fabula.score(lines(folder / "p.jsonl", preds), lines(folder / "r.jsonl", refs), task="regions")


def identity(folder: Path) -> Result:
    told = {"film_a": ["P1", "P2", "P1"], "film_b": ["P1", "P1", "P2"], "<b>": ["P1", "P2", "P2"]}
    said = {"film_a": ["P1", "P2", "P1"], "film_b": ["P1", "P2", "P2"]}
    both = [
        [{"id": id, "captions": [f"{a} opens the door.", f"{b} is holding a lamp.", f"{c} leaves the room."]}
         for id, (a, b, c) in side.items()] for side in (said, told)
    ]  # fmt: skip
    files = lines(folder / "p.jsonl", both[0]), lines(folder / "r.jsonl", both[1])
    return fabula.score(*files, task="identity", metrics="FITB,iSPICE,METEOR")


def captions(folder: Path) -> Result:
    items = [
        {"id": 1, "cand": "a man on a wall", "refs": ["a boy brushes his teeth", "the boy is brushing teeth", EVIL]},
        {"id": 2, "cand": "a boy brushes his teeth", "refs": ["a boy brushes his teeth"]},
    ]
    return fabula.score(lines(folder / "pairs.jsonl", items), task="captions", metrics="METEOR,ROUGE_L")


def stories(folder: Path) -> Result:
    return fabula.score(demo.SYSTEMS["good"], list(demo.REFERENCES.values()), metrics="SODA_c,SODA_d,mIoU")


KINDS: dict[str, Callable[[Path], Result]] = {
    "stories": stories,
    "moments": moments,
    "highlights": highlights,
    "grounding": grounding,
    "regions": regions,
    "identity": identity,
    "captions": captions,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return {kind: make(tmp_path_factory.mktemp(kind)) for kind, make in KINDS.items()}


# What holds for all ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_its_screen(browser, results, kind, width, scheme):
    """The page itself never scrolls sideways; tables do so in boxes of their own."""
    browser.media(prefers_color_scheme=scheme)
    with screen(browser, width):
        browser.open(page(results[kind], f"Page of {kind}", names=[LONG]))
        assert browser.js("return document.documentElement.scrollWidth") <= width
        outside = browser.js(
            "return [...document.querySelectorAll('table')].filter((t) => !t.closest('.wide, .box')).length"
        )
        assert outside == 0
        if scheme == "light" or kind in ("moments", "regions"):
            browser.picture(f"kind-{kind}-{width}{'-dark' if scheme == 'dark' else ''}")


@pytest.mark.parametrize("kind", KINDS)
def test_two_systems_of_one_kind(browser, results, kind):
    result = results[kind]
    with screen(browser, NARROW):
        browser.open(page(result, "Two", other=result, names=[LONG, LONG]))
        assert browser.js("return document.documentElement.scrollWidth") <= NARROW
    browser.open(page(result, "Two", other=result, names=[LONG, LONG]))
    heads = [head.strip() for head in browser.texts(".rows thead th")]
    assert heads[1:4] == [LONG, f"{LONG} (2)", "Difference"]  # whole, in two lines if need be
    assert set(browser.column("Difference")) <= {"0.00", "–"}


@pytest.mark.parametrize("kind", KINDS)
def test_everything_can_be_reached_and_is_named(browser, results, kind):
    browser.open(page(results[kind], "Named"))
    bare = browser.js(
        "return [...document.querySelectorAll('a, button, input, select, [tabindex], [role=img], [role=button]')]"
        ".filter((n) => !(n.getAttribute('aria-label') || n.textContent.trim() || n.labels?.length || n.title))"
        ".map((n) => n.outerHTML.slice(0, 80))"
    )
    assert bare == []
    headless = browser.js("return [...document.querySelectorAll('table th:not([scope])')].length")
    assert headless == 0
    if stops := browser.all("#open [tabindex='0']"):
        stops[0].send_keys("\ue014")  # the right arrow goes on to the next
        assert browser.js("return document.activeElement.closest('#open') !== null")


@pytest.mark.parametrize("kind", KINDS)
def test_signatures_are_folded_and_come_last(browser, results, kind):
    browser.open(page(results[kind], "Order"))
    heads = browser.texts("h2")
    assert heads.index("Counts and warnings") > 1 and heads[-1] == "Signatures" and heads[0] == "Scores"
    assert not browser.one(".signatures dl").is_displayed()
    browser.one(".signatures summary").click()
    assert all(score.signature in browser.one(".signatures").text for score in results[kind].scores.values())


def test_rows_without_a_prediction_come_last_and_are_not_opened(browser, results):
    browser.open(page(results["moments"], "Missing"))
    assert browser.ids()[-1] == "4" and browser.title() != "4"
    assert "1 without a prediction last" in browser.texts("#status")[0]
    browser.sort_by("Query")
    browser.sort_by("Query")
    assert browser.ids()[-1] == "4"  # whichever way it is sorted
    browser.js("location.hash = '#query=4'")
    browser.until("return document.querySelector('#open h3').firstChild.data === '4'")
    assert "This query has no answer." in browser.one("#open").text


# What is particular ---------------------------------------------------------------------------------------------------


def test_moments(browser, results):
    browser.open(page(results["moments"], "Moments"), "#query=2")
    assert browser.texts(".said") == [f"{EVIL} query 2"]
    vcmr, svmr = (t.text for t in browser.all(".answers"))
    assert "another video" in vcmr and "kitchen" in vcmr and "0.29" in vcmr and "overlaps too little" in vcmr
    assert "SVMR" in svmr
    assert len(browser.all(".event.reference.missed")) == 1 and len(browser.all(".event.prediction.low")) == 2
    by_id = dict(zip(browser.ids(), browser.column("First IoU"), strict=True))
    assert by_id == {"1": "1.00", "2": "0.00", "3": "0.00", "4": "–"}
    assert dict(zip(browser.ids(), browser.column("Right at"), strict=True))["1"] == "1"
    browser.one("input[type=search]").send_keys("garden")
    browser.until("return document.querySelector('#status').textContent.startsWith('1 of 4')")


def test_answers_in_words(browser, tmp_path):
    refs = [{"id": k, "video": "v", "windows": [[0, 10]], "duration": 30, "text": f"q{k}"} for k in range(3)]
    said = {0: "It happens from 0 to 9 seconds.", 1: f"{EVIL} I cannot tell."}
    preds = lines(tmp_path / "p.jsonl", [{"id": k, "answer": words} for k, words in said.items()])
    result = fabula.score(preds, lines(tmp_path / "q.jsonl", refs), task="grounding")
    browser.open(page(result, "Words"), "#query=0")
    assert said[0] in browser.one(".quoted").text and "0.90" in browser.one(".answers").text
    browser.js("location.hash = '#query=1'")
    browser.until("return document.querySelector('#open h3').firstChild.data === '1'")
    assert "no window was read in it" in browser.one(".quoted").text and EVIL in browser.texts(".quoted")[0]
    assert browser.ids()[-1] == "2"
    browser.one("input[type=search]").send_keys("cannot")
    browser.until("return document.querySelector('#status').textContent.startsWith('1 of 3')")


def test_highlights(browser, results):
    browser.open(page(results["highlights"], "Highlights"), "#query=1")
    assert len(browser.all(".heat")) == 8  # marks above 0, of three annotators
    assert len(browser.all(".salient")) == 10
    assert browser.all(".salient title")[3].get_attribute("textContent") == "clip 3: 1"
    heights = browser.js("return [...document.querySelectorAll('.salient')].map((n) => +n.getAttribute('height'))")
    assert heights.index(max(heights)) == 3 and heights.index(min(heights)) == 9
    assert browser.one(".event.prediction").accessible_name.endswith("IoU 0.83")
    browser.picture("highlights", "#open")


def test_regions_on_an_empty_sheet(browser, results):
    browser.open(page(results["regions"], "Regions"), "#image=1")
    assert "empty sheet" in browser.one(".pictured").text
    kinds = {k: len(browser.all(f".region.{k}")) for k in ("reference", "prediction", "missed", "extra", "low")}
    assert kinds == {"reference": 3, "prediction": 4, "missed": 1, "extra": 2, "low": 2}
    words = browser.texts(".regions tbody tr")
    assert words[0].startswith("a red ball–") and words[0].endswith("missed")  # worst first
    assert any("a surer one has the reference" in line for line in words)
    assert any("overlaps no reference" in line for line in words)
    row = dict(
        zip(browser.ids(), zip(*map(browser.column, ("Paired", "Missed", "Unmatched")), strict=True), strict=True)
    )
    assert row == {"1": ("1", "1", "2"), "2": ("1", "0", "0"), "3": ("0", "1", "0")}
    assert browser.ids()[-1] == "3"  # nothing was detected
    browser.js("document.querySelector('.region').focus()")
    assert browser.js("return document.querySelectorAll('.region.lit').length") == 2  # with its partner
    box = browser.all(".switch input")[0]
    box.click()
    assert not browser.all(".region.reference:not(.missed):not(.hidden)")


def png(path: Path, width: int, height: int) -> Path:
    raw = b"".join(b"\0" + bytes(v for x in range(width) for v in (x % 256, y % 256, 99)) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))
    return path


def test_boxes_lie_over_the_image(browser, results, tmp_path):
    folder = tmp_path / "images #1"
    folder.mkdir()
    png(folder / "1.png", 600, 300)
    beside = find_beside(results["regions"], images=folder)
    assert beside.notes == ("2 of 3 images are not in images #1: '2', '3'",)
    html = make_page([results["regions"]], [Path("p.jsonl")], beside=beside, folder=tmp_path)
    browser.open(html, "#image=1")
    browser.until("return document.querySelector('.sheet').getAttribute('viewBox') === '0 0 600 300'")
    assert browser.js("return document.querySelector('.sheet image').getAttribute('href')") == "images%20%231/1.png"
    assert browser.texts("#app ~ p, section p.meta")[0] == beside.notes[0]
    sheet, box = browser.one(".sheet").rect, browser.one(".region").rect
    assert box["x"] == pytest.approx(sheet["x"], abs=4) and box["width"] == pytest.approx(sheet["width"] / 6, abs=4)
    browser.picture("kind-regions-image", "#open")


def test_identity(browser, results):
    browser.open(page(results["identity"], "Identity"), "#item=film_b")
    blanks = browser.texts(".blanks tbody tr")
    assert blanks == ["film_b 1P1P11 of 2 in doubt", "film_b 2P1P20 of 2 in doubt", "film_b 3P2P21 of 2 in doubt"]
    cells = {kind: len(browser.all(f".pairgrid rect.{kind}")) for kind in ("right", "split", "joined", "open")}
    assert cells == {"right": 1, "split": 1, "joined": 1, "open": 0}
    same = [browser.js("return arguments[0].className", n) for n in browser.all(".blanks .person")]
    assert same[0] == same[1] and same[4] == same[5] != same[0]  # P1 as P1, P2 as P2
    assert browser.all("details.graphs")
    by_id = dict(zip(browser.ids(), browser.column("Blanks in doubt"), strict=True))
    assert by_id["film_a"] == "0" and by_id["film_b"] == "3"
    assert browser.ids()[-1] == "<b>" and by_id["<b>"] == "3"
    browser.picture("identity", "#open")


def test_clips_side_by_side(browser, tmp_path):
    """Frames, truth and prediction of a captionset: a picture per clip, or the clip's name."""
    names = ["f-1", "f-2", EVIL]
    truth = {"id": "set", "captions": ["P4 runs.", "P2 hugs P4.", "P2 waits."], "clips": names}
    filled = {"id": "set", "blanks": [["P1"], ["P1", "P3"], ["P1"]]}
    own = {"id": "set", "captions": ["P1 walks.", "Nobody is there."]}
    files = [lines(tmp_path / f"{k}.jsonl", [one]) for k, one in enumerate((filled, own, truth))]
    results = [fabula.score(file, files[2], task="identity", metrics="FITB") for file in files[:1]]
    frames = tmp_path / "frames"
    frames.mkdir()
    png(frames / "f-1.png", 64, 36)
    beside = find_beside(results[0], images=frames)
    assert beside.notes[0].startswith("2 of 3 images are not in frames: 'f-2', ")
    html = make_page(results, [Path("filled.jsonl")], beside=beside, folder=tmp_path)
    browser.open(html, "#item=set")
    assert browser.js("return document.querySelector('.clips img').naturalWidth") == 64
    assert browser.texts(".clips .still.none") == ["f-2", EVIL]
    assert browser.texts(".clips dd") == [
        "P4 runs.", "P1 runs.", "P2 hugs P4.", "P1 hugs P3.", "P2 waits.", "P1 waits.",
    ]  # fmt: skip
    kinds = [browser.js("return arguments[0].className", node) for node in browser.all(".clips .person")]
    # truth P4 is the first person, P2 the second; predicted P1 stands twice for P2 and once for P4, P3 for P4
    assert kinds == [f"person p{k}" for k in (0, 1, 1, 0, 1, 0, 1, 1)]
    browser.picture("identity-clips", "#open")
    browser.driver.set_window_size(420, 900)
    assert browser.js("return document.documentElement.scrollWidth <= innerWidth")
    browser.driver.set_window_size(1280, 1000)
    result = fabula.score(files[1], files[2], task="identity", metrics="METEOR")
    browser.open(page(result, "Captions"), "#item=set")
    assert len(browser.all(".clips .still.none")) == 3
    assert browser.texts(".clips dd")[1::2] == ["P1 walks.", "Nobody is there.", "nothing"]


@pytest.mark.parametrize("kind", ["moments", "regions", "identity"])
def test_other_references_are_refused(results, tmp_path, kind):
    other = KINDS[kind](tmp_path)
    assert page(results[kind], "T", other=other)
    path = next(p for p in (tmp_path / "q.jsonl", tmp_path / "r.jsonl") if p.exists())
    path.write_text(path.read_text().splitlines()[0] + "\n")
    fewer = fabula.score(next(tmp_path.glob("p.json*")), path, task=kind, metrics=list(other.metrics.values()))
    with pytest.raises(SpecError, match="same references"):
        page(results[kind], "T", other=fewer)


def test_blanks_alone(browser, tmp_path, shared_data):
    """LSMDC's own files: ids, no captions."""
    folder = shared_data / "lsmdc_fillin"
    result = fabula.score(
        folder / "derived_pred_all_same.csv", folder / "references_val_new.csv", task="identity",
        sets=folder / "valSets.csv",
    )  # fmt: skip
    browser.open(page(result, "Fill-in"))
    assert browser.all(".blanks") and browser.all(".pairgrid rect.joined") and not browser.all(".said")
    assert "FITB instance" in browser.texts("#status")[0]


def test_captions(browser, results):
    browser.open(page(results["captions"], "Captions"), "#item=1")
    assert browser.texts(".said mark") == ["a", "a"]
    assert browser.texts(".missing .tag") == ["boy", "teeth"]
    assert browser.ids() == ["1", "2"]
