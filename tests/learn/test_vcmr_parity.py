"""XML and ReLoCLNet against the published programs' own numbers (../shared/spec/vectors-models); skipped without.

Every case that lies there is checked, with all its sizes read from it. Tolerances are those of the vectors' README.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabula.match.nms import shifted_nms

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from safetensors.torch import load_file  # noqa: E402

from fabula.learn.loop.schedule import lr_at, make_optimizer, set_rate  # noqa: E402
from fabula.learn.models import reloclnet, xml  # noqa: E402
from fabula.learn.options import Settings  # noqa: E402
from fabula.learn.retrieval.contract import Batch, Negatives, Queries, best_clip  # noqa: E402
from fabula.learn.retrieval.decode import Decoding, RankedMoments  # noqa: E402
from fabula.learn.retrieval.search import Answers, Corpus, encode_corpus, search_corpus  # noqa: E402

KINDS = {"xml": (xml, ""), "reloclnet": (reloclnet, "video_only_")}


def vectors() -> Path | None:
    """The folder, wherever above it stands."""
    above = (p / "shared" / "spec" / "vectors-models" for p in Path(__file__).resolve().parents)
    return next((p for p in above if p.is_dir()), None)


FOLDER = vectors()
CASES = [p for kind in KINDS for p in sorted(FOLDER.glob(f"{kind}/case_*"))] if FOLDER else []
if not CASES:
    pytest.skip("../shared/spec/vectors-models is not here: the published models' numbers", allow_module_level=True)


class Case:
    """One case: the model with the published weights, and what it must give."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kind = folder, folder.parent.name
        self.module, self.prefix = KINDS[self.kind]
        told = self.json("config")
        self.case = told["case"]
        made = told["model_config"]
        made = made.get("video_only", made)
        self.config = self.module.Config(
            feature_dim=made["visual_input_size"], query_dim=made["query_input_size"], max_words=made["max_desc_l"],
            max_clips=made["max_ctx_l"], clip=self.case["clip_length"], hidden=made["hidden_size"],
            heads=made["n_heads"], kernel=made["conv_kernel_size"], dropout=made["drop"], margin=made["margin"],
            weight_span=made["lw_st_ed"], weight_videos=made["lw_neg_ctx"], weight_queries=made["lw_neg_q"],
            ranking=made["ranking_loss_type"], hard_pool=made["hard_pool_size"], alpha=self.case["alpha"],
            min_length=self.case["min_pred_l"], max_length=self.case["max_pred_l"], nms=self.case["nms_thd"],
            labels="ceil", pads="seen", rivals="all", end="past" if self.kind == "reloclnet" else "inside",
            **({"weight_frames": made["lw_fcl"], "weight_contrast": made["lw_vcl"]} if "lw_fcl" in made else {}),
        )  # fmt: skip
        self.model = self.module.Model(self.config)
        self.model.load_state_dict({self.rename(n): t for n, t in self.tensors("params").items()})

    def json(self, name: str) -> Any:
        return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))

    def tensors(self, name: str) -> dict[str, Any]:
        return load_file(self.folder / f"{self.prefix}{name}.safetensors")

    def rename(self, name: str) -> str:
        return next(re.sub(theirs, ours, name) for theirs, ours in self.module.OFFICIAL if re.fullmatch(theirs, name))

    def losses(self) -> Any:
        told = self.json("losses")
        return told.get("video_only", told)

    def batch(self, negatives: Negatives | None = None) -> Batch:
        i = self.tensors("inputs")
        B = len(i["query_feat"])
        return Batch(
            [str(b) for b in range(B)], i["query_feat"], i["query_mask"].bool(), i["video_feat"],
            i["video_mask"].bool(), torch.zeros(B), i["st_ed_indices"], negatives=negatives,
        )  # fmt: skip


@pytest.fixture(params=CASES, ids=lambda p: f"{p.parent.name}-{p.name}")
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def close(ours: Any, theirs: Any, atol: float) -> None:
    torch.testing.assert_close(ours, theirs, atol=atol, rtol=0)


