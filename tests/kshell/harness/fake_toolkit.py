"""nvcc, ncu and compute-sanitizer without a GPU, for tests: scripts on PATH that answer as the real ones do.

The program that this nvcc makes computes max(x, 0). Words in the candidate's source change what happens:
`does_not_build`, `damages_guard`, `off_by_an_ulp`, `reads_past_the_end`, `reads_unwritten_shared`,
`no_counters`."""

import os
import sys
from pathlib import Path

import pytest

_NVCC = """
import sys
from pathlib import Path
text = Path("program.cu").read_text()
Path("arguments").write_text(" ".join(sys.argv))
if "does_not_build" in text:
    print('program.cu(47): error: identifier "z" is undefined', file=sys.stderr)
    sys.exit(2)
print("ptxas info    : Used 12 registers, used 1 barriers, 512 bytes smem", file=sys.stderr)
print("    0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads", file=sys.stderr)
guard = 0 if "-DKSHELL_GUARD=0" in sys.argv else 4096
program = Path("program")
program.write_text(PROGRAM.replace("GUARD", str(guard)))
program.chmod(0o755)
"""
_PROGRAM = """#!PYTHON
import sys
from pathlib import Path
import numpy as np
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
text = Path("program.cu").read_text()
y = np.maximum(np.fromfile(words["--in"].partition("=")[2], np.float32), 0)
if "off_by_an_ulp" in text:
    y[3] = np.nextafter(y[3], np.float32(1e9))
edge = np.full(GUARD // 4, 0x7FC0DEAD, np.uint32)
behind = edge.copy()
if "damages_guard" in text:
    behind[0] = 0
if "--out" in words:
    np.concatenate([edge, y.view(np.uint32), behind]).tofile(words["--out"].partition("=")[2])
if "--times" in words:
    Path(words["--times"]).write_text("0.5\\n" * int(words["--repeats"]))
"""
_SANITIZER = """
import sys
from pathlib import Path
if "--help" in sys.argv:
    print("  --initcheck-address-space arg (=global)  global, shared or all")
    sys.exit(0)
text = Path("program.cu").read_text()
place = next(k for k, line in enumerate(text.splitlines(), 1) if "verbatim" in line) + 3
print("========= COMPUTE-SANITIZER")
if "reads_unwritten_shared" in text and "initcheck" in sys.argv and "all" in sys.argv:
    print("========= Uninitialized __shared__ memory read of size 4 bytes")
    print("========= ERROR SUMMARY: 1 error")
elif "reads_past_the_end" in text and "memcheck" in sys.argv:
    print("========= Invalid __global__ read of size 4 bytes")
    print(f"=========     at relu(const float *, float *, int)+0x1f0 in program.cu:{place}")
    print("========= ERROR SUMMARY: 3 errors")
else:
    print("========= ERROR SUMMARY: 0 errors")
"""
_NCU = """
import sys
from pathlib import Path
if "no_counters" in Path("program.cu").read_text():
    print("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters")
    sys.exit(1)
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
head = ["ID", "Process ID", "Kernel Name", *metrics]
units = ["", "", "", *["byte"] * len(metrics)]
print("==PROF== Connected to process 7")
for row in (
    head,
    units,
    ["0", "7", "void relu<(int)256>(const float *, float *, int)", *["1,000"] * len(metrics)],
    ["1", "7", "relu(const float *, float *, int)", *["24"] * len(metrics)],
    ["2", "7", "flush(char *)", *["5"] * len(metrics)],
):
    print(",".join(f'"{cell}"' for cell in row))
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the tools first on PATH."""
    program = _PROGRAM.replace("PYTHON", sys.executable)
    bodies = {
        "nvcc": f"PROGRAM = {program!r}\n{_NVCC}",
        "compute-sanitizer": _SANITIZER,
        "ncu": _NCU,
    }
    for name, body in bodies.items():
        path = folder / name
        path.write_text(f"#!{sys.executable}\n{body}")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
