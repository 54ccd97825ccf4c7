"""PDVC against the original: losses, gradients and captions of its own code, with weights that are a formula.

The vectors lie beside the project (spec/vectors-models/pdvc; its README says how they were made). A case is a folder of
one folder per captioner; nothing here knows its sizes: they are read from the case.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula.learn.data import Batch  # noqa: E402
from fabula.learn.models.pdvc import Config, Model  # noqa: E402
from fabula.learn.official import PDVC, load_official, read_sizes, translate  # noqa: E402

LOSSES = {"ce": "class", "giou": "giou", "counter": "counter", "caption": "caption"}


def formula(name: str, shape: list[int], seed: int) -> torch.Tensor:
    """value(i) = .04 sin(.7 i + c) + .02 cos(.013 i c), c = Σ characters mod 97 + seed; 1 more for norms' weights."""
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    c = sum(map(ord, name)) % 97 + seed
    value = 0.04 * torch.sin(0.7 * i + c) + 0.02 * torch.cos(0.013 * i * c)
    return (value + (name.endswith("weight") and len(shape) == 1)).float().view(shape)


def config_of(told: dict, sizes: dict) -> Config:
    """The original's options as ours."""
    assert told["cap_nheads"] == 1 and told["dec_n_points"] == told["enc_n_points"] == told["cap_dec_n_points"]
    assert told["lloss_gau_mask"] and told["lloss_beta"] == 1 and told["with_box_refine"] and told["share_caption_head"]
    sizes = {n: v for n, v in sizes.items() if n != "words"}
    config = Config(
        **sizes, frames=None, heads=told["nheads"], points=told["dec_n_points"],
        dropout=told["transformer_dropout_prob"],
        caption_dropout=told["drop_prob"], max_words=told["max_caption_len"],
        vocabulary=(*(f"w{i}" for i in range(1, told["vocab_size"])), "<unk>"),
        cost_class=told["set_cost_class"], cost_giou=told["set_cost_giou"], cost_l1=told["set_cost_bbox"],
        weight_class=told["cls_loss_coef"], weight_giou=told["giou_loss_coef"], weight_l1=told["bbox_loss_coef"],
        weight_counter=told["count_loss_coef"], weight_caption=told["caption_loss_coef"],
        focal_alpha=told["focal_alpha"], focal_gamma=told["focal_gamma"],
    )  # fmt: skip
    named = {"hidden": "hidden_dim", "queries": "num_queries", "levels": "num_feature_levels", "rnn": "rnn_size",
             "feature_dim": "feature_dim", "encoder_layers": "enc_layers", "decoder_layers": "dec_layers",
             "feedforward": "transformer_ff_dim", "captioner": "caption_decoder_type", "max_count": "max_eseq_length",
             "word_dim": "input_encoding_size"}  # fmt: skip
    assert {ours: getattr(config, ours) for ours in named} == {ours: told[theirs] for ours, theirs in named.items()}
    return config