def test_encodings_scores_and_logits(case: Case) -> None:
    model, batch, theirs = case.model.train(), case.batch(), case.tensors("train_outputs")
    logits = 1e-3 if case.kind == "reloclnet" else 1e-4  # padded rows attend at −1e4, where float32 is coarse
    queries = model.encode_query(batch.query, batch.query_mask)
    videos = model.encode_video(batch.video, batch.video_mask)
    pooled = theirs["modular_query" if case.kind == "xml" else "video_query"]
    close(queries.search, torch.nn.functional.normalize(pooled, dim=-1), 1e-5)
    close(queries.spans, theirs["hook.video_query_linear"], 1e-5)
    real = batch.video_mask
    if case.kind == "xml":
        close(videos.search, torch.nn.functional.normalize(theirs["video_feat1"], dim=-1), 1e-5)
        close(videos.spans, theirs["video_feat2"], 1e-5)
    else:
        middle, final = model.encode_levels(batch.video, batch.video_mask)
        close(model.pooled_query(batch.query, batch.query_mask), pooled, 1e-5)
        close(middle[real], theirs["video_feat_mid"][real], 1e-5)
        close(final[real], theirs["video_feat_final"][real], 1e-5)
        close(final, theirs["video_feat_final"], 1e-3)
        close(best_clip(pooled, middle, real), theirs["mid_q2ctx_scores"], 1e-4)
    close(model.video_scores(queries, videos), theirs["query_context_scores"], 1e-5)
    start, end = model.span_logits(queries.spans, videos.spans, videos.mask)
    close(start, theirs["st_logits"], logits)
    close(end, theirs["ed_logits"], logits)


@pytest.mark.parametrize("mode", ["hard_off", "hard_on"])
def test_losses_and_gradients(case: Case, mode: str) -> None:
    told = case.losses()[mode]
    drawn = Negatives(torch.tensor(told["neg_ctx_index"]), torch.tensor(told["neg_q_index"]))
    model, c = case.model.train(), case.config
    model.begin(c.hard_from if mode == "hard_on" else 0, 0)
    losses = model.loss(case.batch(drawn))
    expected = {
        "loss": told["loss_overall"],
        "span": told["loss_st_unweighted"] + told["loss_ed_unweighted"],
        "videos": told["loss_neg_ctx"] / c.weight_videos,
        "queries": told["loss_neg_q"] / c.weight_queries,
    }
    if case.kind == "reloclnet":
        expected |= {"frames": told["loss_fcl_video_unweighted"], "contrast": told["loss_vcl_unweighted"]}
    assert losses.keys() == expected.keys()
    for name, value in expected.items():
        assert losses[name].item() == pytest.approx(value, rel=5e-5 if name == "span" else 1e-5), name
    losses["loss"].backward()
    theirs = {case.rename(n): g for n, g in case.tensors(f"grads_{mode}").items()}
    ours = {n: p.grad for n, p in model.named_parameters()}
    assert ours.keys() == theirs.keys()
    for name, grad in theirs.items():
        if not name.endswith("key.bias"):  # truly 0
            close(ours[name], grad, 1e-4 * grad.abs().max().item())


def test_four_steps_of_the_published_optimizer(case: Case) -> None:
    """XML's: losses before each step, learning rates, which parameters decay, and all of them after."""
    if not (case.folder / "optimizer.json").exists():
        pytest.skip("no steps of this model's optimiser are told")
    told = case.json("optimizer")
    h = told["hyper"]
    settings = Settings(
        optimizer="bertadam", lr=h["lr"], weight_decay=h["weight_decay"], warmup=h["warmup"], schedule="linear",
        eps=1e-6, clip_norm=1.0,
    )  # fmt: skip
    model = case.model.train()
    optimizer = make_optimizer(model, settings)
    decays = {id(p) for group in optimizer.param_groups if group["weight_decay"] > 0 for p in group["params"]}
    assert {n for n, p in model.named_parameters() if id(p) in decays} == {
        case.rename(n) for n in told["decayed_parameters"]
    }
    for i, step in enumerate(told["steps"]):
        rate = lr_at(settings, i, h["t_total"], h["t_total"])
        assert rate == pytest.approx(h["lr"] * step["lr_multiplier_used"])
        batch = case.batch()
        with torch.no_grad():
            videos = model.encode_video(batch.video, batch.video_mask)
            scores = model.video_scores(model.encode_query(batch.query, batch.query_mask), videos)
        batch.negatives = Negatives(by_rank(scores, step["neg_ctx_rank"]), by_rank(scores.T, step["neg_q_rank"]))
        loss = model.loss(batch)["loss"]
        assert loss.item() == pytest.approx(step["loss"], rel=1e-4)
        optimizer.zero_grad()
        loss.backward()
        set_rate(optimizer, rate)
        optimizer.step()
    after = {case.rename(n): t for n, t in case.tensors("params_after_4_optimizer_steps").items()}
    for name, p in model.state_dict().items():
        if not name.endswith("key.bias"):  # truly 0: Adam makes steps of its rounding
            close(p, after[name], 5e-5)  # of steps of .01; rounding of small gradients moves some by 1.2e-5


