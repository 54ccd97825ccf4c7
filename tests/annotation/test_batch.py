"""Runs through a batch endpoint: the same store, nothing sent twice, whenever the process dies."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("httpx", reason="the extra llm is not installed")

from fabula.annotation import benchmark as api
from fabula.annotation import fake
from fabula.annotation.recipe import Recipe, RecipeOptions
from fabula.annotation.run import Batching, Work
from fabula.annotation.store import Store
from fabula.core.errors import InputError, SpecError
from fabula.llm import EndpointError, EndpointOptions
from fabula.llm import batch as module
from fabula.llm.fake import Server, serving
from tests.annotation.test_run import KILLED, contents, work_on
from tests.annotation.toys import FakeSampler, make_moments, write_moments

QUICK = Batching(100, 0.01)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "FIRST", 0.01)


def work_in_batches(path, n, endpoint=None, batch=QUICK, store=Store, **recipe):
    endpoint = endpoint or EndpointOptions()
    with store(path, work=True) as opened:
        opened.add_moments(make_moments(n))
        work = Work(opened, Recipe.of(endpoint, RecipeOptions(**recipe)), endpoint, FakeSampler(), batch=batch)
        work.run()
    return work


def serve(**settings):
    server = Server(reply=fake.reply, keep=lambda body, head: json.dumps(body, sort_keys=True), **settings)
    server.batches.polls = 2
    return serving(server)


def test_the_same_store_as_call_by_call_in_few_batches(tmp_path):
    work_on(tmp_path / "one", 12, EndpointOptions(price=("1/2",)), rewrites=True)
    with serve() as server:
        endpoint = EndpointOptions(url=server.url, price=("1/2",), record=tmp_path / "record.jsonl")
        work = work_in_batches(tmp_path / "many", 12, endpoint, rewrites=True)
        assert len(server.log) == len({body for _, body in server.log}) == work.answered
        assert len(server.batches.known) <= 8  # as many as there are steps after each other, and some
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    with Store(tmp_path / "many") as store:
        assert store.batches() == []
    replayed = EndpointOptions(url="http://127.0.0.1:9/v1", price=("1/2",), replay=tmp_path / "record.jsonl")
    work_in_batches(tmp_path / "replayed", 12, replayed, rewrites=True)
    assert contents(tmp_path / "replayed", latency=True) == contents(tmp_path / "many", latency=True)


def test_the_endpoint_that_ships_takes_batches_too(tmp_path):
    work_on(tmp_path / "one", 5)
    work_in_batches(tmp_path / "many", 5)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")


@pytest.mark.slow
def test_killed_at_random_nothing_is_sent_twice(tmp_path):
    moments = write_moments(tmp_path / "m.jsonl", 12)
    api.run(moments, options=api.RunOptions(store=tmp_path / "whole"), recipe=RecipeOptions(blind=True))
    rng = random.Random(7)
    with serve() as server:
        server.batches.polls = 4
        args = [str(moments), "--blind", "--url", server.url, "--model", "fake", "--batch", "--batch-pause", "0.1"]
        command = [sys.executable, "-c", KILLED, *args, "-s", str(tmp_path / "killed")]
        for _ in range(4):
            begun, deadline = len(server.batches.known), time.monotonic() + 20
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            while len(server.batches.known) == begun and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(rng.random() * 0.4)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        subprocess.run(command, check=True, timeout=60, stderr=subprocess.DEVNULL)
        asked = [body for _, body in server.log]
        assert len(asked) == len(set(asked))
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_batch_whose_id_was_never_written_is_found_by_its_tag(tmp_path):
    with serve() as server:
        endpoint = EndpointOptions(url=server.url)
        died = subprocess.run(
            [sys.executable, "-c", DIES, server.url, str(tmp_path / "s")], timeout=60, capture_output=True, check=False
        )
        assert died.returncode == 9, died.stderr
        with Store(tmp_path / "s") as store:
            assert [sent.id for sent in store.batches()] == [None]
        work_in_batches(tmp_path / "s", 6, endpoint)
        assert len(server.log) == len({body for _, body in server.log})
    work_on(tmp_path / "one", 6)
    assert contents(tmp_path / "s") == contents(tmp_path / "one")


DIES = """
import os, sys
from pathlib import Path
from fabula.annotation.store import Store
from tests.annotation import test_batch
from fabula.llm import EndpointOptions
class Dies(Store):
    def put_batch(self, sent):
        if sent.id is not None:
            os._exit(9)
        super().put_batch(sent)
