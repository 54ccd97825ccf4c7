"""HERO against the published program's own numbers, its slips against what they change, and what it must learn."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("safetensors", reason="training needs fabula[learn]")

import torch.nn.functional as F  # noqa: E402, N812

from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.learn import official  # noqa: E402
from fabula.learn.adamw import BertAdamW  # noqa: E402
from fabula.learn.models import hero  # noqa: E402
from fabula.learn.models.hero import Config, Model, rank_all, rank_one  # noqa: E402
from fabula.learn.retrieval.contract import Batch, Negatives, pad_rows  # noqa: E402
from fabula.learn.retrieval.data import label_spans  # noqa: E402
from fabula.learn.retrieval.decode import Decoding, RankedMoments  # noqa: E402
from fabula.learn.retrieval.search import Answers, Corpus, encode_corpus, search_corpus  # noqa: E402
from tests.learn.model_vectors import cases, numbers, tensors  # noqa: E402

CASES = cases("hero")


def config_of(case: Path, **changes: Any) -> Config:
    told = numbers(case, "config")
    k, f, q = told["case"], told["hero_config"]["f_config"], told["model_kwargs"]
    made: dict[str, Any] = {
        "feature_dim": q["vfeat_dim"],
        "vocab_size": f["vocab_size"],
        "hidden": f["hidden_size"],
        "clip": k["interval"],
        "heads": f["num_attention_heads"],
        "feedforward": f["intermediate_size"],
        "cross_layers": f["num_hidden_layers"],
        "time_layers": told["hero_config"]["c_config"]["num_hidden_layers"],
        "positions": f["max_position_embeddings"],
        "frame_positions": q["max_frm_seq_len"],
        "max_clips": k["max_clip_len"],
        "max_words": f["max_position_embeddings"] - 1,
        "dropout": f["hidden_dropout_prob"],
        "attention_dropout": f["attention_probs_dropout_prob"],
        "kernel": q["conv_kernel_size"],
        "ranking": q["ranking_loss_type"],
        "margin": q["margin"],
        "drop_span": q["drop_svmr_prob"],
        "weight_videos": q["lw_neg_ctx"],
        "weight_queries": q["lw_neg_q"],
        "weight_span": q["lw_st_ed"],
        "hard_pool": q["hard_pool_size"],
        "hard_weight": q["hard_neg_weight"],
        "alpha": k["alpha"],
        "nms": k["nms_thd"],
        "min_length": k["min_pred_l"],
        "max_length": k["max_pred_l"],
        "labels": "hero",
        "pads": "seen",
        "rivals": "all",
    }
    return Config(**made | changes)


def model_of(case: Path, hard: bool = False, **changes: Any) -> Model:
    model = Model(config_of(case, **changes))
    model.load_state_dict(rename(tensors(case, "params")))
    model.begin(0, model.config.hard_from if hard else 0)
    return model


def batch_of(case: Path, negatives: Negatives | None = None) -> Batch:
    i = tensors(case, "inputs")
    B = len(i["query_input_ids"])
    assert (i["query_input_ids"][:, 0] == hero.CLS).all() and (i["f_sub_input_ids"] == hero.CLS).all()
    return Batch(
        [str(b) for b in range(B)], i["query_input_ids"][:, 1:], i["query_attn_masks"][:, 1:].bool(), i["c_v_feats"],
        i["c_attn_masks"].bool(), torch.zeros(B), i["targets"], negatives=negatives,
    )  # fmt: skip


def near(ours: Any, theirs: Any, atol: float) -> None:
    torch.testing.assert_close(ours, theirs, atol=atol, rtol=0)


def rename(state: dict[str, Any]) -> dict[str, Any]:
    """A published state under our names."""
    return official.rename(state, official.TABLES["hero"], "a file")[0]


# -- the published model ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_encodings_scores_and_logits(case: Path) -> None:
    model, batch, theirs = model_of(case), batch_of(case), tensors(case, "train_outputs")
    queries = model.encode_query(batch.query, batch.query_mask)
    videos = model.encode_video(batch.video, batch.video_mask)
    ids = F.pad(batch.query.masked_fill(~batch.query_mask, hero.PAD), (1, 0))
    words = model.cross.read_words(ids, F.pad(batch.query_mask, (1, 0), value=True))
    near(words, theirs["hook.v_encoder.f_encoder#1"], 1e-5)
    near(model.cross.embed_frames(batch.video), theirs["hook.v_encoder.f_encoder.img_embeddings"], 1e-5)
    near(model.raw(batch.video), theirs["hook.v_encoder.frame_transform"], 1e-5)
    near(queries.search, F.normalize(theirs["modularized_query"], dim=-1, eps=1e-5), 1e-5)
    near(queries.spans, theirs["hook.video_query_linear"], 1e-5)
    near(videos.spans, theirs["frame_embeddings"], 1e-5)
    near(model.video_scores(queries, videos), theirs["q2video_scores"], 1e-5)
    start, end = model.span_logits(queries.spans, videos.spans, videos.mask)
    near(start, theirs["st_logits"], 1e-4)
    near(end, theirs["ed_logits"], 1e-4)


@pytest.mark.parametrize("case", CASES)
def test_labels(case: Path) -> None:
    k, i = numbers(case, "config")["case"], tensors(case, "inputs")
    clips = i["c_attn_masks"].sum(1).tolist()
    ours = [
        label_spans(k["q_ts"][row], k["interval"], n, "hero") for row, n in zip(k["train_rows"], clips, strict=True)
    ]
    assert ours == [tuple(t) for t in i["targets"].tolist()]


@pytest.mark.parametrize("mode", ["hard_off", "hard_on"])
@pytest.mark.parametrize("case", CASES)
def test_losses_and_gradients(case: Path, mode: str) -> None:
    told, model = numbers(case, "losses")[mode], model_of(case, mode == "hard_on")
    c = model.config
    assert model.hard is (mode == "hard_on")
    losses = model.loss(batch_of(case))
    expected = {
        "loss": told["loss_overall"],
        "start": told["loss_st_unweighted"],
        "end": told["loss_ed_unweighted"],
        "videos": told["loss_neg_ctx"] / c.weight_videos,
        "queries": told["loss_neg_q"] / c.weight_queries,
    }
    assert losses.keys() == expected.keys()
    for name, value in expected.items():
        assert losses[name].item() == pytest.approx(value, rel=1e-5), name
    for name, matrix in (("videos", "neg_ctx_unweighted_matrix"), ("queries", "neg_q_unweighted_matrix")):
        assert losses[name].item() == pytest.approx(torch.tensor(told[matrix]).mean(1).mean().item(), rel=1e-5)
    losses["loss"].backward()
    ours = {n: p.grad for n, p in model.named_parameters()}
    theirs = rename(tensors(case, f"grads_{mode}"))
    assert ours.keys() == theirs.keys()
    for name, grad in theirs.items():
        if not name.endswith("key.bias"):  # truly 0
            near(ours[name], grad, 1e-4 * grad.abs().max().item())


@pytest.mark.parametrize("mode", ["hard_off", "hard_on"])
@pytest.mark.parametrize("case", CASES)
def test_losses_where_one_negative_is_drawn(case: Path, mode: str) -> None:
    told = numbers(case, "losses")[f"sampled_{mode}"]
    scores = tensors(case, "train_outputs")["q2video_scores"]

    def chosen(s: Any, ranks: list[int]) -> Any:
        order = s.clone().fill_diagonal_(999).argsort(1, descending=True)
        return order.gather(1, torch.tensor(ranks)[:, None])[:, 0]

    drawn = Negatives(chosen(scores, told["neg_ctx_rank"]), chosen(scores.T, told["neg_q_rank"]))
    model = model_of(case, mode == "hard_on", negatives="one")
    losses = model.loss(batch_of(case, drawn))
    assert losses["loss"].item() == pytest.approx(told["loss_overall"], rel=1e-5)
    assert losses["videos"].item() == pytest.approx(told["loss_neg_ctx"] / model.config.weight_videos, rel=1e-5)
    assert losses["queries"].item() == pytest.approx(told["loss_neg_q"] / model.config.weight_queries, rel=1e-5)
    pool = model.config.hard_pool if mode == "hard_on" else len(scores) - 1
    order = scores.clone().fill_diagonal_(999).argsort(1, descending=True)
    allowed = [{scores[i, order[i, r]].item() for r in range(1, 1 + pool)} for i in range(len(scores))]
    rivals = ~torch.eye(len(scores), dtype=torch.bool)
    linear = replace(model.config, margin=1e3)  # the loss then says which score was taken
    seen: set[float] = set()
    for seed in range(100):
        torch.manual_seed(seed)
        row = rank_one(scores[:1].expand_as(scores[:1]), rivals[:1], linear, mode == "hard_on", None)
        taken = row.item() - 1e3 + scores[0, 0].item()
        assert min(abs(taken - a) for a in allowed[0]) < 1e-3
        seen.add(min(allowed[0], key=lambda a: abs(taken - a)))
    assert seen == allowed[0]


@pytest.mark.parametrize("case", CASES)
def test_four_steps_of_the_published_optimizer(case: Path) -> None:
    told, model = numbers(case, "optimizer"), model_of(case)
    h, batch = told["hyper"], batch_of(case)
    decays = {id(p) for p in model.parameter_groups(SimpleNamespace(weight_decay=0.01))[0]["params"]}
    theirs = {n for n in told["decayed_parameters"] if not any(re.fullmatch(u, n) for u in hero.UNUSED)}
    assert {n for n, p in model.named_parameters() if id(p) in decays} == set(
        rename(dict.fromkeys(theirs, torch.zeros(1)))
    )
    groups = model.parameter_groups(SimpleNamespace(weight_decay=h["weight_decay"]))
    optimizer = BertAdamW(groups, h["learning_rate"], tuple(h["betas"]), told["eps"])
    for step in told["steps"]:
        loss = model.loss(batch)["loss"]
        assert loss.item() == pytest.approx(step["loss"], rel=1e-4)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), h["grad_norm"])
        assert norm.item() == pytest.approx(step["grad_norm_before_clip"], rel=1e-4)
        for group in optimizer.param_groups:
            group["lr"] = step["lr"]
        optimizer.step()
    after = rename(tensors(case, "params_after_4_optimizer_steps"))
    for name, p in model.state_dict().items():
        if not name.endswith("key.bias"):  # truly 0: Adam makes steps of its rounding
            near(p, after[name], 1e-5)  # torch's own AdamW is off by 2.6e-3


def searched(case: Path, run: str, **changes: Any) -> tuple[Model, Corpus, Any, Answers]:
    k = numbers(case, "config")["case"]
    one = tensors(case, "inference_video_one_batch")
    size = numbers(case, "inference")[run]["options"]["vcmr_eval_video_batch_size"]
    model = model_of(case).eval()
    mask = one["corpus.c_attn_masks"].bool()
    clips = [f[m] for f, m in zip(one["corpus.c_v_feats"], mask, strict=True)]
    named = [(f"v{i}", c, 1e9) for i, c in enumerate(clips)]
    corpus = encode_corpus(model, named, size)
    with torch.no_grad():
        queries = model.encode_query(one["query.query_input_ids"][:, 1:], one["query.query_attn_masks"][:, 1:].bool())
    published: dict[str, Any] = {
        "videos": k["max_vcmr_video"],
        "before_nms": k["max_before_nms"],
        "after_nms": k["max_after_nms"],
        "late": "kept",
        "nms_reads": "listed",
    }
    [(_, answers)] = list(
        search_corpus(
            model, queries, corpus, Decoding.of(model.config, **published | changes), torch.tensor(k["q_vid"])
        )
    )
    return model, corpus, queries, answers


def same(found: RankedMoments, q: int, theirs: list[list[float]]) -> None:
    there = found.score[q] > 0
    rows = zip(found.video[q][there].tolist(), found.span[q][there].tolist(), strict=True)
    assert [[v, *s] for v, s in rows] == [r[:3] for r in theirs]
    near(found.score[q][there].double() / torch.tensor([r[3] for r in theirs], dtype=torch.float64),
         torch.ones(len(theirs), dtype=torch.float64), 2e-3)  # fmt: skip


def run_names(case: Path) -> list[str]:
    return [n for n, v in numbers(case, "inference").items() if isinstance(v, dict) and "options" in v]


@pytest.mark.parametrize("case", CASES)
def test_lists_before_and_after_nms(case: Path) -> None:
    for run in run_names(case):
        lists, theirs = numbers(case, "inference")[run], tensors(case, f"inference_{run}")
        model, corpus, queries, answers = searched(case, run)
        assert corpus.extent is not None
        read = torch.arange(corpus.rows.mask.shape[1]) < corpus.extent[:, None]  # what lies behind is not encoded
        near(corpus.rows.spans[read], theirs["frame_embeddings"][read], 1e-5)
        near(model.video_scores(queries, corpus.rows).detach(), theirs["q2video_scores"], 1e-5)
        start, end = model.span_logits(queries.spans[:, None], corpus.rows.spans, corpus.rows.mask)
        near(start.detach(), theirs["st_logits"], 1e-4)
        near(end.detach(), theirs["ed_logits"], 1e-4)
        near(start.softmax(-1).detach(), theirs["st_prob"], 1e-4)
        k = numbers(case, "config")["case"]
        whole = searched(case, run, after_nms=k["max_before_nms"])[3]
        unread = searched(case, run, nms_reads="all")[3]
        before, after, raw = (
            lists[n] for n in ("submission_before_nms", "submission_after_nms", "raw_before_truncation")
        )
        for q in range(len(queries)):
            same(answers.vcmr_listed, q, before["VCMR"][q]["predictions"])
            same(whole.vcmr_listed, q, raw["VCMR"][q]["predictions"])
            same(answers.vcmr, q, after["VCMR"][q]["predictions"])
            same(unread.vcmr, q, lists["nms_of_untruncated"]["VCMR"][q]["predictions"])
            same(answers.svmr_listed, q, [r for r in before["SVMR"][q]["predictions"] if r[3] > 0])
            same(answers.svmr, q, [r for r in after["SVMR"][q]["predictions"] if r[3] > 0])
            videos = before["VR"][q]["predictions"]
            assert answers.vr_videos[q].tolist() == [r[0] for r in videos]
            near(answers.vr_weights[q] / torch.tensor([r[3] for r in videos]), torch.ones(len(videos)), 1e-4)


# -- our own rules ----------------------------------------------------------------------------------------------------

TINY = Config.tiny(feature_dim=6, vocab_size=12, hidden=16, heads=2, feedforward=16, max_clips=9)


def random_batch(lengths: list[int], words: list[int], seed: int = 0) -> Batch:
    g = torch.Generator().manual_seed(seed)
    T, L, B = max(lengths), max(words), len(lengths)
    mask, seen = torch.arange(T) < torch.tensor(lengths)[:, None], torch.arange(L) < torch.tensor(words)[:, None]
    video = torch.randn(B, T, 6, generator=g) * mask[..., None]
    query = torch.randint(2, 12, (B, L), generator=g) * seen
    spans = torch.stack([torch.zeros(B, dtype=torch.int64), torch.tensor(lengths) - 1], 1)
    return Batch([f"q{i}" for i in range(B)], query, seen, video, mask, torch.tensor(lengths).float(), spans,
                 videos=[f"v{i}" for i in range(B)])  # fmt: skip


def test_a_short_video_is_the_same_alone_and_beside_a_long_one_unless_pads_are_seen() -> None:
    torch.manual_seed(0)
    both, alone = random_batch([4, 9], [3, 5]), random_batch([4, 9], [3, 5])
    alone.query, alone.query_mask, alone.video, alone.video_mask = (
        both.query[:1, :3], both.query_mask[:1, :3], both.video[:1, :4], both.video_mask[:1, :4])  # fmt: skip
    for pads, equal in (("hidden", True), ("seen", False)):
        model = Model(replace(TINY, pads=pads)).eval()
        found = []
        for b in (both, alone):
            q, v = model.encode_query(b.query, b.query_mask), model.encode_video(b.video, b.video_mask)
            found.append((q.spans[0], v.spans[0, :4], model.span_logits(q.spans[0], v.spans[0], v.mask[0])[0][:4]))
        near(found[0][0], found[1][0], 1e-5)
        near(found[0][1], found[1][1], 1e-5)
        assert torch.allclose(found[0][2], found[1][2], atol=1e-5) is equal


def test_all_negatives_against_a_loop() -> None:
    torch.manual_seed(1)
    s, c = torch.randn(5, 5), replace(TINY, hard_pool=2)
    rivals = ~torch.eye(5, dtype=torch.bool)
    rivals[0, 1] = rivals[1, 0] = rivals[4] = False  # of one video; one without any rival
    for hard in (False, True):
        total = 0.0
        for i in range(5):
            free = sorted((s[i, j].item() for j in range(5) if rivals[i, j]), reverse=True)
            each = [max(0.0, c.margin + x - s[i, i].item()) for x in free]
            weights = [(c.hard_weight if r < 2 else c.soft_weight) if hard else 1.0 for r in range(len(each))]
            total += sum(w * e for w, e in zip(weights, each, strict=True)) / max(len(each), 1)
        assert rank_all(s, rivals, c, hard).item() == pytest.approx(total / 5, rel=1e-5)


def test_another_query_of_the_same_video_is_no_negative_unless_asked_for() -> None:
    batch = random_batch([4, 4, 5], [3, 3, 4])
    batch.videos = ["a", "a", "b"]
    other = hero.find_rivals(batch.videos, 3, "other", torch.device("cpu"))
    assert other.tolist() == [[False, False, True], [False, False, True], [True, True, False]]
    assert hero.find_rivals(batch.videos, 3, "all", torch.device("cpu")).sum() == 6


def test_spans_are_dropped_in_the_share_of_steps_that_is_said_and_hard_negatives_begin_at_their_step() -> None:
    torch.manual_seed(0)
    model, batch = Model(replace(TINY, drop_span=0.8, hard_from=150)), random_batch([4, 9], [3, 5])
    learnt = sum(bool(model.learns_spans()) for _ in range(500))
    assert 60 < learnt < 140
    model.begin(3, 149)
    assert not model.hard
    losses = model.loss(batch)
    losses["loss"].backward()
    assert all(p.grad is not None for p in model.parameters())
    assert not model.hard  # the loop counts steps, not the model: a step may have several batches
    model.begin(3, 150)
    assert model.hard
    model.eval()
    model.loss(batch)
    assert model.learns_spans()


def test_settings_that_do_not_fit_are_refused() -> None:
    for changes, words in (
        ({"heads": 5}, "multiple of heads"),
        ({"max_clips": 500}, "positions"),
        ({"vocabulary": ("<s>", "<pad>")}, "ids 0 and 1"),
    ):
        with pytest.raises(SpecError, match=words):
            Model(replace(TINY, **changes))
    with pytest.raises(InputError, match="no weight of the published model"):
        rename({"query_encoder.self.query.weight": torch.zeros(1)})


@pytest.mark.parametrize("case", CASES)
def test_a_published_checkpoint_loads_weights_only(case: Path, tmp_path: Path) -> None:
    """A plain state, as HERO's files are; and all but the layers that read features, for features of another width."""
    theirs = config_of(case)
    torch.save(tensors(case, "params"), tmp_path / "hero.pt")
    sizes = official.read_sizes(tmp_path / "hero.pt", "hero")
    assert {n: getattr(theirs, n) for n in sizes} == sizes
    lengths = {"heads": theirs.heads, "max_clips": theirs.max_clips, "max_words": theirs.max_words}
    weights, found = official.load_official(tmp_path / "hero.pt", Config(**sizes, **lengths), model="hero")
    Model(Config(**sizes, **lengths)).load_state_dict(weights)
    assert any("lm_head" in name for name in found.unused)
    wide = Model(Config(**sizes | {"feature_dim": 7}, **lengths))
    inner, _ = official.load_official(tmp_path / "hero.pt", wide.config, "encoder", "hero")
    missing = wide.load_state_dict(inner, strict=False).missing_keys
    assert {n.split(".")[0] for n in missing} == {"raw", "cross"} and len(missing) == 8