def check_case(folder: Path, seed: int, tmp_path: Path) -> None:
    """One captioner of one case: official weights in a .pth, loaded; then loss, gradients and outputs."""
    safetensors = pytest.importorskip("safetensors.torch")
    shapes, losses, grads = (json.loads((folder / f"{n}.json").read_text()) for n in ("parameters", "losses", "grads"))
    given, expected = (safetensors.load_file(folder / f"{n}.safetensors") for n in ("inputs", "eval"))
    official = {name: formula(name, shape, seed) for name, shape in shapes.items()}
    torch.save({"epoch": 3, "model": official, "optimizer": {"state": {}, "param_groups": []}}, tmp_path / "pdvc.pth")
    config = config_of(losses["config"], read_sizes(tmp_path / "pdvc.pth"))
    model = Model(config)
    state, found = load_official(tmp_path / "pdvc.pth", config)
    model.load_state_dict(state)
    assert found.epoch == 3 and found.loaded == len(state)

    features, spans, tokens = given["features"], given["spans"], given["tokens"].long()
    B, T, K, W = *features.shape[:2], *tokens.shape[1:]
    length = (tokens != 0).sum(-1) + 2  # with both ends
    mask = torch.arange(W) < length[..., None]
    duration = given["duration"].float().view(B)
    all_steps, all_frames = torch.ones(B, K, dtype=torch.bool), torch.ones(B, T, dtype=torch.bool)
    batch = Batch([f"video {b}" for b in range(B)], features, all_frames, duration, spans, all_steps, tokens, mask)

    got = model.train().loss(batch)
    assert got["loss"].item() == pytest.approx(losses["total"], abs=1e-5)
    for name, value in losses["losses"].items():
        what, _, layer = name.removeprefix("loss_").partition("_")
        if what in LOSSES:
            ours = LOSSES[what] + (f"_{layer}" if layer else "")
            assert got[ours].item() == pytest.approx(value, abs=1e-5), name

    got["loss"].backward()
    ours = dict(model.named_parameters())
    checked = 0
    for name, told in grads.items():
        if (mine := translate(name, PDVC)) not in ours:
            continue
        g, checked = ours[mine].grad, checked + 1
        # float32 on both sides; a sample at the edge between two frames has either slope (seen: 2.5e-4 of a norm)
        assert g.norm().item() == pytest.approx(told["norm"], rel=1e-3, abs=1e-8), name
        assert g.sum().item() == pytest.approx(told["sum"], abs=2e-4 * g.abs().sum().item() + 1e-8), name
        first = g.flatten()[: len(told["first"])].tolist()
        assert first == pytest.approx(told["first"], abs=1e-4 * told["norm"] + 1e-8), name
    assert checked == len(ours)

    with torch.no_grad():
        memory = model.eval().encode(batch)
        last = model.decode(batch, memory)[-1]
        told, score = model.write_captions(last, memory)
    torch.testing.assert_close(last.logits.view(-1), expected["logits"].view(-1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(last.boxes.view(-1), expected["boxes"].view(-1), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(last.counts.view(-1), expected["counts"].view(-1), atol=1e-5, rtol=1e-5)
    theirs = expected["tokens"].long()
    going = (theirs != 0).cumprod(-1)  # the original's words after the first 0 are cut off by its translator
    assert torch.equal(told, (theirs * going)[..., : told.shape[-1]]) and not going[..., told.shape[-1] :].any()
    torch.testing.assert_close(score, (expected["token_log_probs"] * going).sum(-1), atol=1e-4, rtol=1e-5)


def seed_of(case: Path) -> int:
    """The seed of a case's weights, as its own files or the README beside it tell it (`case_a: seed 1`)."""
    told = json.loads((case / "standard" / "losses.json").read_text())
    if "seed" in told:
        return int(told["seed"])
    for page in (case / "README.md", case.parent / "README.md"):
        if page.is_file() and (found := re.search(rf"{case.name}: seed (\d+)", page.read_text(encoding="utf-8"))):
            return int(found[1])
    pytest.skip(f"{case.name} of the vectors of PDVC does not tell the seed of its weights")


def test_a_seed_is_read_and_never_guessed(tmp_path):
    for case in ("case_a", "case_b", "case_c"):
        (tmp_path / case / "standard").mkdir(parents=True)
        (tmp_path / case / "standard" / "losses.json").write_text("{}")
    (tmp_path / "case_b" / "standard" / "losses.json").write_text('{"seed": 5}')
    (tmp_path / "README.md").write_text("c = … mod 97 + seed (case_a: seed 1)")
    assert [seed_of(tmp_path / case) for case in ("case_a", "case_b")] == [1, 5]
    with pytest.raises(pytest.skip.Exception, match="does not tell the seed"):
        seed_of(tmp_path / "case_c")


@pytest.mark.parametrize("captioner", ["standard", "light"])
@pytest.mark.parametrize("case", ["case_a", "case_b"])
def test_the_original_s_numbers(case, captioner, shared_data, tmp_path):
    folder = shared_data.parent / "spec" / "vectors-models" / "pdvc" / case / captioner
    if not folder.is_dir():
        pytest.skip(f"{case} of the vectors of PDVC is not here")
    check_case(folder, seed_of(folder.parent), tmp_path)
