// The correct twin of: `__syncwarp` where the consumers are in another warp.
// task: row_sum.json
// size: rows=2 n=500

__global__ void row_sum(const float* x, float* y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += 64) sum += x[blockIdx.x * n + i];
    s[t] = sum;
    __syncthreads();
    if (t < 32) s[t] += s[t + 32];
    __syncwarp();
    for (int k = 16; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncwarp();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, 64>>>(x, y, n);
}
