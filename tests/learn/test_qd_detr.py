"""QD-DETR: the published model's numbers, each loss against a loop, and what the whole must be able to learn."""

from __future__ import annotations

import argparse
import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("scipy", reason="training needs fabula[learn]")
pytest.importorskip("safetensors", reason="training needs fabula[learn]")

from fabula.core.errors import InputError  # noqa: E402
from fabula.learn import official  # noqa: E402
from fabula.learn.models import qd_detr  # noqa: E402
from fabula.learn.models.qd_detr import Config, DetectedWindows, HighlightBatch, Model, giou, to_box, to_span  # noqa: E402
from tests.learn.model_vectors import cases, numbers, tensors  # noqa: E402

CASES = cases("qddetr")
FAITHFUL: dict[str, Any] = {"compat_mixed_masks": True, "rivals": "all", "compat_duration": True}


def config_of(case: Path, **changes: Any) -> Config:
    a = numbers(case, "config")["args"]
    told = {
        "feature_dim": a["v_feat_dim"], "ends": False, "query_dim": a["t_feat_dim"], "hidden": a["hidden_dim"],
        "heads": a["nheads"],
        "encoder_layers": a["enc_layers"], "decoder_layers": a["dec_layers"], "feedforward": a["dim_feedforward"],
        "projections": a["n_input_proj"], "input_dropout": a["input_dropout"], "dropout": a["dropout"],
        "queries": a["num_queries"], "cost_span": a["set_cost_span"], "cost_giou": a["set_cost_giou"],
        "cost_class": a["set_cost_class"], "weight_span": a["span_loss_coef"], "weight_giou": a["giou_loss_coef"],
        "weight_label": a["label_loss_coef"], "weight_saliency": a["lw_saliency"], "background": a["eos_coef"],
        "margin": a["saliency_margin"], "early": a["aux_loss"], **FAITHFUL,
    }  # fmt: skip
    return Config(**told | changes)


def batch_of(case: Path) -> HighlightBatch:
    i, c = tensors(case, "inputs"), numbers(case, "config")["case"]
    spans = [i[f"spans_{b}"] for b in range(len(i["src_vid"]))]
    K = max(map(len, spans))
    windows, mask = torch.zeros(len(spans), K, 2), torch.zeros(len(spans), K, dtype=torch.bool)
    for b, one in enumerate(spans):
        windows[b, : len(one)], mask[b, : len(one)] = to_span(one), True
    return HighlightBatch(
        list(range(len(spans))), i["src_vid"], i["src_vid_mask"].bool(), i["src_txt"], i["src_txt_mask"].bool(),
        torch.tensor(c["durations"]), windows, mask, i["saliency_all_labels"], i["saliency_pos_labels"],
        i["saliency_neg_labels"],
    )  # fmt: skip


def model_of(case: Path, **changes: Any) -> Model:
    model = Model(config_of(case, **changes))
    model.load_state_dict(rename(tensors(case, "params")))
    return model


def near(ours: Any, theirs: Any, atol: float, rtol: float = 0.0) -> None:
    torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), atol=atol, rtol=rtol)


def rename(state: dict[str, Any]) -> dict[str, Any]:
    """A published state under our names."""
    return official.rename(state, official.TABLES["qd_detr"], "a file")[0]


# -- the published model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_those_of_the_published_model(case: Path):
    model, batch, theirs = model_of(case), batch_of(case), tensors(case, "train_outputs")
    found = model(batch, negatives=True)
    near(model.from_clips(batch.features), theirs["hook.input_vid_proj"], 1e-5)
    near(model.from_words(batch.words), theirs["hook.input_txt_proj"], 1e-5)
    near(qd_detr.clip_places(batch.mask, model.config.hidden), theirs["hook.position_embed"], 1e-5)
    near(found.logits, theirs["hook.class_embed"], 1e-4)
    near(found.boxes[-1], theirs["pred_spans"], 1e-5)
    for i in range(len(found.boxes) - 1):
        near(found.boxes[i], theirs[f"aux{i}.pred_spans"], 1e-5)
        near(found.logits[i], theirs[f"aux{i}.pred_logits"], 1e-4)
    near(found.saliency, theirs["saliency_scores"], 1e-4)
    near(found.foreign, theirs["saliency_scores_neg"], 1e-4)


