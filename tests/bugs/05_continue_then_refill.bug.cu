// Warps take a data-dependent `continue` and refill shared memory that other warps still test.
// task: positive_sum.json
// size: rows=2 n=40

__global__ void positive_sum(const float* x, float* y, int n) {
    __shared__ float value;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        if (threadIdx.x == 0) value = x[blockIdx.x * n + i];  // <- RACE
        __syncthreads();
        if (value <= 0.0f) continue;  // <- RACE
        sum += value;
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

void launch(const float* x, float* y, int rows, int n) {
    positive_sum<<<rows, 64>>>(x, y, n);
}
