"""FillIn: every equation by pencil; words; faces of a clip as means; `fabula train micap --model fillin`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.io.identity.captionsets import SetText  # noqa: E402
from fabula.learn import checkpoint, official  # noqa: E402
from fabula.learn.identity.blanks import BlankSet, BlankSets, Words, collate, count_words  # noqa: E402
from fabula.learn.identity.clips import Streams, Videosets  # noqa: E402
from fabula.learn.identity.videosets import Batch, ClipFeatures, pool_people  # noqa: E402
from fabula.learn.models import fillin, micap  # noqa: E402
from fabula.learn.worlds.films import Recipe, write_world  # noqa: E402
from fabula.media.stores.features import write_features  # noqa: E402
from fabula.text.identity import ID  # noqa: E402

RECIPE = Recipe(train_films=2, val_films=1, test_films=1, clips=6, face_dim=8, action_dim=4, frame_dim=4)
SIZES = {"hidden": 8, "rnn": 4, "word_dim": 4, "face_hidden": 8, "video_hidden": 3, "image_hidden": 2, "heads": 2,
         "encoder_layers": 1, "decoder_layers": 1, "feedforward": 8, "faces": 3}  # fmt: skip
DIMS = {"text_dim": 5, "action_dim": 4, "face_dim": 6}
FAST = {"epochs": 1, "batch_size": 8, "lr": 1e-3, "threads": 1, "device": "cpu"}
WORDS = ("<eos>", "<sos>", "<blank>", "opens", "door", "<UNK>", "SOMEONE")


def clip_of(faces: int, seed: int = 0) -> ClipFeatures:
    rng = np.random.default_rng(seed)
    x = [rng.random(shape).astype(np.float32) for shape in ((2, 1), (7, 4), (faces, 6), (faces, 4))]
    return ClipFeatures("c", *x, np.arange(faces) * 3.0, np.arange(faces))


def batch_of(config: fillin.Config) -> fillin.Batch:
    rng = np.random.default_rng(1)
    words = ((0, 2, 3, 0), (0, 6, 3, 2, 0), (0, 2, 0))
    first = BlankSet(
        "a", (clip_of(2), clip_of(5, 1)), (0, 0, 1), (1, 2, 1), words, rng.random((3, 5), np.float32), (0, 2, 1)
    )
    second = BlankSet("b", (clip_of(0),), (0,), (1,), words[:1], rng.random((1, 5), np.float32), (1,))
    return collate([first, second], config)


def model_of(**changes: object) -> fillin.Model:
    torch.manual_seed(0)
    known = {**SIZES, **DIMS, "vocabulary": WORDS, "dropout": 0.0, "dropout_ends": 0.0, **changes}
    return fillin.Model(fillin.Config(**known)).eval()


# --- equations -------------------------------------------------------------------------------------------------------


def test_attention_by_pencil() -> None:
    """softmax over all places, then the mask, then a sum that is a little too large."""
    model = model_of()
    batch = batch_of(model.config)
    labels = model.labels(batch)
    a, context = model.attend(batch, labels)
    f = [model.face(x) for x in batch.face[0, 0]]
    wide = [
        torch.cat([y, model.video(v), torch.zeros(2), labels[0, 1]]) for y, v in zip(f, batch.video[0, 0], strict=True)
    ]
    e = [math.exp((model.energy.weight[0] @ torch.tanh(model.look(x))).item()) for x in wide]
    shares = [x / sum(e) for x in e[:2]]  # two of three places are faces
    want = [share / (sum(shares) + 1e-5) for share in shares]
    assert a[0, 1].tolist() == pytest.approx([*want, 0.0], abs=1e-6)
    torch.testing.assert_close(context[0, 1], want[0] * f[0] + want[1] * f[1], atol=1e-6, rtol=1e-5)
    assert not a[1].any() and not context[1].any()  # a clip without a face
    assert a[0, 2].sum().item() < 1


def test_memory_by_pencil() -> None:
    """The number of the blank, the number of its clip, label, context."""
    model = model_of()
    batch = batch_of(model.config)
    z, context = model.remember(batch)
    label = model.text(batch.text[0, 2])
    torch.testing.assert_close(z[0, 2], model.memory(torch.cat([torch.tensor([2.0, 1.0]), label, context[0, 2]])))


def test_nobody_sees_what_is_behind() -> None:
    """The k-th answer knows the memory of all blanks and the people before the k-th."""
    model = model_of()
    batch = batch_of(model.config)
    memory = model.encode(model.remember(batch)[0])
    people = torch.tensor([[0, 1, 2], [0, 0, 0]])
    h = model.decode(people, memory, batch.mask)
    torch.testing.assert_close(model.decode(people[:, :2], memory, batch.mask), h[:, :2])
    changed = memory.clone()
    changed[1, 1:] += 9  # behind the only blank
    torch.testing.assert_close(model.decode(people, changed, batch.mask)[1], h[1])


@pytest.mark.parametrize("gender", [False, True])
def test_loss_by_pencil(gender: bool) -> None:
    model = model_of(gender=gender)
    batch = batch_of(model.config)
    z, context = model.remember(batch)
    h = model.decode(torch.tensor([[0, 1, 2], [0, 1, 0]]), model.encode(z), batch.mask)
    p = model.head(h).log_softmax(-1)
    want = -(p[0, 0, 1] + p[0, 1, 2] + p[0, 2, 1] + p[1, 0, 1]) / 4
    if gender:
        g = model.genders(context).log_softmax(-1)
        want = want - 0.2 * (g[0, 0, 0] + g[0, 1, 2] + g[0, 2, 1] + g[1, 0, 1]) / 4
    assert model.loss(batch)["loss"].item() == pytest.approx(want.item(), abs=1e-6)


@pytest.mark.parametrize("pool", ["last", "max", "blank"])
def test_words_by_pencil(pool: str) -> None:
    model = model_of(label="words", pool=pool)
    row, lstm = torch.tensor([0, 6, 3, 2, 0]), model.lstm
    x = model.words(row)

    def run(x, side):
        h = c = torch.zeros(4)
        out = []
        for step in x:
            gates = (getattr(lstm, f"weight_ih_l0{side}") @ step + getattr(lstm, f"bias_ih_l0{side}")
                     + getattr(lstm, f"weight_hh_l0{side}") @ h + getattr(lstm, f"bias_hh_l0{side}"))  # fmt: skip
            i, f, g, o = gates.chunk(4)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            out.append(h)
        return torch.stack(out)

    both = torch.cat([run(x, ""), run(x.flip(0), "_reverse").flip(0)], -1)
    pooled = {"last": torch.cat([both[-1, :4], both[0, 4:]]), "max": both.amax(0), "blank": both[3]}[pool]
    torch.testing.assert_close(model.labels(batch_of(model.config))[0, 1], model.sentence(pooled), atol=1e-6, rtol=1e-5)


def test_both_labels_stand_side_by_side() -> None:
    model = model_of(label="both")
    batch = batch_of(model.config)
    words = model.read_words(batch.words[0], batch.length[0])
    torch.testing.assert_close(model.labels(batch)[0], torch.cat([words, model.text(batch.text[0])], -1))


def test_settings_that_make_no_model() -> None:
    with pytest.raises(SpecError, match="FillIn takes text"):
        fillin.Config(streams="action,face")
    with pytest.raises(SpecError, match="only where it looks at faces"):
        fillin.Config(streams="text,action")


# --- data ------------------------------------------------------------------------------------------------------------


def test_words_of_captions() -> None:
    """A person's 's counts as someone's; a rare word is <UNK>; the blank asked about stays, other people do not."""
    words = count_words(["P1 opens John's door.", "P2's door opens, P1 waits!", "P1's hat"])
    assert words == ("<eos>", "<sos>", "<blank>", "opens", "'s", "door", "someone", "<UNK>", "SOMEONE")
    rows = Words(words, 10).encode("P2's door opens; P1 sits.")
    assert rows == [(0, 2, 4, 5, 3, 8, 7, 0), (0, 8, 4, 5, 3, 2, 7, 0)]
    assert Words(words, 5).encode("P1 opens the door") == [(0, 2, 3, 7, 0)]
    with pytest.raises(InputError, match="a blank is word 4 of a caption; the model reads 3"):
        Words(words, 5).encode("see the door P1 opens")


