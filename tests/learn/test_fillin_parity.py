"""FillIn against vectors of the published program: batches, memories, logits, losses, gradients, answers, steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
pytest.importorskip("safetensors.torch", reason="models need fabula[learn]")

from fabula.learn.identity.blanks import BlankSet, Words, collate, count_words  # noqa: E402
from fabula.learn.identity.videosets import STRIDE, ClipFeatures  # noqa: E402
from fabula.learn.models import fillin  # noqa: E402

from .model_vectors import cases, numbers, tensors  # noqa: E402

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
RUNS: dict[str, dict[str, Any]] = {
    "bert_gender": {},
    "bert_no_gender": {"gender": False},
    "bert_gender_no_video": {"streams": "text,face"},
    "text_only": {"streams": "text"},
    "bilstm_last": {"label": "words"},
    "bilstm_max": {"label": "words", "pool": "max"},
    "bilstm_blank_out": {"label": "words", "pool": "blank"},
    "both_captions": {},
}


class Case:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config, self.raw = numbers(folder, "config"), numbers(folder, "raw")
        self.losses = numbers(folder, "losses")["runs"]
        self.inputs, self.outputs = tensors(folder, "inputs"), tensors(folder, "train_outputs")
        words = self.raw["prepro"]["ix_to_word"]
        self.vocabulary = tuple(words[str(i)] for i in range(len(words)))
        self.arrays = tensors(folder, "raw")

    def model(self, run: str) -> fillin.Model:
        """The state of one run, dropout off."""
        args, state = self.config["args"], tensors(self.folder, "params")
        if run == "both_captions":
            state |= tensors(self.folder, "params_both_captions")
        known = {"heads": self.config["transformer"]["nhead"], "clips": self.config["case"]["group_by"], "faces":
                 args["max_face"], "segments": args["max_seg"], "blanks": args["max_characters"], "dropout": 0.0,
                 "dropout_ends": 0.0, "vocabulary": self.vocabulary, "tokens": args["seq_length"],
                 "gender_weight": args["gender_loss"], **RUNS[run]}  # fmt: skip
        return fillin.from_official(state, **known)

    def batch(self, model: fillin.Model) -> fillin.Batch:
        """Made of the raw annotations and features by our own code."""
        said = {one["clip"]: one for one in self.raw["annotations"]}
        groups: dict[int, list[str]] = {}
        for group, clip, skipped in zip(*(self.raw[f"batch_{n}"] for n in ("groups", "clips", "skipped")), strict=True):
            if not skipped:
                groups.setdefault(group, []).append(clip)
        return collate([self.one(str(g), clips, said, model.config) for g, clips in groups.items()], model.config)

    def one(self, name: str, clips: list[str], said: dict[str, Any], config: fillin.Config) -> BlankSet:
        texts = [said[clip]["sentence"].replace("[...]", "[BLANK]") for clip in clips]
        people = [id for clip in clips for id in said[clip]["ids"].split(",") if id != "_"]
        number = {id: n for n, id in enumerate(dict.fromkeys(people), 1)}
        rows = [Words(config.vocabulary, config.tokens).encode(text) for text in texts]
        text = self.arrays[f"bert.train.{name}"].numpy()[: len(people)]
        genders = tuple("MFG".index(g) for clip in clips for g in said[clip]["genders"])
        return BlankSet(name, tuple(map(self.features, clips)), tuple(k for k, r in enumerate(rows) for _ in r),
                        tuple(number[id] for id in people), tuple(row for r in rows for row in r), text,
                        genders)  # fmt: skip

    def features(self, clip: str) -> ClipFeatures:
        face = self.arrays[f"face.{clip}"].numpy()
        one = np.zeros((1, 1), np.float32)
        return ClipFeatures(clip, one, self.arrays[f"fc.{clip}"].numpy(), face[:, 6:], np.zeros((len(face), 4), "f4"),
                            face[:, 1].astype(float) * STRIDE, np.arange(len(face)))  # fmt: skip


@pytest.fixture(scope="module", params=cases("fillin"))
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def test_words(case: Case) -> None:
    texts = [one["sentence"].replace("[...]", "[BLANK]") for one in case.raw["annotations"]]
    assert count_words(texts) == case.vocabulary
    order = {one["clip"]: row for one, row in zip(case.raw["annotations"], case.arrays["labels"], strict=True)}
    words = Words(case.vocabulary, case.config["args"]["seq_length"])
    blank, someone = (case.vocabulary.index(w) for w in ("<blank>", "SOMEONE"))
    for clip, text in zip(order, texts, strict=True):
        want = [t for t in order[clip].tolist() if t]
        for row in words.encode(text):
            assert [blank if t == someone else t for t in row[1:-1]] == want


def test_batch(case: Case) -> None:
    model, theirs = case.model("both_captions"), case.inputs
    ours, S = case.batch(model), case.config["slot_size"]
    assert ours.clip.tolist() == theirs["slots"][:, :S].tolist()
    assert ours.person.tolist() == theirs["characters"][:, 1 : S + 1].tolist()
    real, rows = ours.mask, torch.arange(len(ours.names))[:, None]
    assert ours.gender[real].tolist() == theirs["genders"][:, :S][real].tolist()
    assert ours.length.tolist() == theirs["masks"][:, :S].sum(-1).tolist()
    assert ours.words.tolist() == theirs["captions"][:, :S, : ours.words.shape[2]].tolist()
    torch.testing.assert_close(ours.text[real], theirs["bert_emb"][:, :S][real])
    clip = ours.clip.clamp(min=0)
    for mine, other in ((ours.face, theirs["face_feats"][..., 6:]), (ours.video, theirs["fc_feats"]),
                        (ours.face_mask.float(), theirs["face_masks"])):  # fmt: skip
        torch.testing.assert_close(mine[rows, clip][real], other[:, :S][real], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("run", RUNS)
def test_memory_logits_and_losses(case: Case, run: str) -> None:
    model = case.model(run)
    batch = case.batch(model)
    real, want = batch.mask, {n.removeprefix(f"{run}."): t for n, t in case.outputs.items() if n.startswith(f"{run}.")}
    if want:
        labels = model.labels(batch)
        a, context = model.attend(batch, labels)
        z, _ = model.remember(batch)
        torch.testing.assert_close(labels[real], want["label_feat"][real], **CLOSE)
        torch.testing.assert_close(z[real], want["memory"][real], **CLOSE)
        if run != "text_only":
            torch.testing.assert_close(a[real], want["face_alpha"][real], **CLOSE)
        if "gender_logprobs" in want:
            torch.testing.assert_close(model.genders(context).log_softmax(-1)[real], want["gender_logprobs"][real],
                                       **CLOSE)  # fmt: skip
        memory = model.encode(z)
        h = model.decode(torch.nn.functional.pad(batch.person, (1, 0))[:, :-1], memory, real)
        torch.testing.assert_close(model.head(h)[real], want["logits"][real], atol=2e-5, rtol=1e-5)
        if run == "bert_gender":
            torch.testing.assert_close(context[real], want["face_context"][real], **CLOSE)
            torch.testing.assert_close(memory[real], want["encoder_output"][real], **CLOSE)
            torch.testing.assert_close(h[real], want["decoder_output"][:, :-1][real], **CLOSE)
    losses, theirs = model.loss(batch), case.losses["text_only_no_faces_no_video" if run == "text_only" else run]
    assert losses["loss"].item() == pytest.approx(theirs["loss"], abs=1e-5, rel=1e-6)
    assert losses["fitb"].item() == pytest.approx(theirs["id_loss"], abs=1e-5, rel=1e-6)
    if model.config.gender:
        assert losses["gender"].item() == pytest.approx(theirs["gender_loss"], abs=1e-5, rel=1e-6)


@pytest.mark.parametrize("run", RUNS)
def test_blanks_are_filled_alike(case: Case, run: str) -> None:
    model = case.model(run)
    answers = model.predict(case.batch(model))
    theirs = case.losses["text_only_no_faces_no_video" if run == "text_only" else run]
    assert [list(one.filled) for one in answers] == theirs["greedy_ids_valid"]
    if model.config.gender:
        genders = case.outputs[f"{run}.greedy_genders"].tolist()
        assert [list(one.genders) for one in answers] == [
            g[: len(a.filled)] for a, g in zip(answers, genders, strict=True)
        ]


@pytest.mark.parametrize("run", ["bert_gender", "bilstm_last", "bilstm_blank_out"])
def test_gradients(case: Case, run: str) -> None:
    model = case.model(run).train()
    model.loss(case.batch(model))["loss"].backward()
    ours = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    theirs, compared = tensors(case.folder, "grads"), 0
    for name, want in theirs.items():
        mine = official_name(name.removeprefix(f"{run}.")) if name.startswith(f"{run}.") else None
        if mine is not None and want.any():
            scale = want.abs().max().item()
            torch.testing.assert_close(ours[mine], want, atol=1e-4 * scale, rtol=1e-4, msg=name)
            compared += 1
    assert compared > (60 if run == "bert_gender" else 5)


def official_name(theirs: str) -> str | None:
    from fabula.learn.official import TABLES, translate

    return translate(theirs, TABLES["fillin"])


def test_three_steps_of_adam(case: Case) -> None:
    """Parameters are compared where the gradient is more than rounding: Adam makes a whole step of any."""
    model, log = case.model("bert_gender").train(), numbers(case.folder, "optimizer")
    batch, sure = case.batch(model), {}
    optimizer = torch.optim.Adam(model.parameters(), lr=log["lr"], betas=tuple(log["betas"]))
    for want in log["steps"]:
        optimizer.zero_grad()
        loss = model.loss(batch)["loss"]
        assert loss.item() == pytest.approx(want["loss"], abs=2e-5)
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), model.recipe["clip_value"])
        for name, p in model.named_parameters():
            sure[name] = sure.get(name, True) & (p.grad.abs() > 2e-4) if p.grad is not None else None
        optimizer.step()
    for name, want in tensors(case.folder, "params_after_3_optimizer_steps").items():
        mine = official_name(name)
        if mine is not None and sure[mine] is not None:
            torch.testing.assert_close(model.get_parameter(mine).detach()[sure[mine]], want[sure[mine]],
                                       atol=2e-5, rtol=1e-4, msg=name)  # fmt: skip