test_batch.work_in_batches(Path(sys.argv[2]), 6, EndpointOptions(url=sys.argv[1]), store=Dies)
"""


def test_one_that_was_never_made_is_made(tmp_path):
    with serve() as server:
        endpoint = EndpointOptions(url=server.url)
        with Store(tmp_path / "s", work=True) as store:
            store.put_batch(module.Sent("never", ("0" * 32,)))
        work = work_in_batches(tmp_path / "s", 3, endpoint)
        assert work.failed == 0
        with Store(tmp_path / "s") as store:
            assert store.batches() == []


def test_a_batch_that_expires_fails_its_moments_and_retry_takes_them_up(tmp_path):
    moments = write_moments(tmp_path / "m.jsonl", 4)
    options = api.RunOptions(store=tmp_path / "s", batch=True, batch_pause=0.01)
    recipe = RecipeOptions(blind=True)
    with serve() as server:
        server.batches.end = "expired"
        endpoint = EndpointOptions(url=server.url)
        ran = api.run(moments, options=options, endpoint=endpoint, recipe=recipe)
        assert ran.states == {"failed": 4} and not server.log
        assert api.status(api.StoreOptions(store=tmp_path / "s"))["failures"]["batch"]["tries"] > 0
        server.batches.end = "completed"
        again = api.retry(options=options, endpoint=endpoint, recipe=recipe)
    assert again.states == {"done": 4}


def test_lines_that_failed_are_noted_and_made_again_by_retry(tmp_path):
    moments = write_moments(tmp_path / "m.jsonl", 4)
    options = api.RunOptions(store=tmp_path / "s", batch=True, batch_pause=0.01)
    recipe = RecipeOptions(blind=True)
    with serve(fault=lambda n, body: "server" if n in (2, 5) else None) as server:
        endpoint = EndpointOptions(url=server.url)
        ran = api.run(moments, options=options, endpoint=endpoint, recipe=recipe)
        assert 1 <= ran.failed <= 4
        api.retry(options=options, endpoint=endpoint, recipe=recipe)
        fine = [body for status, body in server.log if status == 200]
        assert len(fine) == len(set(fine))
    assert api.status(api.StoreOptions(store=tmp_path / "s"))["states"]["done"] == 4


def test_a_batch_that_the_endpoint_lost_is_sent_anew(tmp_path):
    with serve() as server:
        server.batches.polls = 10**9
        endpoint = EndpointOptions(url=server.url)
        command = [sys.executable, "-c", KILLED, str(write_moments(tmp_path / "m.jsonl", 3)), "--blind", "--batch"]
        command += ["--batch-pause", "0.05", "--url", server.url, "--model", "fake", "-s", str(tmp_path / "s")]
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 20
        while not server.batches.known and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        process.kill()
        process.wait()
        server.batches.known.clear()
        server.batches.polls = 0
        with pytest.raises(InputError, match="1 batches were sent"):
            api.run(
                None, options=api.RunOptions(store=tmp_path / "s"), endpoint=endpoint, recipe=RecipeOptions(blind=True)
            )
        options = api.RunOptions(store=tmp_path / "s", batch=True, batch_pause=0.01)
        ran = api.run(None, options=options, endpoint=endpoint, recipe=RecipeOptions(blind=True))
    assert ran.states == {"done": 3}


def test_batches_can_be_given_up(tmp_path):
    with Store(tmp_path / "s", work=True) as store:
        store.put_batch(module.Sent("tag", ("0" * 32,), "batch-7"))
    options = api.RunOptions(store=tmp_path / "s", forget_batches=True)
    ran = api.run(write_moments(tmp_path / "m.jsonl", 2), options=options, recipe=RecipeOptions(blind=True))
    assert ran.states == {"done": 2}


def test_an_endpoint_without_batches_costs_one_line(tmp_path):
    class Plain(Server):
        async def handle(self, head, data, writer):
            from fabula.llm.fake import send

            if "/files" in head["path"] or "/batches" in head["path"]:
                return await send(writer, 404, {"error": {"message": "not here"}})
            return await super().handle(head, data, writer)

    with serving(Plain(reply=fake.reply)) as server, pytest.raises(EndpointError, match="takes no batches"):
        work_in_batches(tmp_path / "s", 2, EndpointOptions(url=server.url))
    with Store(tmp_path / "s") as store:
        assert store.batches() == []
    with pytest.raises(SpecError, match="one ledger"):
        api.RunOptions(store=tmp_path / "s", batch=True, engine="ray")


def test_a_schema_that_is_refused_is_left_out(tmp_path):
    server = Server(reply=fake.reply)

    def answer(body):
        if "response_format" in body:
            return 400, {"error": {"message": "response_format is not supported"}}
        return server.answer_line(body)

    server.batches.answer = answer
    with serving(server):
        work = work_in_batches(tmp_path / "s", 4, EndpointOptions(url=server.url))
    assert work.failed == 0
    work_on(tmp_path / "one", 4, EndpointOptions(schema="never"))
    assert contents(tmp_path / "s") == contents(tmp_path / "one")


def test_hiccups_while_a_batch_is_waited_for_are_no_end(tmp_path):
    class Shaky(Server):
        looks = 0

        async def handle(self, head, data, writer):
            from fabula.llm.fake import send

            if "/batches" in head["path"] or "/files" in head["path"]:
                self.looks += 1
                if self.looks % 3 == 1:
                    if head["method"] == "POST" and "/batches" in head["path"]:
                        self.batches.serve(head["method"], "/batches", data)  # it is made, and the reply is lost
                        return False
                    return await send(writer, 503, {"error": {"message": "later"}}, {"retry-after": "0.01"})
            return await super().handle(head, data, writer)

    with serving(Shaky(reply=fake.reply, keep=lambda body, head: json.dumps(body, sort_keys=True))) as server:
        work = work_in_batches(tmp_path / "s", 5, EndpointOptions(url=server.url))
        assert work.failed == 0 and server.looks > 6
        assert len(server.log) == len({body for _, body in server.log})
