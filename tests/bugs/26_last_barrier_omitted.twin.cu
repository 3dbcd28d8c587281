// Correct: the barrier of the last level is omitted, since only its own thread reads the array afterwards.
// task: row_sum.json
// size: rows=2 n=500

__global__ void row_sum(const float* x, float* y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += 64) sum += x[blockIdx.x * n + i];
    s[t] = sum;
    for (int k = 32; k > 0; k /= 2) {
        __syncthreads();
        if (t < k) s[t] += s[t + k];
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, 64>>>(x, y, n);
}
