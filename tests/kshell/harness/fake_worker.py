"""A GPU worker without a GPU, for tests: it speaks the protocol of `kshell.harness.cuda_worker`.

The kernel's name says what happens: `relu` computes max(x, 0); `crash_...` faults the device; `hang_...`
never answers; `die_...` ends the process; `orphan_...` does and leaves one
that holds its pipes; `flaky_...` gives other bits the second time; `poke_...` breaks a
guard; `slow_...` takes ten times longer. Device `lost` does not start; device `leaving` falls off the bus at
the first run."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

GPU = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
LOG = Path(sys.argv[1]) if len(sys.argv) > 1 else None


def main() -> None:
    marker = LOG.with_suffix(f".{GPU}.gone") if LOG else None
    if GPU == "lost" or (marker and marker.exists()):
        say(
            ok=False,
            fatal=True,
            reason="no usable GPU: cudaErrorNoDevice: no CUDA-capable device is detected",
        )
        return
    say(ok=True, name=f"Fake GPU {GPU}", pid=os.getpid(), l2_bytes=1 << 26)
    kernel, runs = "", 0
    for line in sys.stdin:
        ask = json.loads(line)
        op = ask["op"]
        if LOG:
            with LOG.open("a") as log:
                log.write(f"{GPU} {os.getpid()} {op} {kernel} {time.monotonic()}\n")
        if op == "load":
            kernel, runs = ask["kernels"][0], 0
            report = {"registers": 32, "shared_bytes": 0, "local_bytes": 0, "max_threads": 1024}
            say(ok=True, report=dict.fromkeys(ask["kernels"], report))
        elif op == "ceilings":
            say(ok=True, copy_bytes_per_s=4e12, fp32_flop_per_s=5e13, fp16_tensor_flop_per_s=7e14)
        elif GPU == "leaving" and marker is not None:
            marker.touch()
            say(ok=False, fatal=True, reason="CUDARuntimeError: cudaErrorDevicesUnavailable: XID 79")
            return
        elif kernel.startswith("crash"):
            say(ok=False, fatal=True, reason="CUDARuntimeError: an illegal memory access was encountered")
            return
        elif kernel.startswith("hang"):
            time.sleep(600)
        elif kernel.startswith("die"):
            os._exit(9)
        elif kernel.startswith("orphan"):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            os._exit(9)
        elif op == "run":
            runs += 1
            say(ok=True, sets=[answer(one, kernel, runs) for one in ask["sets"]])
        elif op == "time":
            scale = 10.0 if kernel.startswith("slow") else 1.0
            wave = [0.05 + 0.001 * (k % 5) for k in range(ask["samples"])]
            samples = {"candidate": [scale * w for w in wave]}
            samples |= {name: [0.08 + w for w in wave] for name in ask["baselines"]}
            sets = [answer(s, kernel, 1) for s in ask["sets"]]
            clocks = {"sm_mhz_before": 1900.0, "sm_mhz_after": 1980.0}
            say(ok=True, samples=samples, sets=sets, launch_ms=0.003, clocks=clocks)
        else:
            say(ok=True, kernel=kernel)


def answer(files: dict[str, dict[str, str]], kernel: str, runs: int) -> dict[str, object]:
    out = np.maximum(np.load(files["inputs"]["x"]), 0)
    if kernel.startswith("flaky") and runs > 1:
        out[0] += 1e-7
    np.save(files["outputs"]["y"], out)
    return {"guards": {"y": not kernel.startswith("poke")}, "inputs_intact": True}


def say(**words: object) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    main()
