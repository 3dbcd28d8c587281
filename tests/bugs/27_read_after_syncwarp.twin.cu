// Correct: a read of another lane's slot after `__syncwarp` of the same warp.
// task: row_sum.json
// size: rows=2 n=100

__global__ void row_sum(const float* x, float* y, int n) {
    __shared__ float s[32];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += 32) sum += x[blockIdx.x * n + i];
    s[t] = sum;
    __syncwarp();
    for (int k = 16; k > 0; k /= 2) {
        float other = 0.0f;
        if (t < k) other = s[t + k];
        __syncwarp();
        if (t < k) s[t] += other;
        __syncwarp();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, 32>>>(x, y, n);
}
