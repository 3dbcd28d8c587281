"""The configuration file and its variables."""

from pathlib import Path

import pytest

from kshell import config
from kshell.errors import UserError


def test_a_missing_file_is_an_empty_one(tmp_path: Path) -> None:
    assert config.load(tmp_path / "none.toml") == config.Config()


def test_settings_are_read_and_variables_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[run]\nrounds = 7\ndevice = "cuda"\n[models]\ndefault = "a"\nprover = "b"\n')
    with file.open("a") as more:
        more.write('[prices."x/monkey-1"]\ninput = 1\noutput = 2.5\n')
    monkeypatch.setenv("KSHELL_DEVICE", "cpu")
    read = config.load(file)
    assert read.prices["x/monkey-1"].output == 2.5
    assert (read.run.rounds, read.run.device) == (7, "cpu")
    assert (read.models.of("prover"), read.models.of("generator")) == ("b", "a")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[run", "not TOML"),
        ("[run]\nround = 3", "unknown setting run.round; did you mean rounds?"),
        ("[walk]\nx = 1", "unknown setting walk"),
        ("[run]\nrounds = 0", "run.rounds: input should be greater than or equal to 1"),
        ('[run]\nrounds = "many"', "run.rounds: input should be a valid integer"),
        ('[models]\napi_key = "sk-1"', "models.api_key looks like a key"),
        ('openai_secret = "x"', "read from the environment or a keyring only"),
    ],
)
def test_a_bad_file_is_one_line_with_file_and_setting(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        config.load(file)
    assert str(caught.value).startswith(str(file)) and says in str(caught.value)
    assert "\n" not in str(caught.value) and "sk-1" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(UserError, match="KSHELL_CONFIG"):
        config.load(tmp_path / "config.toml")
    (tmp_path / "latin.toml").write_bytes(b"[run] # \xff\xfe")
    with pytest.raises(UserError, match="UTF-8"):
        config.load(tmp_path / "latin.toml")


def test_a_bad_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSHELL_DEVICE", "tpu")
    with pytest.raises(UserError, match=r"^KSHELL_DEVICE: run\.device"):
        config.load(tmp_path / "none.toml")
