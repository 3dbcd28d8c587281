"""What the doctor says of models, keys and the keyring; where keys come from; who plays which role."""

import io
import sys
import types
from pathlib import Path

import pytest

from kshell import doctor, keys, models
from kshell.cli import options, prices
from kshell.config import ROLES, load
from kshell.engine.settings import Settings
from kshell.errors import UserError


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No keys, no variables, a configuration of the test."""
    for name in (*doctor.KEYS, "KSHELL_MODEL", "KSHELL_API_BASE", "KSHELL_MODEL_PROVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KSHELL_HOME", str(tmp_path))
    file = tmp_path / "config.toml"
    monkeypatch.setenv("KSHELL_CONFIG", str(file))
    monkeypatch.setitem(sys.modules, "keyring", None)
    return file


def found(part: str) -> doctor.Finding:
    return next(f for f in doctor.examine_models() if f.part == part)


def test_without_a_model_everything_says_what_to_do() -> None:
    assert "KSHELL_MODEL or [models] default" in found("models").advice
    assert "OPENAI_API_KEY" in found("model keys").advice
    assert not any(f.needed for f in doctor.examine_models())


def test_a_named_model_needs_its_key_and_its_price(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write_text('[models]\ndefault = "openai/house-1"\n')
    assert found("models").advice == "openai/house-1 needs OPENAI_API_KEY in the environment"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert '[prices."openai/house-1"]' in found("models").advice
    bare.write_text(bare.read_text() + '[prices."openai/house-1"]\ninput = 1\noutput = 2\n')
    assert found("models").ok
    assert found("model keys").found == "OPENAI_API_KEY set"
    assert "sk-secret" not in str(doctor.examine_models())


def test_a_key_may_be_in_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    held = types.ModuleType("keyring")
    held.__spec__ = types.SimpleNamespace(name="keyring")  # type: ignore[assignment]
    asked: list[tuple[str, str]] = []

    def get_password(service: str, name: str) -> str | None:
        asked.append((service, name))
        return "sk-kept" if name == "ANTHROPIC_API_KEY" else None

    held.get_password = get_password  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", held)
    assert models.client_options("anthropic/claude-x", load()) == {"api_key": "sk-kept"}
    assert asked == [("kshell", "ANTHROPIC_API_KEY")]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-own")
    assert keys.key_of("anthropic/claude-x") is None
    assert keys.variable_of("claude-x") == "ANTHROPIC_API_KEY"
    assert keys.variable_of("ollama/llama") is None


def test_roles_take_their_own_model_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write_text('[models]\ndefault = "d"\ngenerator = "g"\nanalyst = "a"\n')
    monkeypatch.setenv("KSHELL_MODEL_PROVER", "p")
    config = load()
    chosen = {
        role: models.model_of(role, "", config) for role in ("generator", "prover", "analyst", "second")
    }
    assert chosen == {"generator": "g", "prover": "p", "analyst": "a", "second": "d"}
    assert models.model_of("generator", "m", config) == "m"
    assert models.model_of("second", "m", config) == "m"


def test_one_account_for_all_roles_and_no_guessed_price(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="openai/house-1 needs OPENAI_API_KEY in the environment"):
        models.team(Settings(model="openai/house-1")).llm("generator")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    team = models.team(Settings(model="openai/house-1"))
    one, two = team.llm("generator"), team.llm("prover")
    assert one.ledger is two.ledger is team.ledger
    assert len(team.remarks()) == 1
    assert "dollars are not" in team.remarks()[0]
    with pytest.raises(UserError, match="--max-usd is set and the price of openai/house-1 is unknown"):
        models.team(Settings(model="openai/house-1", max_usd=1.0)).llm("generator")
    with pytest.raises(UserError, match="the prover needs a model"):
        models.team(Settings()).llm("prover")


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_person_is_asked_what_an_unknown_model_costs(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write_text('[models]\ndefault = "openai/house-1"\n')
    said = Terminal()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(sys, "stdin", Terminal("$0.5\n2\n"))
    settings = Settings(generator="llm", agents=("prover",), max_usd=1.0)
    prices.ask(settings)
    assert (load().prices["openai/house-1"].input, load().prices["openai/house-1"].output) == (0.5, 2.0)
    assert "the price of openai/house-1 is unknown" in said.getvalue()
    prices.ask(settings)  # known now: stdin has nothing more to read
    monkeypatch.setattr(sys, "stdin", Terminal("cheap\n"))
    with pytest.raises(UserError, match="'cheap' is not a price"):
        prices.ask(settings.model_copy(update={"model": "openai/house-2"}))


def test_nobody_is_asked_without_a_cap_or_a_terminal(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    prices.ask(Settings(generator="llm", model="openai/house-1"))
    prices.ask(Settings(max_usd=1.0))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    prices.ask(Settings(generator="llm", model="openai/house-1", max_usd=1.0))
    assert not bare.exists()


def test_the_docs_name_every_role_and_option() -> None:
    text = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    assert [role for role in ROLES if role not in text] == []
    assert [role for role in options.ROLES if role not in text] == []
    assert "KSHELL_API_BASE" in text and "--max-usd" in text
