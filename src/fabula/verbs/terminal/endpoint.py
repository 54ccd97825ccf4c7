"""What verbs that ask a model need to know of its endpoint before they begin."""

from __future__ import annotations

from fabula.core.errors import SpecError
from fabula.llm.options import EndpointOptions
from fabula.verbs.terminal.flags import typed

OFFERED = 8  # models of an endpoint that a message names


def need_model(endpoint: EndpointOptions, kind: type[EndpointOptions]) -> None:
    """Refuse an endpoint without the name of a model; the name that stands for none is known to nobody there."""
    if endpoint.is_fake or endpoint.replay is not None or "--model" in typed(kind):
        return
    from fabula.llm.ask import list_models

    offered = list_models(endpoint)
    more = f" ({len(offered) - OFFERED:,} more)" if len(offered) > OFFERED else ""
    names = f"; it offers {', '.join(offered[:OFFERED])}{more}" if offered else ""
    raise SpecError(f"no model is named for {endpoint.url}; say --model{names}")