@pytest.mark.parametrize("case", CASES)
def test_losses_and_gradients_are_those_of_the_published_model(case: Path):
    model, theirs = model_of(case), numbers(case, "losses")
    losses = model.loss(batch_of(case))
    names = {"loss_saliency": "saliency"}
    for name, value in theirs["losses"].items():
        ours = losses[names.get(name, name.removeprefix("loss_"))]
        assert ours.item() == pytest.approx(value, rel=1e-5, abs=1e-5), name
    split = theirs["loss_saliency_split"]
    for ours, name in (("rank", "rank_contrastive"), ("foreign", "neg_pair"), ("pairs", "margin_pairs")):
        assert losses[ours].item() == pytest.approx(split[name], rel=1e-5), name
    assert losses["loss"].item() == pytest.approx(theirs["loss_overall"], rel=1e-5)
    losses["loss"].backward()
    ours = {n: p.grad for n, p in model.named_parameters()}
    for name, g in rename(tensors(case, "grads")).items():
        mine = ours[name] if ours[name] is not None else torch.zeros_like(g)
        near(mine, g, max(1e-4 * g.abs().max().item(), 1e-6))


@pytest.mark.parametrize("case", CASES)
def test_pairs_are_those_of_the_published_matcher(case: Path):
    model, batch, theirs = model_of(case), batch_of(case), numbers(case, "losses")
    found = model(batch)
    wanted = [*theirs["matching_aux_layers"], theirs["matching_last_layer"]]
    for layer, pairs in enumerate(wanted):
        b, q, k = model.match_windows(
            found.logits[layer], found.boxes[layer], to_box(batch.windows), batch.window_mask
        ).flat()
        listed = {(i, x, y) for i, (xs, ys) in enumerate(pairs) for x, y in zip(xs, ys, strict=True)}
        assert set(zip(b.tolist(), q.tolist(), k.tolist(), strict=True)) == listed


@pytest.mark.parametrize("case", CASES)
def test_windows_are_those_of_the_published_program(case: Path):
    theirs = numbers(case, "inference")
    model, batch = model_of(case, rounding="published").eval(), batch_of(case)
    found = model(batch)
    seconds = found.spans() * batch.duration[:, None, None]
    near(
        torch.cat([seconds, found.scores()[..., None]], -1),
        torch.tensor(theirs["before_postprocessing_unsorted"]),
        1e-4,
    )
    for ours, line in zip(model.predict(batch), theirs["compute_mr_results"], strict=True):
        rows = torch.tensor(line["pred_relevant_windows"], dtype=torch.float64)
        near(ours.spans, rows[:, :2], 0)
        near(ours.scores, rows[:, 2], 1.001e-4)
        near(ours.saliency, torch.tensor(line["pred_saliency_scores"], dtype=torch.float64), 1e-3)
    thin = model_of(case, rounding="published", nms=theirs["nms_thd"]).eval()
    for ours, rows in zip(thin.predict(batch), theirs["after_nms"], strict=True):
        near(ours.spans, torch.tensor(rows, dtype=torch.float64)[:, :2], 0)


