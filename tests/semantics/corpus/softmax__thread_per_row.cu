// One thread a row, three passes.
__global__ void softmax_naive(const float* __restrict__ x, float* __restrict__ y, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* in = x + row * n;
    float* out = y + row * n;
    float top = -INFINITY;
    for (int i = 0; i < n; i++) top = fmaxf(top, in[i]);
    float total = 0.0f;
    for (int i = 0; i < n; i++) total += expf(in[i] - top);
    for (int i = 0; i < n; i++) out[i] = expf(in[i] - top) / total;
}

void launch(const float* x, float* y, int rows, int n) {
    softmax_naive<<<(rows + 63) / 64, 64>>>(x, y, rows, n);
}
