"""The language models of a session: one client a role, one account for all."""

import os
from dataclasses import dataclass, field
from typing import Any

from agents.llm.client import LiteLLM, Watchdog
from agents.llm.ledger import Caps, Ledger, Price
from agents.llm.transcripts import Transcripts
from agents.protocols import Spent
from kshell import keys, paths
from kshell.config import Config, load
from kshell.engine.settings import Settings
from kshell.errors import UserError


@dataclass(slots=True)
class Team:
    """Clients by role over one ledger. It is the session's meter."""

    settings: Settings
    config: Config
    ledger: Ledger
    unpriced: list[str] = field(default_factory=list)
    carried: Spent = field(default_factory=Spent)

    def spent(self) -> Spent:
        """Dollars and tokens of all calls of all roles."""
        return Spent(self.ledger.usd + self.carried.usd, self.ledger.tokens + self.carried.tokens)

    def carry(self, paid: Spent) -> None:
        """Count what an earlier process paid and could not note."""
        self.carried = paid

    def llm(self, role: str) -> LiteLLM:
        """The client of a role. Raises UserError when no model is named for it, or when a cap in dollars
        is set and nobody said what the model costs."""
        model = model_of(role, self.settings.model, self.config)
        if not model:
            raise UserError(
                f"the {role} needs a model: give --model NAME, set KSHELL_MODEL, or [models] default in "
                f"{paths.config_file()}"
            )
        if missing := missing_key(model, self.config):
            raise UserError(f"{model} needs {missing} in the environment (`kshell doctor` checks it)")
        self._price(model)
        watch = self.config.models.timeouts
        dog = Watchdog(*watch) if watch is not None else Watchdog()
        transcripts = Transcripts(paths.home() / "transcripts")
        options = client_options(model, self.config)
        return LiteLLM(model, self.ledger, transcripts, watchdog=dog, options=options)

    def _price(self, model: str) -> None:
        if self.ledger.price(model) is not None:
            return
        price = price_of(model, self.config)
        if price is not None:
            self.ledger.prices = {**self.ledger.prices, model: price}
        elif self.settings.max_usd is not None:
            raise UserError(unknown_price(model))
        elif model not in self.unpriced:
            self.unpriced.append(model)

    def remarks(self) -> list[str]:
        """What a person should know of the account, one line each."""
        return [
            f"the price of {model} is unknown: tokens are counted, dollars are not; {how_to_price(model)}"
            for model in self.unpriced
        ]


def how_to_price(model: str) -> str:
    """What to write where."""
    return (
        f'put [prices."{model}"] input = DOLLARS, output = DOLLARS (a million tokens) into '
        f"{paths.config_file()}"
    )


def unknown_price(model: str) -> str:
    """Why a session with a cap in dollars does not start."""
    return f"--max-usd is set and the price of {model} is unknown: {how_to_price(model)}"


def model_of(role: str, chosen: str, config: Config) -> str:
    """The model of a role: the generator's is the one chosen for the run, the others' the one configured
    for them first. The empty string when there is none."""
    own = config.models.own(role)
    first, second = (chosen, own) if role == "generator" else (own, chosen)
    return first or second or config.models.default


def team(settings: Settings, config: Config | None = None) -> Team:
    """The clients of a session."""
    config = config or load()
    caps = Caps(settings.max_usd, settings.max_tokens, settings.max_seconds)
    return Team(settings, config, Ledger(caps, {}))


def language_model(settings: Settings, config: Config | None = None) -> LiteLLM:
    """The client of the generator's model alone."""
    return team(settings, config).llm("generator")


def missing_key(model: str, config: Config) -> str | None:
    """The variable of a key that is nowhere; None when there is one, or when nobody can tell: a provider
    that is not listed, or a base URL of the person's own."""
    variable = keys.variable_of(model)
    if variable is None or config.models.api_base or os.environ.get(variable):
        return None
    return None if keys.from_keyring(variable) else variable


def client_options(model: str, config: Config) -> dict[str, Any]:
    """What the client is told beside the request. A key from the keyring is among it, and nowhere else."""
    options: dict[str, Any] = {"api_base": config.models.api_base} if config.models.api_base else {}
    key = keys.key_of(model)
    return {**options, "api_key": key} if key else options


def price_of(model: str, config: Config) -> Price | None:
    """Dollars a million tokens: from the configuration, else from litellm's own list, where a price of
    zero counts as unknown. None when nobody says."""
    told = config.prices.get(model)
    if told is not None:
        return Price(told.input, told.output)
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
