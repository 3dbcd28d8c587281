"""The one exception for what a person can cause and mend."""


class UserError(Exception):
    """One line saying what is wrong, where, and what to do. The CLI prints it and exits with `code`:
    1 the answer is no, 2 usage or set-up, 3 refused (outside the supported language)."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(" ".join(message.split()))
        self.code = code


def nearest(word: str, choices: list[str]) -> str:
    """`"; did you mean X?"` for the choice most like `word`, otherwise the empty string."""
    import difflib

    found = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""
