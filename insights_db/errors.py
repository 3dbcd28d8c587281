"""What the store says when it cannot go on."""


class StoreError(Exception):
    """One line: what is wrong with the database, where it is, what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
