// The shared accumulator is never initialised for idle lanes.
// task: row_sum.json
// size: rows=2 n=100

__global__ void row_sum(const float* x, float* y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < n) {
        float sum = 0.0f;
        for (int i = t; i < n; i += 64) sum += x[blockIdx.x * n + i];
        s[t] = sum;
    }
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];  // <- UNINITIALISED READ
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, 64>>>(x, y, n);
}
