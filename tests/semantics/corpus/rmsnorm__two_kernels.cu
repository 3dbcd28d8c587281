// The scale of each row into a workspace, then one thread an element.
__global__ void row_scale(const float* __restrict__ x, float* __restrict__ scale, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += x[row * n + i] * x[row * n + i];
    scale[row] = rsqrtf((float)sum / n + 1e-6f);
}

__global__ void apply_scale(const float* __restrict__ x, const float* __restrict__ scale,
                            const float* __restrict__ weight, float* __restrict__ y, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[i] * scale[i / n] * weight[i % n];
}

void launch(const float* x, const float* weight, float* y, int rows, int n) {
    const int count = rows * n;
    float* scale = KSHELL_WORKSPACE(float, rows);
    row_scale<<<(rows + 63) / 64, 64>>>(x, scale, rows, n);
    apply_scale<<<(count + 255) / 256, 256>>>(x, scale, weight, y, count, n);
}
