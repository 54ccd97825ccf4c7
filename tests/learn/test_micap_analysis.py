"""`fabula analyse micap`: Fig. 4, 5 and 6 of a run, as numbers, SVG and a page; densities against a sum by hand."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.learn.identity.analysis import GRID, Blanks, density  # noqa: E402
from fabula.learn.identity.attention import FaceShares  # noqa: E402
from fabula.learn.identity.grounding import Grounding, share_person  # noqa: E402
from fabula.report.captionsets import Look, ShownClip, ShownSet, captionset_page  # noqa: E402
from fabula.verbs.command_line import fabula as command  # noqa: E402
from tests.learn.test_micap_task import FAST, SHAPE, run, world  # noqa: E402, F401


def test_densities_integrate_to_one() -> None:
    draw = np.random.default_rng(0)
    for x in (draw.random(200), draw.beta(8, 2, 50), np.array([0.0, 0.0, 1.0]), np.array([0.3])):
        y = density(x)
        assert ((y[1:] + y[:-1]) / 2 * 0.01).sum() == pytest.approx(1, abs=0.02)
    x = draw.beta(2, 6, 4000)
    inside = GRID >= 0.1  # mirrored at 0, a density that rises there is flattened
    np.testing.assert_allclose(density(x)[inside], (42 * GRID * (1 - GRID) ** 5)[inside], atol=0.35)  # Beta(2, 6)


def test_faces_are_summed_by_cluster_and_clip() -> None:
    shares = FaceShares((5,), np.array([[0.1, 0.2, 0.3, 0.4]]), np.array([0, 1, 0, 0]), np.array([0, 0, 0, 1]))
    pairs, by_pair = shares.by_cluster_and_clip()
    assert pairs == [(0, 0), (0, 1), (1, 0)]
    np.testing.assert_allclose(by_pair, [[0.4, 0.4, 0.2]])
    np.testing.assert_allclose(shares.by_cluster(), [[0.8, 0.2]])


def test_figures_of_a_run(run: Path, world: Path, tmp_path: Path) -> None:  # noqa: F811
    told = {"data": world, "split": "test", "features": world, "eps": (0.05, 0.6, 2.0), "most": 1}
    made = fabula.analyse("micap", run, tmp_path, **told)
    assert [figure.name for figure in made.figures] == ["fig4", "fig5-1", "fig6"]
    numbers = json.loads((tmp_path / "analysis.json").read_text())
    for kind in ("person tokens", "caption tokens"):
        if numbers["streams"][kind]:
            means = [stream["mean"] for stream in numbers["streams"][kind].values()]
            assert sum(means) == pytest.approx(1, abs=1e-6)
    (one,) = numbers["faces"].values()
    np.testing.assert_allclose(np.array(one["faces"]).sum(1), 1, atol=1e-4)
    clusters = [numbers["eps"][e]["clusters"] for e in ("0.05", "0.6", "2")]
    assert all(a >= b >= c == 1 for a, b, c in zip(*clusters, strict=True))  # nearer people are fewer people
    assert max(clusters[0]) > 1
    for name in ("fig4", "fig5-1", "fig6"):
        ET.parse(tmp_path / f"{name}.svg")
    assert (tmp_path / "index.html").read_text().count("<svg") == sum(len(f.panels) for f in made.figures)
    assert any("simulated" in note for note in made.notes)


def test_command_line(run: Path, world: Path, tmp_path: Path) -> None:  # noqa: F811
    words = ["analyse", "micap", str(run), "--data", str(world), "--features", str(world), "--eps", "0.3,0.6",
             "--most", "0", "-o", str(tmp_path / "figures")]  # fmt: skip
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    assert "0.3: " in (tmp_path / "figures" / "fig6.svg").read_text()
    unsaid = [*words[:7], "-o", str(tmp_path / "more")]
    assert CliRunner().invoke(command, unsaid).exit_code == 0
    assert len(json.loads((tmp_path / "more" / "analysis.json").read_text())["eps"]) == 7
    again = CliRunner().invoke(command, words)
    assert isinstance(again.exception, InputError) and "exists already" in str(again.exception)
    none = CliRunner().invoke(command, ["analyse", "pss", str(run)])
    assert none.exit_code == 2 and "the task 'pss' has no analyse" in none.output


def test_what_cannot_be_looked_at(run: Path, world: Path, tmp_path: Path) -> None:  # noqa: F811
    told = {"data": world, "features": world}
    with pytest.raises(InputError, match="'nobody': no such videoset"):
        fabula.analyse("micap", run, sets="nobody", **told)
    with pytest.raises(SpecError, match="between 0 and 2"):
        fabula.analyse("micap", run, eps=3.0, **told)
    with pytest.raises(SpecError, match="offers no analysis"):
        fabula.analyse("pss", run)
    fabula.train("micap", tiny=True, task="caption", streams="frame,action", set_=SHAPE, settings={**FAST, "epochs": 1},
                 out=tmp_path / "captions", **told)  # fmt: skip
    made = fabula.analyse("micap", tmp_path / "captions", **told)
    assert [figure.name for figure in made.figures] == ["fig4"] and "no Fig. 5 and 6" in made.notes[-1]


# --- Fig. 5's words, and grounding -----------------------------------------------------------------------------------


def test_blanks_have_their_clip_and_truth() -> None:
    blanks = Blanks.of(["P3 enters.", "P1 smiles at P3, and [BLANK] sits."], [7, 7, 2, 4])
    assert blanks.rows() == (
        "blank 1, clip 1: P1 (truth P1)",
        "blank 2, clip 2: P1 (truth P2)",
        "blank 3, clip 2: P2 (truth P1)",
        "blank 4, clip 2: P3",
    )
    assert blanks.lines(["a", "b"]) == (
        "clip 1, a: P1[1] enters.",
        "clip 2, b: P2[2] smiles at P1[3], and [BLANK][4] sits.",
    )


def test_fig_5_says_truth_clip_and_captions(run: Path, world: Path, tmp_path: Path) -> None:  # noqa: F811
    fabula.analyse("micap", run, tmp_path, data=world, split="test", features=world, eps=(0.6,), most=1)
    drawn, page = (tmp_path / "fig5-1.svg").read_text(), (tmp_path / "index.html").read_text()
    ((name, one),) = json.loads((tmp_path / "analysis.json").read_text())["faces"].items()
    assert len(one["truth"]) == len(one["clip_of_blank"]) == len(one["filled"])
    for place in (drawn, page):
        assert f"blank 1, clip 1: P1 (truth {one['truth'][0]})" in place and f"clip 5, {name[:-1]}4: " in place
    assert ET.fromstring(drawn).get("viewBox") is not None


def test_grounding_on_paper() -> None:
    attention = np.array([0.5, 0.3, 0.2, 0.0])
    assert share_person(attention, np.array([True, False, True, False])) == (0.7, 1.0, 0.5)
    assert share_person(attention, np.array([False, True, False, False])) == (0.3, 0.0, 0.25)
    assert share_person(np.full(4, 0.25), np.array([True, False, False, False])) == (0.25, 0.25, 0.25)  # all look alike
    rows = (
        {"set": "a", "mass": 0.7, "first": 1.0, "chance": 0.5},
        {"set": "b", "mass": 0.3, "first": 0.0, "chance": 0.25},
    )
    found = Grounding(rows, 3, 1, 2)
    assert found.scores() == {"mass": 0.5, "first": 0.5, "chance": 0.375}
    assert "chance 37.50; 2 videosets, 3 blanks; 1 blanks without a face and 2 without" in found.describe()
    assert "no blank's person is known and seen" in Grounding((), 0, 1, 2).describe()


def test_grounding_of_a_run(run: Path, world: Path, tmp_path: Path) -> None:  # noqa: F811
    given = ["--data", str(world), "--features", str(world), "--eps", "0.6", "--most", "0"]
    truth = ["--who", str(world / "who.jsonl"), "--truth", str(world / "who.safetensors")]
    words = ["analyse", "micap", str(run), *given, *truth, "-o", str(tmp_path / "figures")]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    assert "grounding ×100: attention to the right person's faces" in done.output
    numbers = json.loads((tmp_path / "figures" / "analysis.json").read_text())["grounding"]
    assert numbers["rows"] and 0 < numbers["chance"] < 1 and 0 <= numbers["first"] <= 1
    for field in ("mass", "first", "chance"):
        assert numbers[field] == pytest.approx(np.mean([row[field] for row in numbers["rows"]]))
    assert numbers["blanks"] == sum(row["blanks"] for row in numbers["rows"]) and numbers["unknown"] == 0


def test_who_is_who_that_is_refused(run: Path, world: Path, tmp_path: Path) -> None:  # noqa: F811
    given = {"data": world, "features": world, "eps": (0.6,), "most": 0}
    with pytest.raises(SpecError, match="--truth only applies with --who"):
        fabula.analyse("micap", run, truth=world, **given)
    who = tmp_path / "who.jsonl"
    first = json.loads((world / "who.jsonl").read_text().splitlines()[0])
    for line, match in (
        ({"id": "x"}, "expected a set with its people"),
        ({**first, "people": {"P1": "Anna"}}, "P1 is 'Anna', which is neither a number nor a name of the cast"),
    ):
        who.write_text(json.dumps(line) + "\n")
        with pytest.raises(InputError, match=match):
            fabula.analyse("micap", run, who=who, **given)
    with pytest.raises(InputError, match=r"boxes of shape .* the sixth number of each face's row says whose it is"):
        fabula.analyse("micap", run, who=world / "who.jsonl", **given)  # the world's own boxes do not say it


# --- the page of captionsets -----------------------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)  # what a page holds is not looked at


def test_captionsets_side_by_side(run: Path, world: Path, tmp_path: Path) -> None:  # noqa: F811
    given = {"data": world, "split": "test", "features": world, "eps": (0.6,), "most": 2}
    plain, frames, films = (tmp_path / name for name in ("plain", "frames", "films"))
    for folder in (plain, frames, films):
        folder.mkdir()
    built = fabula.analyse("micap", run, plain, **given)
    page, names = (plain / "sets.html").read_text(), list(built.numbers["faces"])
    assert page.count('<section class="clips"') == 2 and page.count('class="still none"') == 10 and "<img" not in page
    assert all(f">{name}</h2>" in page for name in names) and 'href="sets.html"' in (plain / "index.html").read_text()
    assert page.count("<dt>Truth</dt>") == page.count("<dt>Filled in</dt>") == page.count("<dt>Caption</dt>") == 10
    blanks = sum(len(built.numbers["faces"][name]["filled"]) for name in names)
    assert page.count("<li><b>blank ") == blanks and 'class="person p0"' in page
    (films / f"{names[0]}.png").write_bytes(PNG)
    built = fabula.analyse("micap", run, frames, films=films, **given)
    page = (frames / "sets.html").read_text()
    assert page.count("data:image/png;base64,") == 1 and page.count('class="still none"') == 9
    assert any("9 clips are not in films" in note for note in built.notes)
    (films / f"{names[0]}.png").rename(films / "other.png")
    with pytest.raises(InputError, match="no file has the name of a row"):
        fabula.analyse("micap", run, films=films, **given)


def test_a_page_of_captionsets_on_paper() -> None:
    evil = "<b>&"
    look = Look("blank 1, P1:", (("person 0 in clip 1", 0.75), ("person 1 in clip 1", 0.25)))
    first = ShownClip(evil, None, "P1 hugs P2.", "P2 hugs P2.", "P3 waits.", (look,))
    second = ShownClip("x", b"\xff\xd8\xff", "P2 sits.", "P2 sits.", None)
    page = captionset_page([ShownSet("a", (first, second))], evil)
    assert page.count("&lt;b&gt;&amp;") == 4 and evil not in page and "data:image/jpeg;base64,/9j/" in page
    chip = '<span class="person p{}">{}</span>'.format
    assert f"<dd>{chip(0, 'P1')} hugs {chip(1, 'P2')}.</dd>" in page
    assert f"<dd>{chip(1, 'P2')} hugs {chip(1, 'P2')}.</dd>" in page  # stands for P2 twice, for P1 once
    assert f"<dd>{chip(0, 'P3')} waits.</dd>" in page and '<dd><span class="tag missed">nothing</span></dd>' in page
    assert "<li><b>blank 1, P1:</b> person 0 in clip 1 75 %, person 1 in clip 1 25 %</li>" in page
    odd = captionset_page([ShownSet("a", (ShownClip("x", None, "P1 sits.", "P4 sees P5.", None),))], "odd")
    assert f"<dd>{chip(0, 'P4')} sees {chip(1, 'P5')}.</dd>" in odd  # blanks that do not correspond