def test_faces_of_a_person_are_their_mean() -> None:
    clip = clip_of(4)
    pooled = pool_people(
        ClipFeatures("c", clip.frame, clip.action, clip.face, clip.box, clip.at, np.array([7, 3, 7, 3]))
    )
    np.testing.assert_allclose(pooled.face, [clip.face[[0, 2]].mean(0), clip.face[[1, 3]].mean(0)], rtol=1e-6)
    assert pooled.at.tolist() == [3.0, 6.0] and pooled.person.tolist() == [7, 3] and pooled.box.shape == (2, 4)
    assert pool_people(clip_of(0)).face.shape == (0, 6)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, RECIPE)
    return folder


def test_clusters_are_of_a_clip_alone(tmp_path: Path) -> None:
    """Two faces that are near each other only by a face of another clip are two people here, and one in MICap's set."""

    def face(degrees: float) -> list[float]:
        return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]

    faces = {"a": [face(0), face(100), face(2)], "b": [face(50)]}
    write_features(tmp_path / "face.safetensors", [(c, np.array(x, np.float32)) for c, x in faces.items()], {})
    write_features(tmp_path / "box.safetensors", [(c, np.zeros((len(x), 5), "f4")) for c, x in faces.items()], {})
    sets, streams = {"s": SetText(("P1 waits.", "P2 too."), clips=("a", "b"))}, Streams(tmp_path)
    data = BlankSets(sets, streams, fillin.Config.tiny(text_dim=256, face_dim=2, face_eps=0.4), "fitb")
    one = data[0]
    assert [len(clip.face) for clip in one.clips] == [2, 1]
    np.testing.assert_allclose(one.clips[0].face[0], (np.array(face(0)) + face(2)) / 2, atol=1e-6)
    assert one.where == (0, 1) and one.people == (0, 0)  # who it is, is not looked at
    for clusters, people in (("clip", [0, 1, 0]), ("set", [0, 0, 0])):
        config = micap.Config.tiny(text_dim=256, face_dim=2, face_eps=0.4, face_clusters=clusters)
        assert Videosets(sets, streams, config, "fitb").look(["a", "b"])[0][0].person.tolist() == people