def by_rank(scores: Any, ranks: list[int]) -> Any:
    """The rows of these ranks, the row's own first."""
    order = scores.clone().fill_diagonal_(999).argsort(1, descending=True)
    return order.gather(1, torch.tensor(ranks)[:, None])[:, 0]


@pytest.mark.parametrize("mode", ["hard_off", "hard_on"])
def test_negatives_are_drawn_from_those_that_the_published_program_draws_from(case: Case, mode: str) -> None:
    """Every rank that it can draw is drawn, and no other."""
    scores = case.tensors("train_outputs")["query_context_scores"]
    B = len(scores)
    pool = case.config.hard_pool if mode == "hard_on" else None
    rivals = xml.find_rivals([], B, "all", scores.device)
    order = scores.clone().fill_diagonal_(999).argsort(1, descending=True)
    torch.manual_seed(0)
    ranks = set()
    for _ in range(200):
        drawn, there = xml.draw_negatives(scores, rivals, pool)
        assert there.all()
        ranks |= set((order == drawn[:, None]).nonzero()[:, 1].tolist())
    assert ranks == set(range(1, B if pool is None else min(B, pool + 1)))
    told = case.losses()[mode]
    assert order.gather(1, torch.tensor(told["neg_ctx_rank"])[:, None])[:, 0].tolist() == told["neg_ctx_index"]


def runs(case: Case) -> dict[str, tuple[int, Any, dict[str, Any]]]:
    """Inference runs: how many videos are encoded together, lists, tensors."""
    lists = case.json("inference")
    n = len(case.case["corpus_lens"])
    if case.kind == "reloclnet":
        return {"only": (case.case["ctx_bsz"], lists, load_file(case.folder / "inference.safetensors"))}
    made = {
        name: told["options"]["eval_context_bsz"]
        for name, told in lists.items()
        if isinstance(told, dict) and "options" in told
    }
    [one], [few] = ([name for name, size in made.items() if (size >= n) is whole] for whole in (True, False))
    inputs = load_file(case.folder / f"inference_{one}.safetensors")
    other = inputs | load_file(case.folder / f"inference_{few}.safetensors")
    return {"one": (n, lists[one], inputs), "few": (made[few], lists[few], other)}


def searched(case: Case, run: str, **changes: Any) -> tuple[Corpus, Queries, Answers, dict[str, Any]]:
    size, _, t = runs(case)[run]
    model = case.model.eval()
    mask = t["corpus_video_mask"].bool()
    names = [f"v{i}" for i in range(len(mask))]
    durations = [1e9] * len(mask)
    clips = [f[m] for f, m in zip(t["corpus_video_feat"], mask, strict=True)]
    pad_to = case.config.max_clips if case.kind == "reloclnet" else None
    corpus = encode_corpus(model, zip(names, clips, durations, strict=True), size, pad_to)
    with torch.no_grad():
        queries = model.encode_query(t["query_feat"], t["query_mask"].bool())
    published = {
        "videos": case.case["max_vcmr_video"], "before_nms": case.case["max_before_nms"], "late": "kept",
        "nms_reads": "listed",
        "after_nms": case.case["max_after_nms"], "own_nms": "shifted" if case.kind == "reloclnet" else "right",
    }  # fmt: skip
    d = Decoding.of(case.config, **published | changes)
    own = torch.tensor(case.case["q_vid"])
    [(_, answers)] = list(search_corpus(model, queries, corpus, d, own))
    return corpus, queries, answers, t


