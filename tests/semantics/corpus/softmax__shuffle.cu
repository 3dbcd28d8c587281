// A block a row, warp shuffles and one slot a warp.
#define FULL_MASK 0xffffffff

template <int THREADS>
__device__ float block_max(float v, float* slots) {
    for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_xor_sync(FULL_MASK, v, offset));
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) slots[warp] = v;
    __syncthreads();
    v = slots[0];
    for (int w = 1; w < THREADS / 32; ++w) v = fmaxf(v, slots[w]);
    __syncthreads();
    return v;
}

template <int THREADS>
__device__ float block_sum(float v, float* slots) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(FULL_MASK, v, offset);
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    if (lane == 0) slots[warp] = v;
    __syncthreads();
    v = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) v += slots[w];
    __syncthreads();
    return v;
}

template <int THREADS>
__global__ void softmax_shuffle(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float slots[THREADS / 32];
    const float* in = x + (long long)blockIdx.x * n;
    float* out = y + (long long)blockIdx.x * n;
    float top = -INFINITY;
    for (int i = threadIdx.x; i < n; i += THREADS) top = fmaxf(top, in[i]);
    top = block_max<THREADS>(top, slots);
    float total = 0.0f;
    for (int i = threadIdx.x; i < n; i += THREADS) total += __expf(in[i] - top);
    total = block_sum<THREADS>(total, slots);
    const float scale = 1.0f / total;
    for (int i = threadIdx.x; i < n; i += THREADS) out[i] = __expf(in[i] - top) * scale;
}

void launch(const float* x, float* y, int rows, int n) {
    softmax_shuffle<256><<<rows, 256>>>(x, y, n);
}
