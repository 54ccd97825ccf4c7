"""One HTTP client for language models: any OpenAI-compatible endpoint, with record and replay. Knows not what is asked.

    call.py      a call: model, prompt, images, parameters; the same ones have the same key, for ever
    answer.py    what an endpoint's reply holds, or why it is no answer
    limits.py    how many requests and tokens a minute, how many at once
    wire.py      every byte that comes from an endpoint: bounded in size and time, without the key
    client.py    sends calls: retries, Retry-After, the context checked before anything is sent
    batch.py     the same calls through a batch endpoint
    record.py    answers as lines of a file: recorded, and replayed without a network
    session.py   one asker for a whole run, asked from plain code; what was asked is counted and hashed
    prices.py    tokens → money
    fake.py      an endpoint that ships for tests and dry runs, with every fault that real ones have
    options.py   the flags of all verbs that ask a model

An asker is whatever has `async ask(call) → Answer`: the client, a record around it, a replay, a store of one's own.
"""

from fabula.llm.answer import Answer, CallError, EndpointError
from fabula.llm.call import Call, Image
from fabula.llm.options import EndpointOptions

__all__ = ["Answer", "Call", "CallError", "EndpointError", "EndpointOptions", "Image"]
