"""`train pss` and `predict pss`: confidences in the file, true segments as proposals, the loss of PSS's authors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import SpecError  # noqa: E402
from fabula.learn.config import configure  # noqa: E402
from fabula.learn.models.pdvc import Config, Layer, Model, iou  # noqa: E402
from fabula.learn.tasks.pss import Task  # noqa: E402

SMALL = ["hidden=16", "heads=2", "feedforward=16", "norm_groups=4", "word_dim=8", "rnn=8", "frames=24", "queries=6"]


@pytest.fixture(scope="module")
def runs(small, tmp_path_factory) -> dict[str, Path]:
    """One epoch each: learned proposals, and true ones."""
    folder = tmp_path_factory.mktemp("runs")
    asked = {"data": small.annotations, "features": small.features, "tiny": True, "epochs": 1, "threads": 1}
    for name in ("learned", "gt"):
        fabula.train("pss", **asked, out=folder / name, set_=[*SMALL, f"proposals={name}"])
    return {name: folder / name / "last.safetensors" for name in ("learned", "gt")}


def predict(small, run: Path, out: Path | None = None, **more):
    return fabula.predict("pss", run, out, features=small.features, data=small.annotations, **more)


def test_predictions_carry_their_confidence_and_top_n_is_formed_of_them(small, runs, tmp_path):
    out = tmp_path / "out.json"
    told = predict(small, runs["learned"], out)
    events = next(iter(json.loads(out.read_text())["results"].values()))
    assert all(set(event) == {"sentence", "timestamp", "proposal_score"} for event in events)
    again, _ = fabula.read(out)
    assert {v: [e.score for e in s.events] for v, s in again.items()} == {
        v: [e.score for e in s.events] for v, s in told.items()
    }
    best = {v: max(s.events, key=lambda e: e.score) for v, s in told.items()}
    by_hand = {v: replace(s, events=(best[v],)) for v, s in told.items()}
    scores = fabula.score(out, small.annotations, metrics="PRF(top=1)@0.1,mIoU(top=1),mJaccard(top=1)")
    alone = fabula.score(by_hand, small.annotations, metrics="PRF@0.1,mIoU,mJaccard")
    assert {n: s.values for n, s in scores.scores.items()} == {n: s.values for n, s in alone.scores.items()}


def test_as_many_events_as_are_asked_for(small, runs):
    three, all_of_them = (predict(small, runs["learned"], set_=f"top={n}") for n in (3, 99))
    for video, story in all_of_them.items():
        assert len(story) == 6  # queries
        best = sorted(story.events, key=lambda e: -e.score)[:3]
        assert {e.segment for e in three[video].events} == {e.segment for e in best}


def test_a_run_of_true_proposals_captions_the_true_segments(small, runs, tmp_path):
    told = predict(small, runs["gt"], set_="proposals=gt")  # what the run has already is no change
    assert fabula.score(told, small.annotations, metrics="SODA_d")["SODA_d"].values["f1"] == pytest.approx(1, abs=1e-5)
    with pytest.raises(SpecError, match=r"captions true segments .* --data that has them"):
        fabula.predict("pss", runs["gt"], features=small.features)  # durations of the store, and no steps


def test_a_run_of_learned_proposals_cannot_take_true_ones(small, runs):
    with pytest.raises(SpecError, match=r"^proposals is fixed .* or train a run with --set proposals=gt$"):
        predict(small, runs["learned"], set_="proposals=gt")


def test_the_loss_of_the_authors_is_one_preset():
    for name in ("pss-youcook2", "pss-tasty"):
        config = configure(Config(vocabulary=("a", "<unk>")), Task.presets[name].config_of("pdvc"))
        plain = Task.presets[name.removeprefix("pss-")]
        assert (config.matcher, config.soft_class, config.compat_independent_sort) == ("soft", True, True)
        assert (config.cost, config.cost_class, config.cost_giou) == ("class+giou", 2.0, 4.0)
        rest = configure(config, {"matcher": "hungarian", "soft_class": False, "compat_independent_sort": False})
        assert rest == configure(Config(vocabulary=("a", "<unk>")), plain.config_of("pdvc"))
        assert Task.presets[name].options == plain.options


def test_the_cost_of_the_papers_text_is_minus_iou():
    model = Model(Config.tiny(hidden=8, heads=2, norm_groups=4, captioner="none", matcher="soft", cost="iou"))
    steps = torch.tensor([[[5.0, 10], [11, 19], [28, 32]]])
    proposals = torch.tensor([[[3.0, 7], [4, 14], [15, 33], [24, 30], [25, 33], [37, 45]]])  # the authors' notebook
    expected = [[2 / 7, 0.5, 0, 0, 0, 0], [0, 0.2, 2 / 11, 0, 0, 0], [0, 0, 2 / 9, 0.25, 0.5, 0]]
    torch.testing.assert_close(iou(steps, proposals)[0], torch.tensor(expected), atol=1e-5, rtol=0)
    boxes, targets = (torch.stack([x.mean(-1), x[..., 1] - x[..., 0]], -1) / 50 for x in (proposals, steps))
    cost = model.cost(torch.zeros(1, 6), boxes, targets)
    torch.testing.assert_close(cost[0].T, -torch.tensor(expected), atol=1e-4, rtol=0)
    layer = Layer(torch.zeros(1, 6, 8), boxes[..., :1], torch.zeros(1, 6), boxes, torch.zeros(1, 21))
    pairs, soft = model.match_layers([layer], targets, torch.ones(1, 3, dtype=torch.bool))
    assert [(q, t) for _, q, t in zip(*(x.tolist() for x in pairs[0]), strict=True)] == [(1, 0), (2, 1), (4, 2)]
    assert soft.item() == pytest.approx(-(0.5 + 2 / 11 + 0.5) / 3, abs=1e-4)
    with pytest.raises(SpecError, match="cost=iou has no effect with matcher=marginal"):
        Model(replace(model.config, matcher="marginal"))
