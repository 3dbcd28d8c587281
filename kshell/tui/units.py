"""Times as a person reads them."""


def clock(seconds: float) -> str:
    """`0:07`, `12:30` or `3:07:30`."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def milliseconds(value: float) -> str:
    """A latency given in milliseconds, with three significant digits and its unit."""
    if value >= 999.5:
        return f"{_digits(value / 1000)} s"
    if value >= 0.9995:
        return f"{_digits(value)} ms"
    return f"{_digits(value * 1000)} µs"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
