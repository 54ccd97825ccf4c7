"""One HTTP client for language models: any OpenAI-compatible endpoint, with record and replay.

    call.py      a call: model, prompt and images, or parts, and parameters; the same ones have the same key, for ever
    layouts.py   frames and their times as parts of a call: pairs, numbered, listed, as a video
    answer.py    the answer in an endpoint's reply, or why the reply has none
    limits.py    requests and tokens per minute, concurrent requests
    wire.py      reads replies with limits on size and time, and removes the key
    client.py    sends calls: retries, Retry-After, a check of the context length before sending
    batch.py     sends the same calls through a batch endpoint
    store.py     the store of answers, in memory and as lines of a file: recorded, and replayed without a network
    session.py   one client for a whole run, called from synchronous code; counts and hashes its calls
    prices.py    tokens → money
    fake.py      a built-in endpoint for tests and dry runs, with every fault of a real one
    options.py   the flags of all verbs that ask a model

A client is any object with `async ask(call) → Answer`: the HTTP client, a store in front of it, a batcher.
"""

from fabula.llm.answer import Answer, CallError, EndpointError
from fabula.llm.call import Call, Image, Text, VideoPart
from fabula.llm.options import EndpointOptions

__all__ = ["Answer", "Call", "CallError", "EndpointError", "EndpointOptions", "Image", "Text", "VideoPart"]
