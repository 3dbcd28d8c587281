"""Kernels the harness tests share, and the candidate made of a source."""

import hashlib

from insights_db.records import Candidate

RELU = """\
__global__ void relu(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

void launch(const float* x, float* y, int n) {
    const int threads = 256;
    dim3 grid((n + threads - 1) / threads);
    dim3 block(threads);
    relu<<<grid, block>>>(x, y, n);
}
"""

SOFTMAX = """\
#define BLOCK 256

__device__ float shifted(float a, float m) { return expf(a - m); }

template <int N>
__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int n) {
    __shared__ float s[N];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    float m = -INFINITY;
    for (int i = tid; i < n; i += N) m = fmaxf(m, x[row * n + i]);
    s[tid] = m;
    __syncthreads();
    for (int o = N / 2; o > 0; o >>= 1) {
        if (tid < o) s[tid] = fmaxf(s[tid], s[tid + o]);
        __syncthreads();
    }
    m = s[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = tid; i < n; i += N) sum += shifted(x[row * n + i], m);
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (tid % 32 == 0) s[tid / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < N / 32; k++) sum += s[k];
    for (int i = tid; i < n; i += N) y[row * n + i] = shifted(x[row * n + i], m) / sum;
}

void launch(const float* x, float* y, int rows, int n) {
    softmax<BLOCK><<<rows, BLOCK>>>(x, y, rows, n);
}
"""


def candidate(source: str, task: str) -> Candidate:
    key = hashlib.sha256(source.encode()).hexdigest()[:12]
    return Candidate(id=key, source=source, task=task, round=0, index=0, proposer="test")


def changed(source: str, old: str, new: str) -> str:
    """The source with one place replaced; the place must occur exactly once."""
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times"
    return source.replace(old, new)
