"""Public files are adapted by rule: host code is cut, a launcher is made, and the refusals are counted."""

import json
import subprocess
import sys
from pathlib import Path

from bench.parse_rate import chunks, device_side, read, with_launcher

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "parse_rate.py"
PLAIN = """
#include <torch/extension.h>
#include <iostream>
#define CHECK(x) TORCH_CHECK(x.is_cuda(), #x " is not on the device")
#define WIDTH 64  // used by the kernel
constexpr int ROUNDS = 2;
static int unused = 3;
namespace mine {
template <typename T, int N = 4>
__device__ T scaled(T v) { return v * N; }
template <typename scalar_t>
__global__ void __launch_bounds__(256) grow(const scalar_t* __restrict__ x, float4* out, scalar_t* y, int n) {
    __shared__ scalar_t s[WIDTH];  /* a comment with } in it */
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = scaled<scalar_t>(x[i]) * ROUNDS;
}
}
torch::Tensor forward(torch::Tensor x) {
    CHECK(x);
    std::cout << "launching { for (;;)" << std::endl;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "grow", ([&] { grow<scalar_t><<<1, 2>>>(x, y); }));
    return x;
}
PYBIND11_MODULE(NAME, m) { m.def("forward", &forward); }
"""
REFUSED = "__global__ void odd(float* y) { goto out; out: y[0] = 1; }\nint main() { odd<<<1, 1>>>(0); }\n"


def test_the_device_side_is_what_kernels_use() -> None:
    device = device_side(PLAIN)
    assert "#define WIDTH 64" in device and "constexpr int ROUNDS = 2;" in device
    assert not any(
        word in device for word in ("CHECK", "unused", "forward", "PYBIND11", "namespace", "#include")
    )
    assert len([c for c in chunks(device) if "__global__" in c]) == 1


def test_the_launcher_takes_the_parameters_of_the_kernels() -> None:
    source = with_launcher(device_side(PLAIN), PLAIN)
    head, call = source[source.index("void launch(") :].splitlines()[:2]
    assert head == "void launch(const float* x, float* out, float* y, int n) {"
    assert call.strip() == "grow<float><<<2, 256, 8192>>>(x, reinterpret_cast<float4*>(out), y, n);"


def test_files_load_or_are_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "plain.cu").write_text(PLAIN)
    (tmp_path / "refused.cu").write_text(REFUSED)
    assert read(tmp_path / "plain.cu").reason == ""
    assert read(tmp_path / "refused.cu").reason.startswith("`goto` is outside the language | __global__")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), "--json"], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found == {"read": 1, "total": 2, "refused": {"`goto` is outside the language": 1}}
