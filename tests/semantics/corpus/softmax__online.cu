// One thread a row, running maximum and rescaled sum in one pass.
__global__ void softmax_online(const float* __restrict__ x, float* __restrict__ y, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float top = x[row * n];
        float total = 1.0f;
        for (int i = 1; i < n; ++i) {
            float v = x[row * n + i];
            float next = fmaxf(top, v);
            total = total * expf(top - next) + expf(v - next);
            top = next;
        }
        for (int i = 0; i < n; ++i) y[row * n + i] = expf(x[row * n + i] - top) / total;
    }
}

void launch(const float* x, float* y, int rows, int n) {
    softmax_online<<<(rows + 31) / 32, 32>>>(x, y, rows, n);
}
