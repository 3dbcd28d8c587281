"""The language model of a session: its name, its price, its account."""

from typing import Any

from agents.llm.client import LiteLLM
from agents.llm.ledger import Caps, Ledger, Price
from agents.llm.transcripts import Transcripts
from kshell import paths
from kshell.config import Config, load
from kshell.engine.settings import Settings
from kshell.errors import UserError


def language_model(settings: Settings, config: Config | None = None) -> LiteLLM:
    """The client of the generator's model. Raises UserError when no model is named.

    The price comes from the configuration, else from litellm's own list; a price of zero in that list
    counts as unknown."""
    config = config or load()
    model = settings.model or config.models.of("generator")
    if not model:
        raise UserError(
            "--generator llm needs a model: give --model NAME, set KSHELL_MODEL, or [models] default in "
            f"{paths.config_file()}"
        )
    caps = Caps(settings.max_usd, settings.max_tokens, settings.max_seconds)
    price = price_of(model, config)
    ledger = Ledger(caps, {model: price} if price else {})
    options: dict[str, Any] = {"api_base": config.models.api_base} if config.models.api_base else {}
    return LiteLLM(model, ledger, Transcripts(paths.home() / "transcripts"), options=options)


def price_of(model: str, config: Config) -> Price | None:
    """Dollars a million tokens, or None when nobody says."""
    told = config.prices.get(model)
    if told is not None:
        return Price(told.input, told.output)
    import os

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")
    import litellm

    known: dict[str, Any] = (
        litellm.model_cost.get(model) or litellm.model_cost.get(model.split("/", 1)[-1]) or {}
    )
    cost_in, cost_out = known.get("input_cost_per_token"), known.get("output_cost_per_token")
    if not cost_in or not cost_out:
        return None
    return Price(float(cost_in) * 1e6, float(cost_out) * 1e6)
