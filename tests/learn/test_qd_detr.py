"""QD-DETR: the published model's numbers, each loss against a loop, and what the whole must be able to learn."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("scipy", reason="training needs fabula[learn]")
pytest.importorskip("safetensors", reason="training needs fabula[learn]")

from fabula.core.errors import SpecError  # noqa: E402
from fabula.learn.models import qd_detr  # noqa: E402
from fabula.learn.models.qd_detr import Config, Found, HighlightBatch, Model, giou, to_box, to_span  # noqa: E402
from tests.learn.model_vectors import cases, numbers, tensors  # noqa: E402

CASES = cases("qddetr")
FAITHFUL: dict[str, Any] = {"compat_mixed_masks": True, "compat_own_negative": True, "compat_duration": True}


def config_of(case: Path, **changes: Any) -> Config:
    a = numbers(case, "config")["args"]
    told = {
        "feature_dim": a["v_feat_dim"], "tef": False, "query_dim": a["t_feat_dim"], "hidden": a["hidden_dim"], "heads": a["nheads"],
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
    model.load_state_dict(qd_detr.rename(tensors(case, "params")))
    return model


def near(ours: Any, theirs: Any, atol: float, rtol: float = 0.0) -> None:
    torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), atol=atol, rtol=rtol)


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
    near(found.boxes[0], theirs["aux0.pred_spans"], 1e-5)
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
    for name, g in qd_detr.rename(tensors(case, "grads")).items():
        mine = ours[name] if ours[name] is not None else torch.zeros_like(g)
        near(mine, g, max(1e-4 * g.abs().max().item(), 1e-6))


@pytest.mark.parametrize("case", CASES)
def test_pairs_are_those_of_the_published_matcher(case: Path):
    model, batch, theirs = model_of(case), batch_of(case), numbers(case, "losses")
    found = model(batch)
    wanted = [*theirs["matching_aux_layers"], theirs["matching_last_layer"]]
    for layer, pairs in enumerate(wanted):
        b, q, k = model.matched(
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
        assert (a - b).abs().max().item() == pytest.approx(effect[name], rel=1e-3)


def test_a_name_of_another_model_is_refused():
    with pytest.raises(SpecError, match="another model"):
        qd_detr.rename({"encoder.layers.0.cross": torch.zeros(1)})