def rows_of(found: RankedMoments, q: int) -> list[list[float]]:
    there = found.score[q] > 0
    video, span, score = found.video[q][there], found.span[q][there], found.score[q][there]
    return [[1000 + 7 * int(v), *s, float(w)] for v, s, w in zip(video, span.tolist(), score, strict=True)]


def same_list(ours: list[list[float]], theirs: list[list[float]]) -> None:
    assert [r[:3] for r in ours] == [r[:3] for r in theirs]
    for (*_, mine), (*_, score) in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(score, rel=2e-3)


@pytest.mark.parametrize("run", ["one", "few", "only"])
def test_lists_before_and_after_nms(case: Case, run: str) -> None:
    if run not in runs(case):
        pytest.skip("the other model's way of batching")
    _, lists, t = runs(case)[run]
    corpus, queries, answers, t = searched(case, run)
    tolerance = 1e-3 if case.kind == "reloclnet" else 1e-4
    close(case.model.video_scores(queries, corpus.rows), t["query_context_scores"], 1e-5)
    start, end = case.model.span_logits(queries.spans[:, None], corpus.rows.spans, corpus.rows.mask)
    close(start.detach(), t["st_logits"], tolerance)
    close(end.detach(), t["ed_logits"], tolerance)
    close(start.softmax(-1).detach(), t["st_prob"], tolerance)
    before, after, raw = lists["submission_before_nms"], lists["submission_after_nms"], lists["raw_before_truncation"]
    whole = searched(case, run, after_nms=case.case["max_before_nms"])[2]
    unread = searched(case, run, nms_reads="all")[2]
    for q in range(len(queries)):
        same_list(rows_of(answers.vcmr_listed, q), before["VCMR"][q]["predictions"])
        same_list(rows_of(whole.vcmr_listed, q), raw["VCMR"][q]["predictions"])
        same_list(rows_of(answers.vcmr, q), after["VCMR"][q]["predictions"])
        same_list(rows_of(unread.vcmr, q), lists["nms_of_untruncated"]["VCMR"][q]["predictions"])
        same_list(rows_of(answers.svmr_listed, q), [r for r in before["SVMR"][q]["predictions"] if r[3] > 0])
        own = after["SVMR"][q]["predictions"]
        if case.kind == "xml":
            same_list(rows_of(answers.svmr, q), [r for r in own if r[3] > 0])
        else:  # its slip sorts by end, among rows of no score, which are not made here
            rows = np.array(before["SVMR"][q]["predictions"])
            kept = shifted_nms(rows[:, 1:3], rows[:, 3], case.config.nms, rows[:, 0])
            assert rows[kept][:, :3].tolist() == [r[:3] for r in own]
        videos = [1000 + 7 * v for v in answers.vr_videos[q].tolist()]
        assert videos == [r[0] for r in before["VR"][q]["predictions"]]
        weights = torch.tensor([r[3] for r in before["VR"][q]["predictions"]])
        torch.testing.assert_close(answers.vr_weights[q], weights, rtol=1e-5, atol=0)


def test_published_weights_are_read_from_their_file(case: Case, tmp_path: Path) -> None:
    """Weights only; sizes are those of the file; with subtitles they are of another model."""
    from fabula.core.errors import InputError
    from fabula.learn.official import load_official, read_sizes

    state = case.tensors("params")
    torch.save({"model": state}, tmp_path / "model.ckpt.pth")
    sizes = read_sizes(tmp_path / "model.ckpt.pth", case.kind)
    assert {name: getattr(case.config, name) for name in sizes} == sizes
    weights, found = load_official(tmp_path / "model.ckpt.pth", case.config, "all", case.kind)
    assert found.loaded == len(state) and not found.unused
    for name, tensor in case.model.state_dict().items():
        assert torch.equal(weights[name], tensor)
    torch.save({"model": {**state, "sub_encoder1.self.query.bias": torch.zeros(3)}}, tmp_path / "two.pth")
    with pytest.raises(InputError, match="sub_encoder1"):
        load_official(tmp_path / "two.pth", case.config, "all", case.kind)