def test_a_long_set_is_refused(world: Path) -> None:
    clips = tuple(f"sim-train-000-{k:04d}" for k in range(6))
    with pytest.raises(InputError, match="6 clips; FillIn takes 5 at a time"):
        BlankSets({"s": SetText(("P1.",) * 6, clips=clips)}, Streams(world), fillin.Config.tiny(), "fitb")


def test_sets_without_people_are_no_units(world: Path) -> None:
    clips = ("sim-train-000-0000",)
    sets = {"s": SetText(("A door.",), clips=clips), "t": SetText(("P1 waits.",), clips=clips)}
    assert [name for name, _ in BlankSets(sets, Streams(world), fillin.Config.tiny(), "train").windows] == ["t"]


# --- files -----------------------------------------------------------------------------------------------------------


def train(world: Path, out: Path, **more: object) -> dict[str, float]:
    sizes = {**SIZES, **more.pop("set_", {})}
    return fabula.train("micap", model="fillin", data=world, features=world, tiny=True, set_=sizes, settings=FAST,
                        out=out, **more)  # fmt: skip


def test_from_files_to_ids(world: Path, tmp_path: Path) -> None:
    line = train(world, tmp_path / "run")
    assert line["step"] == 1 and "val_class" in line
    said = json.loads((tmp_path / "run" / "config.json").read_text())
    assert said["model"] == "fillin" and (said["settings"]["lr"], said["settings"]["decay"]) == (1e-3, 0.8)
    filled = fabula.predict("micap", tmp_path / "run", task="fitb", data=world, split="test", features=world)
    assert len(filled) == 1 and all(id.startswith("P") for one in filled.values() for ids in one.blanks for id in ids)
    with pytest.raises(SpecError, match="trained for fitb alone"):
        fabula.predict("micap", tmp_path / "run", task="caption", data=world, split="test", features=world)
    with pytest.raises(SpecError, match="figures are of the model micap"):
        fabula.analyse("micap", tmp_path / "run", data=world)


def test_text_alone_and_words(world: Path, tmp_path: Path) -> None:
    train(world, tmp_path / "run", streams="text", set_={"label": "words"})
    weights, header = checkpoint.read(tmp_path / "run" / "last.safetensors", weights_only=True)
    assert "<blank>" in header["config"]["vocabulary"] and not any("face" in name for name in weights)