@pytest.mark.parametrize("case", CASES)
def test_mixed_masks_change_what_the_spec_says_and_own_masks_do_not_leak(case: Path):
    effect = numbers(case, "losses")["effect_of_conventional_mask_order"]
    batch = batch_of(case)
    theirs, ours = model_of(case)(batch, True), model_of(case, compat_mixed_masks=False)(batch, True)
    for a, b, name in (
        (theirs.logits[-1], ours.logits[-1], "pred_logits"),
        (theirs.boxes[-1], ours.boxes[-1], "pred_spans"),
        (theirs.saliency, ours.saliency, "saliency_scores"),
        (theirs.foreign, ours.foreign, "saliency_scores_neg"),
    ):
        assert (a - b).abs().max().item() == pytest.approx(effect[name], rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_a_published_checkpoint_loads_weights_only(case: Path, tmp_path: Path):
    """As the published program saves it: weights under "model", options beside them."""
    theirs, state = config_of(case), tensors(case, "params")
    saved = {"model": state, "epoch": 7, "opt": argparse.Namespace(lr=1e-4, device=torch.device("cpu"))}
    torch.save(saved, tmp_path / "model_best.ckpt")
    sizes = official.read_sizes(tmp_path / "model_best.ckpt", "qd_detr")
    config = Config(**sizes, heads=theirs.heads)
    assert config.feature_dim == theirs.feature_dim - 2  # where a clip begins and ends is among the published features
    for name in ("query_dim", "hidden", "encoder_layers", "decoder_layers", "feedforward", "queries", "projections"):
        assert getattr(config, name) == getattr(theirs, name), name
    weights, found = official.load_official(tmp_path / "model_best.ckpt", config, model="qd_detr")
    Model(config).load_state_dict(weights)
    assert found.epoch == 7 and all(name.startswith("txt_position_embed") for name in found.unused)
    torch.save({"model": state | {"encoder.layers.0.cross": torch.zeros(1)}}, tmp_path / "other.ckpt")
    with pytest.raises(InputError, match=r"encoder\.layers\.0\.cross"):
        official.load_official(tmp_path / "other.ckpt", config, model="qd_detr")


# -- pieces against loops ---------------------------------------------------------------------------------------------

TINY = Config.tiny(feature_dim=6, query_dim=5, hidden=16, heads=2, feedforward=16, queries=4, clip=1.0)


def random_batch(windows: list[list[tuple[float, float]]], L: int = 8, W: int = 5, seed: int = 0) -> HighlightBatch:
    g = torch.Generator().manual_seed(seed)
    B, K = len(windows), max(1, *map(len, windows))
    at, there = torch.zeros(B, K, 2), torch.zeros(B, K, dtype=torch.bool)
    for b, some in enumerate(windows):
        if some:
            at[b, : len(some)], there[b, : len(some)] = torch.tensor(some), True
    clips, words = (
        torch.arange(L) < torch.tensor([L - b for b in range(B)])[:, None],
        torch.ones(B, W, dtype=torch.bool),
    )
    marks = torch.randint(0, 13, (B, L), generator=g).float() * clips
    pairs = torch.randint(0, L - B, (2, B, 2), generator=g)
    return HighlightBatch(
        list(range(B)), torch.randn(B, L, 6, generator=g) * clips[..., None], clips, torch.randn(B, W, 5, generator=g),
        words, clips.sum(1).float(), at, there, marks, pairs[0], pairs[1],
    )  # fmt: skip


THREE = [[(0.1, 0.3), (0.5, 0.8)], [(0.2, 0.9)], [(0.0, 0.2), (0.3, 0.4), (0.7, 1.0)]]


def test_saliency_losses_against_a_loop():
    batch, c = random_batch(THREE), TINY
    s, other = torch.randn(3, 8), torch.randn(3, 8)
    losses = Model(c).saliency_losses(DetectedWindows(s, s, s, other, torch.tensor([True, True, False])), batch)
    rank = foreign = 0.0
    for b in range(3):
        n = int(batch.mask[b].sum())
        strange = other[b, :n].tolist() if b < 2 else []  # the last has no foreign query
        every = [x / c.tau for x in [*s[b, :n].tolist(), *strange]]
        most = max(every)
        norm = most + math.log(sum(math.exp(x - most) for x in every))
        for level in range(1, 12):
            good = [every[i] - norm for i in range(n) if batch.marks[b, i] >= level]
            rank -= sum(good) / len(good) / 3 / 12 if good else 0.0
        foreign += sum(-math.log(1 - 1 / (1 + math.exp(-x))) for x in strange) / 3
    pairs = 0.0
    for b, p in itertools.product(range(3), range(2)):
        pairs += max(0.0, c.margin + s[b, batch.bad[b, p]].item() - s[b, batch.good[b, p]].item()) / 6 * 2
    assert losses["rank"].item() == pytest.approx(rank, rel=1e-4)
    assert losses["foreign"].item() == pytest.approx(foreign, rel=1e-4)
    assert losses["pairs"].item() == pytest.approx(pairs, rel=1e-5)
    assert losses["saliency"].item() == pytest.approx(rank + foreign + pairs, rel=1e-4)


def layer(B: int, Q: int, seed: int = 3) -> tuple[Any, Any]:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(B, Q, 2, generator=g), torch.rand(B, Q, 2, generator=g) * 0.5 + 0.2


def weighted(model: Model, logits: Any, boxes: Any, batch: HighlightBatch, pairs: list[list[tuple[int, int]]]) -> float:
    """The published loss of a layer under these pairs, by hand."""
    c, n = model.config, sum(map(len, pairs))
    targets, total = to_box(batch.windows), 0.0
    logp = logits.log_softmax(-1)
    for b, some in enumerate(pairs):
        taken = {q for q, _ in some}
        for q in range(logits.shape[1]):
            miss = -logp[b, q, 0] if q in taken else -c.background * logp[b, q, 1]
            total += c.weight_label * miss.item() / logits[..., 0].numel()
        for q, k in some:
            l1 = (boxes[b, q] - targets[b, k]).abs().mean().item()
            g = giou(to_span(boxes[b, q]), to_span(targets[b, k])).item()
            total += (c.weight_span * l1 + c.weight_giou * (1 - g)) / n
    return total


def matchings(model: Model, boxes: Any, batch: HighlightBatch, ordered: bool) -> list[list[list[tuple[int, int]]]]:
    """For each item every complete matching, in order of centre or in any."""
    found = []
    for b in range(len(boxes)):
        m, order = int(batch.window_mask[b].sum()), boxes[b, :, 0].argsort().tolist()
        ways = itertools.combinations(order, m) if ordered else itertools.permutations(order, m)
        found.append([[(q, k) for k, q in enumerate(way)] for way in ways])
    return found


@pytest.mark.parametrize("matcher", ["hungarian", "ordered"])
def test_pairs_and_losses_against_all_matchings(matcher: Any):
    model, batch = Model(replace(TINY, matcher=matcher)), random_batch(THREE)
    logits, boxes = layer(3, 4)
    C = model.cost(logits, boxes, to_box(batch.windows))
    best = []
    for b, ways in enumerate(matchings(model, boxes, batch, matcher == "ordered")):
        best.append(min(ways, key=lambda way: sum(C[b, q, k].item() for q, k in way)))
    b, q, k = model.match_windows(logits, boxes, to_box(batch.windows), batch.window_mask).flat()
    assert set(zip(b.tolist(), q.tolist(), k.tolist(), strict=True)) == {
        (i, *p) for i, way in enumerate(best) for p in way
    }
    losses, c = model.window_losses(logits, boxes, to_box(batch.windows), batch.window_mask), model.config
    ours = c.weight_span * losses["span"] + c.weight_giou * losses["giou"] + c.weight_label * losses["label"]
    assert ours.item() == pytest.approx(weighted(model, logits, boxes, batch, best), rel=1e-5)


def test_the_marginal_loss_against_all_matchings():
    """−γ log Σ exp(−n·L/γ)/n over all ways in which all items can be matched in order, L the published loss."""
    model, batch = Model(replace(TINY, matcher="marginal", gamma=0.3)), random_batch(THREE)
    logits, boxes = layer(3, 4)
    logits.requires_grad_(), boxes.requires_grad_()
    n = int(batch.window_mask.sum())
    ways = list(itertools.product(*matchings(model, boxes, batch, True)))
    losses = torch.tensor([weighted(model, logits, boxes, batch, list(way)) for way in ways], dtype=torch.float64)
    free = -0.3 / n * torch.logsumexp(-losses * n / 0.3, 0)
    ours = model.window_losses(logits, boxes, to_box(batch.windows), batch.window_mask)
    assert ours["marginal"].item() == pytest.approx(free.item(), rel=1e-5)
    assert ours["marginal"].item() < losses.min().item()
    ours["marginal"].backward()
    assert logits.grad.abs().min() > 0 and boxes.grad.abs().max() > 0
    cold = Model(replace(TINY, matcher="marginal", gamma=1e-3))
    coldest = cold.window_losses(logits, boxes, to_box(batch.windows), batch.window_mask)["marginal"]
    assert coldest.item() == pytest.approx(losses.min().item(), abs=2e-3)


def test_losses_of_a_query_without_windows_and_of_a_batch_of_one_are_finite():
    for matcher in ("hungarian", "ordered", "marginal"):
        model = Model(replace(TINY, matcher=matcher))
        for windows in ([[], [(0.2, 0.9)]], [[]], [[(0.1, 0.3)] * 6]):
            losses = model.loss(random_batch(windows))
            assert all(torch.isfinite(v) for v in losses.values())
            losses["loss"].backward()


def test_a_foreign_query_is_about_another_video():
    def strangers(videos: list[str], rivals: str, count: int) -> tuple[list[int], list[bool]]:
        other, there = qd_detr.find_strangers(count, videos, rivals, torch.device("cpu"))
        return other.tolist(), there.tolist()

    assert strangers(["a", "a", "b", "a"], "other", 4) == ([2, 2, 3, 2], [True] * 4)
    assert strangers(["a", "a", "b", "a"], "all", 4) == ([1, 2, 3, 0], [True] * 4)
    assert strangers([], "other", 3) == ([1, 2, 0], [True] * 3)
    assert strangers(["a", "a"], "other", 2) == ([0, 1], [False] * 2)
    assert strangers([], "other", 1) == ([0], [False]) and strangers([], "all", 1) == ([0], [True])
    alone = random_batch([[(0.1, 0.3)]])
    assert Model(TINY).loss(alone)["foreign"] == 0
    assert Model(replace(TINY, rivals="all")).loss(alone)["foreign"] > 0


def test_an_item_is_the_same_alone_and_in_a_batch_unless_masks_are_mixed():
    torch.manual_seed(0)
    batch = random_batch(THREE)
    batch.word_mask[0, 3:] = False
    batch.words[0, 3:] = 0
    one = replace(batch.change(lambda t: t[2:]), names=batch.names[2:])
    one.features, one.mask, one.marks = one.features[:, :6], one.mask[:, :6], one.marks[:, :6]
    for mixed in (False, True):
        model = Model(replace(TINY, compat_mixed_masks=mixed)).eval()
        a, b = model(batch), model(one)
        assert torch.allclose(a.boxes[:, 2:], b.boxes, atol=1e-5)
        assert torch.allclose(a.saliency[2:, :6], b.saliency, atol=1e-5) is True
    batch.mask[1, 4:] = batch.word_mask[1, 3:] = False  # item 2 meets the masks of items (2·heads + h) mod 3: 1 and 2
    for mixed in (False, True):
        model = Model(replace(TINY, compat_mixed_masks=mixed)).eval()
        same = torch.allclose(model(batch).saliency[2:, :6], model(one).saliency, atol=1e-5)
        assert same is not mixed


def test_giou_on_paper():
    a = torch.tensor([[0.0, 0.2], [0.5, 1.0], [0.3, 0.3]])
    b = torch.tensor([[0.0, 0.3], [0.0, 0.3], [0.3, 0.3]])
    near(giou(a, b), torch.tensor([2 / 3, -0.2, 1.0]), 1e-6)


def test_rounding_leaves_no_window_empty_unless_as_published():
    import numpy as np

    spans, scores = np.array([[5.2, 5.6], [9.5, 10.4], [-1.0, 3.1]]), np.array([0.2, 0.9, 0.5])
    c = replace(TINY, clip=2.0, rounding="clips")
    found, kept = qd_detr.rank_windows(spans, scores, 10.0, c)
    assert kept.tolist() == [0.9, 0.5, 0.2] and found.tolist() == [[8, 10], [0, 4], [6, 8]]
    published, _ = qd_detr.rank_windows(spans, scores, 150.0, replace(c, rounding="published"))
    assert published.tolist() == [[10, 10], [0, 4], [6, 6]]
    plain, _ = qd_detr.rank_windows(spans, scores, 10.0, replace(c, rounding="no"))
    assert plain.tolist() == [[9.5, 10], [0, 3.1], [5.2, 5.6]]


# -- what it must be able to learn ------------------------------------------------------------------------------------


@pytest.mark.experiment
@pytest.mark.parametrize("matcher", ["hungarian", "ordered", "marginal"])
def test_32_moments_are_learnt_by_heart(matcher: Any):
    """R@1 at IoU .7 above .95 on random clips: 32 queries of 4 words, a window of 2 to 8 of 14 to 24 clips each."""
    torch.manual_seed(0)
    n, rng = 32, torch.Generator().manual_seed(1)
    model = Model(Config.tiny(feature_dim=32, query_dim=16, clip=1.0, matcher=matcher, input_dropout=0.0))
    clips = torch.randint(14, 25, (n,), generator=rng)
    lengths = torch.randint(2, 9, (n,), generator=rng)
    firsts = (torch.rand(n, generator=rng) * (clips - lengths + 1)).long()
    features, mask = torch.randn(n, 24, 32, generator=rng), torch.arange(24) < clips[:, None]
    windows = torch.stack([firsts / clips, (firsts + lengths) / clips], -1)[:, None]
    at = torch.arange(24)
    inside = (at >= firsts[:, None]) & (at < (firsts + lengths)[:, None])
    outside = (mask & ~inside).float().argmax(1)
    every = HighlightBatch(
        list(range(n)), features * mask[..., None], mask, torch.randn(n, 4, 16, generator=rng),
        torch.ones(n, 4, dtype=torch.bool), clips.float(), windows, torch.ones(n, 1, dtype=torch.bool),
        inside.float() * 12, firsts[:, None].expand(-1, 2), outside[:, None].expand(-1, 2),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=1e-4)
    rate = step = 0
    for step in range(1200):
        model.train()
        rows = torch.randperm(n)[:16]
        batch = replace(every.change(lambda t: t[rows]), names=rows.tolist())  # noqa: B023
        optimizer.zero_grad()
        model.loss(batch)["loss"].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            found = model.eval().predict(every)
            first = torch.tensor([r.spans[0].tolist() for r in found])
            real = torch.stack([firsts, firsts + lengths], -1).float()
            shared = (torch.minimum(first, real)[:, 1] - torch.maximum(first, real)[:, 0]).clamp(min=0)
            hull = torch.maximum(first, real)[:, 1] - torch.minimum(first, real)[:, 0]
            rate = (shared / hull >= 0.7).float().mean().item()
            if rate > 0.95:
                break
    salient = sum(bool(inside[i, r.saliency.argmax()]) for i, r in enumerate(found)) / n
    print(f"QD-DETR, {matcher}: R@1 (IoU .7) {rate:.3f}, best clip right {salient:.3f} after {step + 1} steps")
    assert rate > 0.95 and salient > 0.95
