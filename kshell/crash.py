"""Reports of errors nobody foresaw: a file, never a traceback on the screen."""

import os
import traceback
from datetime import UTC, datetime


def written(error: BaseException) -> str:
    """Write the traceback to a file of the data folder; says where it is, or why it is not."""
    text = "".join(traceback.format_exception(error))
    if os.environ.get("KSHELL_DEBUG"):
        return "\n" + text
    try:
        from kshell import paths

        folder = paths.home() / "crashes"
        folder.mkdir(exist_ok=True)
        report = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}.txt"
        report.write_text(text)
    except Exception as second:
        return f"its report could not be written ({' '.join(str(second).split())})"
    return f"the report is in {report}; please attach it when you tell the authors"
