"""What an endpoint's reply holds: an answer, or the reason why it is none. A failure is never an answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, cast

from fabula.core.errors import FabulaError, shown

MOST = 10**12  # tokens; a larger count is nonsense


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, and what it took."""

    text: str
    finish: str = "stop"  # "length" where it was cut
    tokens_in: int | None = None  # None where the endpoint does not say
    tokens_out: int | None = None
    seconds: float = 0.0  # from sending to the last byte

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try that gave no answer: a line of the log, never of the store of answers."""

    key: str
    kind: str  # busy, server, timeout, connection, reply, empty, length, refused, context, forbidden
    message: str
    status: int | None = None
    seconds: float = 0.0
    tokens_in: int | None = None  # a reply that is no answer may have been paid for
    tokens_out: int | None = None


class CallError(FabulaError):
    """A call that got no answer, after all tries. Other calls may."""

    usage: tuple[int | None, int | None] = (None, None)  # tokens that a reply of a batch says it took

    def __init__(self, message: str, kind: str = "server", attempts: int = 1) -> None:
        self.kind, self.attempts, self.message = kind, attempts, message
        super().__init__(message)

    def __reduce__(self) -> tuple[type[CallError], tuple[str, str, int]]:
        return type(self), (self.message, self.kind, self.attempts)


class EndpointError(CallError):
    """The endpoint takes no call at all: wrong address, wrong key, no money left."""


class ReplyError(Exception):
    """A reply that is no answer; with the tokens that it says it took."""

    def __init__(self, problem: str, kind: str = "reply", usage: tuple[int | None, int | None] = (None, None)) -> None:
        self.kind, self.usage = kind, usage
        super().__init__(problem)


def read_document(document: object, seconds: float) -> Answer:
    """The answer in a reply of POST /chat/completions, or in a line of a batch."""
    usage = read_usage(document)
    try:
        choice = cast("Any", document)["choices"][0]
        content = choice["message"]["content"]
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        error_field = document.get("error") if isinstance(document, dict) else None
        problem = f"the reply has no choices[0].message.content, but {shown(error_field or document, 120)}"
        raise ReplyError(problem, usage=usage) from None
    finish = finish[:40] if isinstance(finish, str) and finish else "stop"
    if isinstance(content, list):  # parts
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    if content is not None and not isinstance(content, str):
        raise ReplyError(f"the content of the reply is no text: {shown(content)}", usage=usage)
    if not content or not content.strip():
        raise ReplyError(f"the answer is empty (finish_reason {shown(finish)})", "empty", usage)
    text = content.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")  # halves of characters
    return Answer(text, finish, *usage, seconds)


def read_usage(document: object) -> tuple[int | None, int | None]:
    """Tokens in and out, where the reply counts them."""
    usage = document.get("usage") if isinstance(document, dict) else None
    if not isinstance(usage, dict):
        return None, None
    found = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    fine = [n if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < MOST else None for n in found]
    return fine[0], fine[1]