# -- what it must be able to learn ------------------------------------------------------------------------------------


@pytest.mark.experiment
def test_32_moments_are_learnt_by_heart() -> None:
    """SVMR R@1 at IoU .7 above .95 on random frames: 32 queries of 4 words, moments of 2 to 8 clips."""
    torch.manual_seed(0)
    rng = torch.Generator().manual_seed(1)
    config = Config.tiny(feature_dim=32, vocab_size=200, max_clips=24, min_length=1, max_length=10)
    model = Model(config)
    n = 32
    clips = torch.randint(14, 25, (n,), generator=rng).tolist()
    lengths = torch.randint(2, 9, (n,), generator=rng).tolist()
    firsts = [int(torch.randint(0, T - m + 1, (), generator=rng)) for T, m in zip(clips, lengths, strict=True)]
    frames = [torch.randn(T, 32, generator=rng) for T in clips]
    query, words = torch.randint(2, 200, (n, 4), generator=rng), torch.ones(n, 4, dtype=torch.bool)
    video, mask = pad_rows(frames)
    spans = torch.tensor([(f, f + m - 1) for f, m in zip(firsts, lengths, strict=True)])
    names = [f"v{i}" for i in range(n)]
    optimizer = BertAdamW(model.parameter_groups(SimpleNamespace(weight_decay=0.01)), 5e-4, (0.9, 0.98))

    def found_rate() -> float:
        model.eval()
        corpus = encode_corpus(model, [(v, f, float(len(f))) for v, f in zip(names, frames, strict=True)])
        with torch.no_grad():
            queries = model.encode_query(query, words)
        right = 0
        for part, answers in search_corpus(model, queries, corpus, Decoding.of(config), torch.arange(n), False):
            for q, (s, e) in zip(range(n)[part], answers.svmr.span[:, 0].tolist(), strict=True):
                a, b = float(spans[q, 0]), float(spans[q, 1]) + 1
                right += max(0.0, min(e, b) - max(s, a)) / (max(e, b) - min(s, a)) >= 0.7
        return right / n

    for step in range(600):
        model.train()
        rows = torch.randperm(n)[:16]
        batch = Batch([names[i] for i in rows], query[rows], words[rows], video[rows], mask[rows],
                      mask[rows].sum(1).float(), spans[rows], videos=[names[i] for i in rows])  # fmt: skip
        optimizer.zero_grad()
        model.loss(batch)["loss"].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49 and (rate := found_rate()) > 0.95:
            break
    print(f"HERO: SVMR R@1 (IoU .7) {rate:.3f} after {step + 1} steps")
    assert rate > 0.95
