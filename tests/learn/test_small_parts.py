"""Small functions of tasks and of the loop: which scores choose, whose words are read, who is named, which batches."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

from fabula.core.errors import InputError, MatrixError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.data.moments import Query  # noqa: E402
from fabula.evaluate.captionsets import overwrite_people  # noqa: E402
from fabula.learn import matchers, official, train  # noqa: E402
from fabula.learn.identity import analysis, clips, film, windows  # noqa: E402
from fabula.learn.loop import loader, processes  # noqa: E402
from fabula.learn.models import procnets  # noqa: E402
from fabula.learn.options import Settings, Share  # noqa: E402
from fabula.learn.tasks import micap, noise, vcmr  # noqa: E402

# the loop


def test_scores_that_choose():
    scores = {"METEOR": 0.25, "SODA_c": 0.5}
    assert train.sum_of("SODA_c", scores) == 0.5 and train.sum_of("METEOR+SODA_c", scores) == 0.75
    with pytest.raises(SpecError, match="no score is called 'SODA' to choose a checkpoint by; did you mean 'SODA_c'"):
        train.sum_of("METEOR+SODA", scores)
    assert (
        train.best_file("METEOR+SODA_c") == "best-METEOR+SODA_c.safetensors"
        and train.best_file("a/b c") == "best-a_b_c.safetensors"
    )
    assert train.shown_scores({"loss": 0.123456, "giou": 1.0, "val_SODA_c": 12.0}) == "loss 0.1235 · val_SODA_c 12"


def test_losses_that_are_shown():
    names = {"giou": 1.0, "giou_0": 1.0, "count_1": 1.0}
    assert [train.is_main(n, names) for n in ("giou", "giou_0", "count_1", "fitb/giou")] == [True, False, True, False]
    assert train.mean_values([{"a": 1.0, "b": 2.0}, {"a": 3.0}]) == {"a": 2.0, "b": 2.0}


def test_steps_and_groups():
    assert train.total_steps(Settings(epochs=3), 7) == 21 and train.total_steps(Settings(epochs=3, steps=5), 7) == 5
    assert list(train.grouped(iter(range(5)), 2)) == [[0, 1], [2, 3], [4]] and train.passes_of(SimpleNamespace()) == (
        "",
    )
    states = train.random_states_of(
        {f"rng.{k}": torch.tensor(k) for k in (10, 2, 0)}
        | {"rng.2.cuda": torch.tensor(9), "model.rng": torch.tensor(1)}
    )
    assert [{k: int(v) for k, v in one.items()} for one in states] == [{"cpu": 0}, {"cpu": 2, "cuda": 9}, {"cpu": 10}]


def test_batches_of_an_epoch():
    s = Settings(batch_size=2, seed=1)
    first = loader.batches(5, s, 0)
    assert sorted(i for b in first for i in b) == list(range(5)) and [len(b) for b in first] == [2, 2, 1]
    assert (
        loader.batches(5, s, 1) != first == loader.batches(5, s, 0)
        and loader.batches(5, Settings(batch_size=2, seed=2), 0) != first
    )
    two = [loader.batches(5, s, 0, rank, 2) for rank in (0, 1)]
    assert [len(part) for part in two] == [2, 2] and all(len(b) == 2 for part in two for b in part)
    assert (
        {i for part in two for b in part for i in b} == set(range(5))
        and two[0][0] == first[0]
        and two[1][0] == first[1]
    )
    few = [loader.batches(1, s, 0, rank, 2) for rank in (0, 1)]
    assert few == [[[0, 0]], [[0, 0]]]
    places = loader.Places(5, s, Share(0, 2))
    assert len(places) == 2 and len(loader.Places(4, s, Share(0, 1))) == 2
    places.epoch, places.first = 3, 1
    assert list(places) == [[(3, i) for i in loader.batches(5, s, 3, 0, 2)[1]]]
    assert loader.seed_of(1, 2, 3) != loader.seed_of(1, 3, 2) and 0 <= loader.seed_of(1, 2, 3) < 1 << 63


def test_items_have_their_own_chance():
    class Data:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            if i == 2:
                raise InputError("bad")
            return float(torch.rand(()))

        def collate(self, examples):
            return list(examples)

    seeded = loader.Seeded(Data(), 7)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert seeded[0, 1] == seeded[0, 1] != seeded[1, 1] and seeded[0, 0] != seeded[0, 1]
    assert torch.equal(torch.get_rng_state(), before)
    failed = seeded.collate([0.5, seeded[0, 2]])
    assert isinstance(failed, loader.Failure) and str(failed.error) == "bad" and seeded.collate([0.5]) == [0.5]
    batches = loader.Loader(Data(), Settings(batch_size=1, seed=1), Share())
    assert len(batches) == 3
    with pytest.raises(InputError, match="bad"):
        list(batches.epoch(0))


# tasks


def test_people_of_the_baselines():
    ids = ("P2", "P1", "P2")
    assert (
        micap.rename(ids, "model") == ids
        and micap.rename(ids, "same") == ("P1",) * 3
        and micap.rename(ids, "different") == ("P1", "P2", "P3")
    )
    told = ("P2 sees P1.", "P2 waits.")
    assert overwrite_people(told, "model") == told and overwrite_people(told, "same") == (
        "P1 sees P1.",
        "P1 waits.",
    )
    assert overwrite_people(told, "different") == ("P1 sees P2.", "P3 waits.")


def test_files_of_weights_and_streams(tmp_path):
    assert micap.read_weights(("frame=a", "action=b")) == {"frame": "a", "action": "b"}
    with pytest.raises(SpecError, match="--weights face=…: weights are of frame or action"):
        micap.read_weights(("face=a",))
    (tmp_path / "x.jsonl").write_text("")
    options = lambda features, data: SimpleNamespace(features=features, data=data)  # noqa: E731
    assert (
        micap.find_streams(options("f", None)) == Path("f") and micap.find_streams(options(None, tmp_path)) == tmp_path
    )
    assert micap.find_streams(options(None, tmp_path / "x.jsonl")) == tmp_path
    notes = Notes()
    micap.warn_simulated(SimpleNamespace(simulated=False, path=tmp_path), notes)
    assert notes.lines() == []
    micap.warn_simulated(SimpleNamespace(simulated=True, path=Path("a/world")), notes)
    assert notes.lines()[0].startswith("world holds simulated features: scores say nothing about real films")


def test_which_captions_are_read():
    notes = Notes()
    assert vcmr.granularity_of({"g": "cog"}, "g", None, "--queries", notes) == ("cog", "")
    assert (
        vcmr.granularity_of({}, "g", None, "--queries", notes)
        == ("fig", "")
        == vcmr.granularity_of({"g": 3}, "g", None, "-q", notes)
    )
    assert vcmr.granularity_of({"g": "cog"}, "g", "cog", "--queries", notes) == ("cog", "") and notes.lines() == []
    told = "--queries fig: the run was trained for cog captions"
    assert vcmr.granularity_of({"g": "cog"}, "g", "fig", "--queries", notes) == ("fig", told) and notes.lines()[
        0
    ].startswith(told)
    assert vcmr.must_agree("fig", "--queries", None) == "fig" and vcmr.must_agree(None, "--queries", "nothing") is None
    assert vcmr.is_single(SimpleNamespace(scope="video")) and not vcmr.is_single(SimpleNamespace(scope="corpus"))


def test_words_of_the_training_queries():
    queries = {k: Query(k, "v", ((0, 1),), 9.0, text) for k, text in enumerate(("a dog runs", "a cat", "the dog a"))}
    assert vcmr.words_of(queries) == ("<s>", "<pad>", "a", "dog", "cat", "runs", "the", "<unk>")


def test_a_word_with_two_indices_is_named(tmp_path):
    path = tmp_path / "words.json"
    path.write_text(json.dumps({"ix_to_word": {"1": "a", "2": "b", "3": "b", "4": "x"}}))
    with pytest.raises(InputError, match="the word 'b' has two indices; repair the file"):
        official.read_vocabulary(path)
    path.write_text(json.dumps({"ix_to_word": {"0": "<eos>", "1": "a", "2": "b", "3": "x"}}))
    assert official.read_vocabulary(path) == ("a", "b", "<unk>")
    path.write_text(json.dumps({"ix_to_word": {"1": "a", "3": "b"}}))
    with pytest.raises(InputError, match="2 words, but none has index 2"):
        official.read_vocabulary(path)


# people


def test_faces_are_known_again():
    people = windows.People(0.25)
    east, north, between = (np.array(v, np.float32) for v in ((1, 0), (0, 1), (0.96, 0.28)))
    assert people.meet([east, north]) == [0, 1] and people.meet([north, between]) == [1, 0]
    assert (
        people.sums[0].tolist() == pytest.approx([1.96, 0.28]) and people.meet([-east]) == [2] and len(people.sums) == 3
    )
    assert people.meet([east, between]) == [0, 3]  # each of a clip is another; of equally near ones the first is known
    numbered = windows.People(0.25)
    assert (
        numbered.meet([east, north], [7, 3]) == [0, 1]
        and numbered.meet([east, east], [3, 9]) == [1, 2]
        and numbered.numbered == {7: 0, 3: 1, 9: 2}
    )


def test_who_a_token_is():
    people = windows.People(0.25)
    assert people.name({5: {0: 1.0}, 6: {1: 1.0}}, {}) == {5: 0, 6: 1} and people.votes == [{0: 1.0}, {1: 1.0}]
    assert people.name({7: {1: 0.75, 0: 0.25}}, {}) == {7: 1} and people.votes[1] == {1: 1.75, 0: 0.25}
    assert people.name({5: {9: 1.0}}, {}) == {5: 2} and people.name({5: {0: 1.0}}, {5: 2}) == {5: 2}
    assert people.name({8: {}}, {}) == {8: 3}
    people.numbered = {40: 0, 41: 1}
    assert people.numbers_of(1) == {41: 1.75, 40: 0.25}
    config = SimpleNamespace(blank=20, start=24)
    assert windows.people_of([21, 23, 20, 24, 3], config) == ("P1", "P3", "token20", "token24", "token3")


def test_chains_of_faces():
    angle = lambda *degrees: np.array([[np.cos(a), np.sin(a)] for a in np.radians(degrees)], np.float32)  # noqa: E731
    near = 1 - np.cos(np.radians(21))
    assert clips.link_faces(angle(0, 90, 20, 40, 180, 95), near).tolist() == [0, 1, 0, 0, 2, 1]
    assert (
        clips.link_faces(angle(0, 90, 20, 40), 1 - np.cos(np.radians(19))).tolist() == [0, 1, 2, 3]
        and clips.link_faces(angle()[:0].reshape(0, 2), 0.5).tolist() == []
    )


def test_densities():
    x = np.array([0.2, 0.3, 0.25, 0.4])
    found = analysis.density(x)
    assert len(found) == 101 and ((found[1:] + found[:-1]) / 2).sum() / 100 == pytest.approx(1, abs=1e-3)
    h = 0.9 * min(x.std(), (np.percentile(x, 75) - np.percentile(x, 25)) / 1.34) * 4**-0.2
    by_hand = sum(np.exp(-0.5 * ((0.25 - y) / h) ** 2) for v in x for y in (v, -v, 2 - v)) / (
        4 * h * np.sqrt(2 * np.pi)
    )
    assert found[25] == pytest.approx(by_hand)
    assert analysis.density(np.array([0.5, 0.5]))[50] == pytest.approx(1 / (0.01 * np.sqrt(2 * np.pi)))
    assert analysis.cells(np.array([[1.0, 2.0]])) == ((1.0, 2.0),)


# processes


def test_one_process_or_as_many_as_were_started(monkeypatch):
    made = []
    monkeypatch.setattr("lightning_fabric.Fabric", lambda **how: made.append(how))
    ddp = "lightning_fabric.strategies.ddp.DDPStrategy"
    monkeypatch.setattr(ddp, lambda find_unused_parameters: f"ddp {find_unused_parameters}")
    monkeypatch.setattr(processes.atexit, "register", lambda call: None)
    for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    one = {"accelerator": "cpu", "precision": "32-true"}
    processes.make_fabric(Settings(device="cpu"))
    assert made.pop() == {"devices": 1, **one}
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    processes.make_fabric(Settings(device="cpu", precision="bf16"), unused=True)
    assert made.pop() == {"devices": 2, "num_nodes": 2, "strategy": "ddp True", **one, "precision": "bf16-mixed"}
    processes.make_fabric(Settings(device="cpu"))
    assert made.pop()["strategy"] == "ddp False"
    monkeypatch.setenv("WORLD_SIZE", "1")
    processes.make_fabric(Settings(device="cpu"))
    assert "strategy" not in made.pop()
    with pytest.raises(SpecError, match="precision 16-mixed needs a GPU of CUDA, not cpu; use bf16, or 32"):
        processes.make_fabric(Settings(device="cpu", precision="16-mixed"))


def test_what_is_said_without_torch(monkeypatch, tmp_path):
    """The extra is named where torch is missing, and no other module is blamed on it."""
    import importlib

    import fabula.learn
    from fabula.core.errors import MissingExtra

    def missing(name):
        def load(module):
            raise ModuleNotFoundError("gone", name=name)

        return load

    for name, error in (("torch", MissingExtra), ("torch.nn", MissingExtra), ("numpy", ModuleNotFoundError)):
        with monkeypatch.context() as patch, pytest.raises(error):
            patch.setattr(importlib, "import_module", missing(name))
            _ = fabula.learn.OrderedMatcher
    with monkeypatch.context() as patch, pytest.raises(ModuleNotFoundError, match="gone"):
        patch.setattr(importlib, "import_module", missing(None))
        _ = fabula.learn.OrderedMatcher
    with pytest.raises(AttributeError, match=r"module 'fabula\.learn' has no attribute 'Matcher'"):
        _ = fabula.learn.Matcher
    assert "OrderedMatcher" in dir(fabula.learn)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "safetensors" else find(name))
    with pytest.raises(MissingExtra, match="training and predicting"):
        fabula.moments(tmp_path)


# matching


COST = torch.tensor([[[-0.5, -0.9], [-0.8, -0.1], [-0.2, -0.3]], [[0.1, 0.2], [0.3, 0.4], [0.5, 0.1]]])


def pairs(matching):
    return [(q.tolist(), t.tolist()) for q, t in matching]


def test_pairs_of_every_matcher():
    assert pairs(matchers.HungarianMatcher()(COST)) == [([0, 1], [1, 0]), ([0, 2], [0, 1])]
    plain = matchers.OrderedMatcher()(COST)
    assert pairs(plain) == [([1, 2], [0, 1]), ([], [])] and plain.added == [0, 0] and plain.value is None is plain.loss
    assert pairs(matchers.OrderedMatcher(complete=True)(COST)) == [([1, 2], [0, 1]), ([0, 2], [0, 1])]
    cheap = matchers.OrderedMatcher("cheapest")(COST)
    assert pairs(cheap) == [([1, 2], [0, 1]), ([0, 2], [0, 1])] and cheap.added == [0, 2]
    diagonal = matchers.OrderedMatcher(empty="diagonal")(COST)
    assert pairs(diagonal) == [([1, 2], [0, 1]), ([0, 1], [0, 1])] and diagonal.added == [0, 2]
    drawn = matchers.OrderedMatcher("random", 3)(COST)
    assert drawn.added == [0, 2] and sorted(drawn[1][1].tolist()) == [0, 1] and len(set(drawn[1][0].tolist())) == 2
    assert pairs(matchers.OrderedMatcher("random", 3)(COST)) == pairs(drawn) and len(drawn) == 2
    item, query, target = plain.flat()
    assert (item.tolist(), query.tolist(), target.tolist()) == ([0, 0], [1, 2], [0, 1])
    assert [x.tolist() for x in matchers.Matching([], []).flat()] == [[], [], []]


def test_queries_are_put_in_time_by_their_centres():
    centres = torch.tensor([[0.9, 0.1, 0.5], [0.1, 0.2, 0.3]])
    found = matchers.OrderedMatcher()(COST, centres=centres)
    assert pairs(found)[0] == ([1, 0], [0, 1])
    masked = matchers.OrderedMatcher()(COST, ([2, 0], None), centres)
    assert pairs(masked) == [([1, 0], [0, 1]), ([], [])]
    with pytest.raises(MatrixError, match=r"centres have shape \(2, 2\); the costs ask for \(2, 3\)"):
        matchers.OrderedMatcher()(COST, centres=centres[:, :2])
    centres[1, 2] = float("nan")
    with pytest.raises(MatrixError, match="centre of item 1, query 2 is nan; mend the model's output before matching"):
        matchers.OrderedMatcher()(COST, centres=centres)
    matchers.OrderedMatcher()(COST, ([3, 2], None), centres)


def test_values_of_soft_matchers():
    soft = matchers.SoftOrderedMatcher(gamma=0.0, add_missing_targets="no")(COST)
    assert soft.value.tolist() == pytest.approx([-1.1, 0.0]) and soft.loss.tolist() == pytest.approx([-0.55, 0.0])
    marginal = matchers.MarginalMatcher(0.0)(COST, (None, [2, 1]))
    assert marginal.value.tolist() == pytest.approx([-1.1, 0.1]) and marginal.loss.tolist() == pytest.approx(
        [-0.55, 0.1]
    )
    default = matchers.SoftOrderedMatcher()
    assert (default.gamma, default.smooth, default.add_missing_targets, default.complete, default.empty) == (
        0.01,
        "expectation",
        "random",
        False,
        "no",
    )
    assert matchers.MarginalMatcher().gamma == 0.02 and matchers.MarginalMatcher().complete
    for wrong, told in [
        ({"add_missing_targets": "x"}, "add_missing_targets is 'x'; it may be no, random or cheapest"),
        ({"empty": "x"}, "empty is 'x'; it may be no or diagonal"),
        ({"gamma": -1.0}, "gamma is -1.0; it must be 0"),
        ({"gamma": 1e-13}, "it must be 0"),
        ({"smooth": "x"}, "smooth is 'x'; it may be logsumexp or expectation"),
    ]:
        with pytest.raises(SpecError, match=told):
            matchers.SoftOrderedMatcher(**wrong)


# captions that are judged


def test_the_best_caption_and_the_pairs_of_all():
    from fabula.learn.noise.calibrate import CaptionCalibration
    from fabula.learn.noise.texts import Wrong

    asked = Query(1, "v", ((0, 1),), 9.0, "a dog")
    row = noise.Judgement(
        asked, ({"text": "a"}, {"text": "b"}, {"text": "c"}), (0.5, 2.0, 2.0), (Wrong("w", "static"),), (1.0,)
    )
    assert row.best == 1 and noise.Judgement(asked, ({"text": "a"},), (0.5,)).best == 0
    scored = noise.Scored([row, noise.Judgement(asked, ({"text": "a"},), (3.0,), (Wrong("w", "dynamic"),), (-1.0,))])
    assert scored.pairs() == ([0.5, 2.0, 2.0, 3.0, 1.0, -1.0], [True] * 4 + [False] * 2)
    assert scored.ranks() == [{"static": 0.0, "all": 0.0}, {"dynamic": 1.0, "all": 1.0}]
    found = scored.summary()
    assert found["moments"] == 2 and found["true above disturbed"] == {"static": 0.0, "dynamic": 1.0, "all": 0.5}
    assert list(found["ECE"]) == ["σ(c)"] and list(noise.Scored([row], CaptionCalibration("platt")).reliability()) == [
        "σ(c)",
        "platt",
    ]


def test_bytes_of_a_clip():
    of = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
    clip = clips.ClipFeatures("c", of(2, 3), of(1, 5), of(4, 2), of(4, 4), np.zeros(4), np.zeros(4, np.int64))
    assert clips.size_of(clip) == 4 * (6 + 5 + 8 + 16)


def test_videosets_that_are_drawn():
    told = {"a": ("P1 sits.",), "b": ("P1 sees P2.", "___ waits."), "c": ("P1 and P2 sit.",)}
    data = SimpleNamespace(windows=[("a",), ("b",), ("c",)], captions=told.__getitem__)
    assert analysis.choose_sets(data, [0, 1, 2], (), 2) == [1, 2] and analysis.choose_sets(data, [0, 2], (), 9) == [
        2,
        0,
    ]
    assert analysis.choose_sets(data, [0, 1, 2], ("c", "a"), 1) == [2, 0]
    with pytest.raises(InputError, match="no such videoset in the data; check --sets"):
        analysis.choose_sets(data, [0, 2], ("b",), 2)


def test_features_of_clips_in_memory(tmp_path):
    arrays = film.ClipArrays({"c": np.zeros((3, 2), np.float32)}, 2)
    assert (arrays.dim, arrays.metadata, arrays.count("c"), arrays.count("d")) == (2, {}, 3, 0)
    streams = film.FilmStreams({"face": arrays}, tmp_path)
    assert (
        streams.stores["face"] is arrays
        and streams.files == {"face": tmp_path}
        and (streams.cache, streams.size) == ({}, 0)
    )


def test_the_likeliest_sequence_of_cells():
    """Cell 0 is likelier at first, and what follows it is not; a beam of two finds the better whole."""
    steps = {
        (): torch.tensor([[0.6, 0.4, 1e-9]]),
        (0,): torch.tensor([[0.35, 0.33, 0.32]]),
        (1,): torch.tensor([[0.05, 0.05, 0.9]]),
    }

    def step(features, p, before, state):
        cells = (state or ()) + ((int(before),) if int(before) < 2 else ())
        return steps.get(cells, torch.tensor([[0.01, 0.01, 0.98]])).log(), cells

    def search(beam: int, most: int = 3) -> list[int]:
        model = SimpleNamespace(config=SimpleNamespace(cells=2, beam=beam, max_steps=most), step=step)
        return procnets.Model.search(model, torch.zeros(1, 1), None)

    assert search(1) == [0, 0] and search(2) == [1] and search(1, 1) == [0]
