// Blocks combine their partial results in the launch that stores them: nothing orders the blocks.
// task: row_sum.json
// size: rows=2 n=600

__global__ void partial(const float* x, float* part, float* y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    int chunk = (n + gridDim.x - 1) / gridDim.x;
    int row = blockIdx.y;
    float sum = 0.0f;
    int end = min(n, (int)(blockIdx.x + 1) * chunk);
    for (int i = blockIdx.x * chunk + t; i < end; i += 64) sum += x[row * n + i];
    s[t] = sum;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) part[row * 4 + blockIdx.x] = s[0];  // <- RACE
    if (blockIdx.x == 3 && t == 0)
        y[row] = part[row * 4] + part[row * 4 + 1] + part[row * 4 + 2] + part[row * 4 + 3];  // <- RACE
}

void launch(const float* x, float* y, int rows, int n) {
    float* part = KSHELL_WORKSPACE(float, rows * 4);
    dim3 grid(4, rows);
    partial<<<grid, 64>>>(x, part, y, n);
}
