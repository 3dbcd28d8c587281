"""One process a GPU: loads, runs and times parsed candidates through cupy.

`python -m kshell.harness.cuda_worker` reads one JSON request a line and answers one JSON line each;
arrays travel as `.npy` files. It never sees expected outputs. A device fault (illegal address, hang)
leaves the CUDA context unusable, so after an error with `"fatal": true` the parent starts another.
Needs cupy and numpy; torch only for the baselines.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kshell.harness import nvrtc

GUARD = 4096
POISON = np.uint32(0x7FC0DEAD)
KEPT_MODELS, KEPT_BUILDS = 8, 64
SCALARS = {"i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "float": np.float32}


class Refused(Exception):
    """An answer of `ok: false` that leaves the process usable."""


class Buffer:
    """Device memory with red zones; all of it holds the poison pattern until written."""

    def __init__(self, cupy: Any, size: int) -> None:
        self.words = (size + 3) // 4
        self.size = size
        self.all = cupy.full(2 * GUARD // 4 + self.words, POISON, dtype=cupy.uint32)
        self.body = self.all[GUARD // 4 : GUARD // 4 + self.words]

    def poison(self) -> None:
        self.all.fill(POISON)

    def put(self, data: Any) -> None:
        self.body.set(np.frombuffer(data.tobytes().ljust(4 * self.words, b"\0"), np.uint32))

    def guards_hold(self, cupy: Any) -> bool:
        edge = GUARD // 4
        return bool(cupy.all(self.all[:edge] == POISON) and cupy.all(self.all[-edge:] == POISON))


class Worker:
    """State of the process: the loaded candidate and its buffers."""

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.functions: list[Any] = []
        self.plan: dict[str, Any] = {}
        self.sets: list[dict[str, Buffer]] = []
        self.models: dict[str, Any] = {}
        self.built: dict[str, tuple[list[Any], float]] = {}
        self.nvrtc = nvrtc.find()
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self.arch = f"sm_{properties['major']}{properties['minor']}"
        self.flush = cupy.empty(2 * cupy.cuda.Device().attributes["L2CacheSize"], dtype=cupy.uint8)
        self.stain = self._stain()

    # ------------------------------------------------------------ requests

    def hello(self, _request: dict[str, Any]) -> dict[str, Any]:
        """What this device is, and its measured ceilings."""
        runtime = self.cupy.cuda.runtime
        properties = runtime.getDeviceProperties(self.cupy.cuda.Device().id)
        return {
            "name": properties["name"].decode(),
            "multiprocessors": properties["multiProcessorCount"],
            "l2_bytes": properties["l2CacheSize"],
            "memory_bytes": properties["totalGlobalMem"],
            "driver": runtime.driverGetVersion(),
            "runtime": runtime.runtimeGetVersion(),
            "capability": f"{properties['major']}{properties['minor']}",
            "multiprocessor": {
                "threads": properties.get("maxThreadsPerMultiProcessor", 2048),
                "registers": properties.get("regsPerMultiprocessor", 65536),
                "shared_bytes": properties.get("sharedMemPerMultiprocessor", 233472),
                "blocks": properties.get("maxBlocksPerMultiProcessor", 32),
                "reserved_bytes": properties.get("reservedSharedMemPerBlock", 1024),
            },
        }

    def ceilings(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Copy bandwidth in bytes a second (read plus written), fp32 multiply-add rate and the rate of a
        half-precision matrix product of the vendor library (the tensor units) in flop/s."""
        cupy = self.cupy
        source = cupy.zeros(1 << 28, dtype=cupy.float32)
        target = cupy.empty_like(source)
        copy = min(self._span(lambda a=target, b=source: cupy.copyto(a, b)) for _ in range(10))
        code = (
            'extern "C" __global__ void k(float* o){'
            "float a=threadIdx.x,b=a+1,c=a+2,d=a+3,e=a+4,f=a+5,g=a+6,h=a+7;"
            "for(int i=0;i<4096;++i){a=fmaf(a,b,c);b=fmaf(b,c,d);c=fmaf(c,d,e);d=fmaf(d,e,f);"
            "e=fmaf(e,f,g);f=fmaf(f,g,h);g=fmaf(g,h,a);h=fmaf(h,a,b);}"
            "if(a+b+c+d+e+f+g+h==12345.f)o[0]=a;}"
        )
        kernel = cupy.RawModule(code=code).get_function("k")
        out = cupy.zeros(1, dtype=cupy.float32)
        blocks = 16 * self.cupy.cuda.Device().attributes["MultiProcessorCount"]
        fma = min(self._span(lambda: kernel((blocks,), (512,), (out,))) for _ in range(5))
        del source, target
        side = 8192
        half = cupy.random.default_rng(1).random((side, side), dtype=cupy.float32).astype(cupy.float16)
        product = cupy.empty_like(half)
        tensor = min(self._span(lambda: cupy.matmul(half, half, out=product)) for _ in range(6))
        return {
            "copy_bytes_per_s": 2 * 4 * (1 << 28) / (copy * 1e-3),
            "fp32_flop_per_s": blocks * 512 * 4096 * 8 * 2 / (fma * 1e-3),
            "fp16_tensor_flop_per_s": 2.0 * side**3 / (tensor * 1e-3),
        }

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compile with NVRTC; the compile report per kernel."""
        self.sets = []
        self.functions, spilled = self._functions(request["text"], request["kernels"])
        report = {}
        for name, function in zip(request["kernels"], self.functions, strict=True):
            attributes = function.attributes
            report[name] = {
                "registers": attributes["num_regs"],
                "shared_bytes": attributes["shared_size_bytes"],
                "local_bytes": attributes["local_size_bytes"],
                "max_threads": attributes["max_threads_per_block"],
                "spill_bytes": spilled,
            }
        self.plan = request["plan"]
        for call, function in zip(self.plan["calls"], self.functions, strict=True):
            self._allow_shared(call, function)
        return {"report": report}

    def _functions(self, text: str, kernels: list[str]) -> tuple[list[Any], float]:
        """The loaded kernels and the bytes they spill; those of the last texts are kept."""
        key = json.dumps([text, kernels])
        if key not in self.built:
            try:
                built = self.nvrtc.compile(text, kernels, self.arch)
            except nvrtc.CompileFailure as failure:
                raise Refused(str(failure)) from failure
            with tempfile.TemporaryDirectory(prefix="kshell-cubin-") as folder:
                path = Path(folder) / "kernel.cubin"
                path.write_bytes(built.cubin)
                module = self.cupy.RawModule(path=str(path))
                functions = [module.get_function(built.lowered[k]) for k in kernels]
            while len(self.built) >= KEPT_BUILDS:
                self.built.pop(next(iter(self.built)))
            self.built[key] = functions, nvrtc.ptxas_report(built.log)["spill_bytes"]
        return self.built[key]

    def _allow_shared(self, call: dict[str, Any], function: Any) -> None:
        limit = self.cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        static = function.attributes["shared_size_bytes"]
        if call["shared"] + static > limit:
            raise Refused(
                f"{call['kernel']} asks for {call['shared'] + static} bytes of shared memory of {limit}"
            )
        if call["shared"] + static > 48 * 1024:
            function.max_dynamic_shared_size_bytes = call["shared"]

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run once on every input set; outputs to files. `sets` holds one name-to-file map each."""
        self.sets = [self._place(s["inputs"]) for s in request["sets"]]
        answers = []
        for buffers, wanted in zip(self.sets, request["sets"], strict=True):
            answers.append(self._checked(buffers, wanted["outputs"]))
        return {"sets": answers}

    def time(self, request: dict[str, Any]) -> dict[str, Any]:
        """Interleaved samples (ABBA) of the candidate and the baselines, in milliseconds.

        The inputs of the last `run` are rotated; the second-level cache is overwritten before every
        sample; each sample lies between two events with the device idle after it. The outputs of the
        last timed calls are written to files to be checked again."""
        if not self.sets:
            raise Refused("nothing was run before timing")
        baselines = self._baselines(request)
        clocks = {f"{name}_before": mhz for name, mhz in _clocks().items()}
        contenders = {"candidate": self._call, **baselines}
        samples: dict[str, list[float]] = {name: [] for name in contenders}
        self._reset_persisting()
        for sample in range(-request["warmup"], request["samples"]):
            buffers = self.sets[sample % len(self.sets)]
            order = list(contenders) if sample % 2 == 0 else list(reversed(contenders))
            for name in order:
                ms = self._span(lambda f=contenders[name], b=buffers: f(b))
                if sample >= 0:
                    samples[name].append(ms)
        again = [
            self._collect(buffers, wanted["outputs"])
            for buffers, wanted in zip(self.sets, request["sets"], strict=True)
        ]
        clocks |= {f"{name}_after": mhz for name, mhz in _clocks().items()}
        launch = self._launch_overhead()
        return {"samples": samples, "sets": again, "launch_ms": launch, "clocks": clocks}

    # ------------------------------------------------------------ pieces

    def _place(self, inputs: dict[str, str]) -> dict[str, Buffer]:
        buffers = {}
        for name, facts in self.plan["buffers"].items():
            buffers[name] = Buffer(self.cupy, facts["bytes"])
            if name in inputs:
                buffers[name].put(np.load(inputs[name]))
        return buffers

    def _arguments(self, call: dict[str, Any], buffers: dict[str, Buffer]) -> tuple[Any, ...]:
        return tuple(
            buffers[value].body if kind == "buffer" else SCALARS[kind](value) for kind, value in call["args"]
        )

    def _call(self, buffers: dict[str, Buffer]) -> None:
        for call, function in zip(self.plan["calls"], self.functions, strict=True):
            function(
                tuple(call["grid"]),
                tuple(call["block"]),
                self._arguments(call, buffers),
                shared_mem=call["shared"],
            )

    def _stain(self) -> Callable[[], None]:
        """What leaves the poison pattern in the shared memory of every multiprocessor: a candidate that
        reads a word it never wrote gets a NaN instead of what an earlier block left there."""
        attributes = self.cupy.cuda.Device().attributes
        size, blocks = attributes["MaxSharedMemoryPerBlockOptin"], 4 * attributes["MultiProcessorCount"]
        code = (
            'extern "C" __global__ void k(unsigned pattern, int words) {'
            "extern __shared__ volatile unsigned kshell_shared[];"
            "for (int i = threadIdx.x; i < words; i += blockDim.x) kshell_shared[i] = pattern; }"
        )
        kernel = self.cupy.RawModule(code=code).get_function("k")
        kernel.max_dynamic_shared_size_bytes = size
        arguments = (POISON, np.int32(size // 4))
        return lambda: kernel((blocks,), (1024,), arguments, shared_mem=size)

    def _checked(self, buffers: dict[str, Buffer], wanted: dict[str, str]) -> dict[str, Any]:
        cupy = self.cupy
        roles = {name: facts["role"] for name, facts in self.plan["buffers"].items()}
        before = {n: _digest(cupy, b) for n, b in buffers.items() if roles[n] == "input"}
        for name, buffer in buffers.items():
            if roles[name] != "input":
                buffer.poison()
        self.stain()
        self._call(buffers)
        cupy.cuda.Device().synchronize()
        answer = self._collect(buffers, wanted)
        answer["inputs_intact"] = all(before[n] == _digest(cupy, buffers[n]) for n in before)
        return answer

    def _collect(self, buffers: dict[str, Buffer], wanted: dict[str, str]) -> dict[str, Any]:
        for name, path in wanted.items():
            data = self.cupy.asnumpy(buffers[name].body).tobytes()[: buffers[name].size]
            np.save(path, np.frombuffer(data, np.float32))
        return {"guards": {n: b.guards_hold(self.cupy) for n, b in buffers.items()}}

    def _span(self, work: Any) -> float:
        cuda = self.cupy.cuda
        self.flush.fill(1)
        begin, end = cuda.Event(), cuda.Event()
        begin.record()
        work()
        end.record()
        cuda.Device().synchronize()
        return float(cuda.get_elapsed_time(begin, end))

    def _launch_overhead(self) -> float:
        empty = self.cupy.RawModule(code='extern "C" __global__ void k(){}').get_function("k")
        return float(np.median([self._span(lambda: empty((1,), (1,), ())) for _ in range(50)]))

    def _reset_persisting(self) -> None:
        """Undo any persisting-L2 carve-out."""
        import ctypes

        for name in ("libcudart.so", "libcudart.so.13", "libcudart.so.12"):
            try:
                ctypes.CDLL(name).cudaCtxResetPersistingL2Cache()
                return
            except (OSError, AttributeError):
                continue

    def _baselines(self, request: dict[str, Any]) -> dict[str, Any]:
        """What else is timed: `eager` and `compile` of the reference, `vendor` for a direct library call.
        Models are kept between requests, since compiling one takes seconds."""
        wanted = request.get("baselines", [])
        if not wanted:
            return {}
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        views = {
            id(buffers): {
                name: torch.as_tensor(buffers[name].body, device="cuda")
                .view(torch.float32)[: _count(shape)]
                .view(shape)
                for name, shape in request["shapes"].items()
            }
            for buffers in self.sets
        }
        results = {}
        for name in wanted:
            form = self._model(name, request, torch)
            results[name] = _caller(torch, form, views)
            for _ in range(3):  # compile outside the timed region
                results[name](self.sets[0])
        self.cupy.cuda.Device().synchronize()
        return results

    def _model(self, name: str, request: dict[str, Any], torch: Any) -> Any:
        """A function of the inputs in order."""
        if name == "vendor":
            library, call, operands = (request["vendor"][k] for k in ("library", "call", "operands"))
            order = list(request["shapes"])
            return _vendor(torch, library, call, [order.index(o) for o in operands], request["axes"])
        mode = request.get("compile_mode", "max-autotune-no-cudagraphs") if name == "compile" else ""
        key = json.dumps([name, mode, request["reference"], request["axes"]])
        if key not in self.models:
            module = types.ModuleType("kshell_reference")
            sys.modules[module.__name__] = module
            exec(compile(request["reference"], "<reference>", "exec"), module.__dict__)
            module.__dict__.update(request["axes"])
            model = module.Model(*module.get_init_inputs()).cuda().eval()
            while len(self.models) >= KEPT_MODELS:
                self.models.pop(next(iter(self.models)))
            self.models[key] = torch.compile(model, mode=mode, dynamic=False) if name == "compile" else model
        return self.models[key]


def _caller(torch: Any, form: Any, views: dict[int, dict[str, Any]]) -> Any:
    """Torch and cupy both launch on the default stream, where the events of `_span` are recorded."""

    def call(buffers: dict[str, Buffer]) -> None:
        with torch.no_grad():
            form(*views[id(buffers)].values())

    return call


def _vendor(torch: Any, library: str, call: str, places: list[int], axes: dict[str, int]) -> Any:
    """A library function on the inputs at `places`, straight, without the modules around it."""
    if library == "cuDNN":
        torch.backends.cudnn.benchmark = True

    def convolution(x: Any, weight: Any, bias: Any) -> Any:
        groups = x.shape[1] // weight.shape[1]
        return torch.cudnn_convolution(
            x, weight, (axes["pad"],) * 2, (1, 1), (1, 1), groups, True, False, False
        ).add_(bias.view(1, -1, 1, 1))

    calls = {
        "mv": torch.mv,
        "mm": torch.mm,
        "bmm": torch.bmm,
        "addmm": lambda x, weight, bias: torch.addmm(bias, x, weight.t()),
        "convolution": convolution,
    }
    function = calls[call]
    return lambda *inputs: function(*(inputs[p] for p in places))


def _clocks() -> dict[str, float]:
    """Clocks of the multiprocessors and the memory in MHz, as nvidia-smi says; never set here. Empty where
    it does not say."""
    query = ["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem", "--format=csv,noheader,nounits"]
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
    try:
        done = subprocess.run([*query, "-i", gpu], capture_output=True, text=True, timeout=10, check=True)
        multiprocessors, memory = done.stdout.strip().splitlines()[0].split(",")
        return {"sm_mhz": float(multiprocessors), "memory_mhz": float(memory)}
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return {}


def _count(shape: list[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _digest(cupy: Any, buffer: Buffer) -> int:
    words = buffer.all.astype(cupy.uint64)
    weights = cupy.arange(1, len(words) + 1, dtype=cupy.uint64)
    return int(cupy.sum(words * weights).get())


def _answer(worker: Worker, request: dict[str, Any]) -> dict[str, Any]:
    verbs = {v.__name__: v for v in (worker.hello, worker.ceilings, worker.load, worker.run, worker.time)}
    started = time.perf_counter()
    try:
        answer = {"ok": True, **verbs[request["op"]](request)}
    except Refused as refused:
        answer = {"ok": False, "fatal": False, "reason": str(refused)}
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        answer = {"ok": False, "fatal": True, "reason": f"{type(error).__name__}: {text}"}
    answer["seconds"] = time.perf_counter() - started
    return answer


def main() -> int:
    """Serve requests until the input ends. Exit status 3 when there is no usable GPU or cupy."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    sys.stdout = sys.stderr  # libraries print; the answers alone go to the pipe
    os.dup2(2, 1)  # and torch's compilers, which outlive a killed worker, do not keep it open
    try:
        worker = Worker()
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        replies.write(json.dumps({"ok": False, "fatal": True, "reason": f"no usable GPU: {text}"}) + "\n")
        return 3
    replies.write(json.dumps({"ok": True, **worker.hello({})}) + "\n")
    for line in sys.stdin:
        answer = _answer(worker, json.loads(line))
        replies.write(json.dumps(answer) + "\n")
        if answer.get("fatal"):
            return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
