"""README and docs say what the results files of the GPU campaign say."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_published_tables_agree_with_the_results() -> None:
    spec = importlib.util.spec_from_file_location("gpu_report", ROOT / "bench" / "report.py")
    assert spec is not None
    assert spec.loader is not None
    report = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(report)
    for path, text in report.files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python bench/report.py"
