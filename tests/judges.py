"""A judge that answers as a test wants: for what asks a session itself, and for verbs, which open their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fabula.llm import EndpointOptions
from fabula.llm.fake import Reply, echo
from fabula.llm.session import Session
from fabula.text.judges import scorer
from fabula.text.judges.options import JudgeOptions


@contextmanager
def answering(options: EndpointOptions, reply: Reply = echo, prompts: Path | None = None) -> Iterator[Session]:
    """A session whose judge answers by `reply`; verbs that are called inside ask one like it."""

    def open_session(*_: Any, **options_of_the_verb: Any) -> Session:
        return Session(options, reply=reply, prompts=prompts)

    def name_judge(self: JudgeOptions) -> None:
        object.__setattr__(self, "judge_url", "fake:")
        super(JudgeOptions, self).__post_init__()

    with pytest.MonkeyPatch.context() as patch, open_session() as session:
        patch.setattr(JudgeOptions, "__post_init__", name_judge)
        patch.setattr(JudgeOptions, "endpoint", lambda self: options)
        patch.setattr(scorer, "Session", open_session)
        yield session