def test_genders(world: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no store of the stream gender"):
        train(world, tmp_path / "run", set_={"gender": True})
    for file in world.iterdir():
        (tmp_path / file.name).symlink_to(file)
    from fabula.core.notes import Notes
    from fabula.learn.identity.clips import read_sets_of
    from fabula.learn.identity.wordpiece import WHO

    counts = {name: sum(len(WHO.findall(c)) for c in one.captions or ()) for name, one in
              read_sets_of(world, "train", Notes()).items()}  # fmt: skip
    write_features(tmp_path / "gender.safetensors", [(n, np.full((k, 1), 1.0)) for n, k in counts.items()], {})
    line = train(tmp_path, tmp_path / "run", set_={"gender": True})
    assert line["fitb/gender"] > 0


def test_from_weights_of_the_published_program(world: Path, tmp_path: Path) -> None:
    """Their names, the head they never read, and the sentence encoder they save whether it is used or not."""
    model = model_of(label="both", gender=True, **{"text_dim": 256, "action_dim": 4, "face_dim": 8})
    names = {ours: theirs for theirs, ours in their_names(model).items()}
    state = {names[n]: t for n, t in model.state_dict().items()} | {"gender_logit.0.weight": torch.zeros(2, 2)}
    torch.save(state, tmp_path / "gen_best.pth")
    assert official.read_sizes(tmp_path / "gen_best.pth", "fillin")["label"] == "both"
    words = {"ix_to_word": {str(i): w for i, w in enumerate(WORDS)}}
    (tmp_path / "info.json").write_text(json.dumps(words))
    more = {
        "set_": {"gender": False, "heads": 2},
        "from_": tmp_path / "gen_best.pth",
        "from_words": tmp_path / "info.json",
    }
    train(world, tmp_path / "run", **more)
    weights, header = checkpoint.read(tmp_path / "run" / "last.safetensors", weights_only=True)
    assert tuple(header["config"]["vocabulary"]) == WORDS
    torch.testing.assert_close(weights["model.lstm.weight_hh_l0"], model.lstm.weight_hh_l0, atol=2e-3, rtol=0)
    assert not any("gender" in name for name in weights)


def their_names(model: fillin.Model) -> dict[str, str]:
    """Names of the published program → ours, from its modules."""
    sentence = "memory_generator.sent_embed.module."
    part = {"words": sentence + "word_embed", "lstm": sentence + "sent_rnn", "sentence": sentence + "sent_embed",
            "text": "memory_generator.bert_embedding", "video": "memory_generator.fc_embed", "face":
            "memory_generator.face_embed", "look": "memory_generator.face_attention.linear1", "energy":
            "memory_generator.face_attention.linear2", "gender_face": "memory_generator.gender_face_embed",
            "gender_up": "memory_generator.gender_logit.0", "gender_out": "memory_generator.gender_logit.3", "memory":
            "memory_generator.encoder", "person": "character_embed", "head": "logit", "encoder_norm":
            "transformer.encoder.norm", "decoder_norm": "transformer.decoder.norm"}  # fmt: skip
    inside = {"attention.qkv.": "self_attn.in_proj_", "attention.out.": "self_attn.out_proj.", "own.qkv.":
              "self_attn.in_proj_", "own.out.": "self_attn.out_proj.", "cross.qkv.": "multihead_attn.in_proj_",
              "cross.out.": "multihead_attn.out_proj.", "ffn.up.": "linear1.", "ffn.down.": "linear2.",
              "norm_own.": "norm1.", "norm_cross.": "norm2."}  # fmt: skip
    names = {}
    for ours in model.state_dict():
        head, _, rest = ours.partition(".")
        if head in ("encoder", "decoder"):
            k, _, rest = rest.partition(".")
            last = "norm2." if head == "encoder" else "norm3."
            rest = rest.replace("ffn.norm.", last) if "ffn.norm" in rest else rest
            for mine, theirs in inside.items():
                rest = rest.replace(mine, theirs)
            rest = rest.replace("norm.", "norm1.") if rest.startswith("norm.") else rest
            names[f"transformer.{head}.layers.{k}.{rest}"] = ours
        else:
            names[f"{part[head]}.{rest}"] = ours
    return names


# --- two stages ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A captioner, and a FillIn."""
    folder = tmp_path_factory.mktemp("runs")
    train(world, folder / "fillin")
    small = {"hidden": 16, "heads": 2, "feedforward": 16, "decoder_layers": 1}
    fabula.train("micap", data=world, features=world, tiny=True, set_=small, task="caption", out=folder / "captions",
                 settings=FAST)  # fmt: skip
    return folder


def name_people(model: micap.Model, batch: Batch) -> list[tuple[int, ...]]:
    """Captions that say: P1 w P2, in every clip."""
    c = model.config
    return [(c.start, *((c.blank + 1, 6, c.blank + 2, c.sep) * int(n)), c.end) for n in batch.clips]


def test_captions_are_written_then_filled(world: Path, runs: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(micap.Model, "generate", name_people)
    asked = {"task": "caption", "data": world, "split": "test", "features": world}
    plain = fabula.predict("micap", runs / "captions", **asked)
    filled = fabula.predict("micap", runs / "captions", tmp_path / "told.jsonl", then=runs / "fillin", **asked)
    hidden = {
        name: SetText([ID.sub("SOMEONE", c) for c in one.captions], None, one.clips) for name, one in plain.items()
    }
    lines = [{"id": n, "captions": list(t.captions), "clips": list(t.clips)} for n, t in hidden.items()]
    (tmp_path / "hidden.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    by_hand = fabula.predict("micap", runs / "fillin", task="fitb", data=tmp_path / "hidden.jsonl", features=world)
    assert {n: t.captions for n, t in filled.items()} == {n: t.captions for n, t in by_hand.items()}
    assert all(len(ID.findall(c)) == 2 for one in filled.values() for c in one.captions)
    assert all(one.blanks is None for one in filled.values())  # the references' blanks are others


def test_blanks_of_other_captions_are_not_scored(world: Path, tmp_path: Path) -> None:
    """What was filled into captions of one's own is no answer to the references' blanks, and that is said."""
    truth = {"s": ["P1 waits.", "P2 opens the door for P1."], "t": ["P1 sits.", "P2 sits."]}
    written = {"s": ["P1 sleeps near P1.", "A door."], "t": ["P1 sits.", "P2 sits."]}
    filled = {"s": [["P1", "P1"], []], "t": [["P1"], ["P2"]]}
    (tmp_path / "refs.jsonl").write_text(lines_of([{"id": i, "captions": c} for i, c in truth.items()]))
    (tmp_path / "told.jsonl").write_text(
        lines_of([{"id": i, "captions": c, "blanks": filled[i]} for i, c in written.items()])
    )
    result = fabula.score(tmp_path / "told.jsonl", tmp_path / "refs.jsonl", task="identity", metrics=["METEOR"])
    assert any("fill blanks of their own words" in note for note in result.warnings)
    with pytest.raises(InputError, match="FITB reads blanks that are filled in, and there are none"):
        fabula.score(tmp_path / "told.jsonl", tmp_path / "refs.jsonl", task="identity", metrics=["FITB"])
    # The answers to the references' blanks beside captions of one's own are scored as ever.
    filled["s"] = [["P1"], ["P2", "P1"]]
    (tmp_path / "told.jsonl").write_text(
        lines_of([{"id": i, "captions": c, "blanks": filled[i]} for i, c in written.items()])
    )
    result = fabula.score(tmp_path / "told.jsonl", tmp_path / "refs.jsonl", task="identity", metrics=["FITB"])
    assert result["FITB"].values["class"] == 1.0


def lines_of(entries: list[dict[str, object]]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def test_a_second_stage_that_cannot_be(world: Path, runs: Path, tmp_path: Path) -> None:
    asked = {"task": "caption", "data": world, "split": "test", "features": world}
    with pytest.raises(SpecError, match="fills no blanks"):
        fabula.predict("micap", runs / "captions", then=runs / "captions", **asked)
    with pytest.raises(SpecError, match="--then fills in captions that are written now"):
        fabula.predict("micap", runs / "captions", then=runs / "fillin", people="same", **asked)
    for file in world.iterdir():
        (tmp_path / file.name).symlink_to(file)
    write_features(tmp_path / "text.safetensors", [("s", np.zeros((1, 256)))], {})
    with pytest.raises(InputError, match="the blanks of other captions than those written now"):
        fabula.predict("micap", runs / "captions", then=runs / "fillin", **{**asked, "features": tmp_path})
