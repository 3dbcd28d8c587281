// Several elements a thread through a template parameter and an unrolled loop; 64-bit index.
template <int ITEMS>
__global__ void __launch_bounds__(128) relu_items(const float* __restrict__ x, float* __restrict__ y, int n) {
    const size_t base = (size_t)blockIdx.x * blockDim.x * ITEMS + threadIdx.x;
    #pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        const size_t i = base + (size_t)k * blockDim.x;
        if (i < (size_t)n) y[i] = fmaxf(__ldg(&x[i]), 0.0f);
    }
}

void launch(const float* x, float* y, int n) {
    constexpr int threads = 128;
    constexpr int items = 4;
    const int per_block = threads * items;
    relu_items<items><<<(n + per_block - 1) / per_block, threads>>>(x, y, n);
}
