// Correct: all lanes of a warp store the same value to one shared slot.
// task: center.json
// size: rows=2 n=100

__global__ void center(const float* x, float* y, int n) {
    __shared__ float mean;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) sum += x[blockIdx.x * n + i];
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k);
    mean = sum / n;
    __syncwarp();
    for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = x[blockIdx.x * n + i] - mean;
}

void launch(const float* x, float* y, int rows, int n) {
    center<<<rows, 32>>>(x, y, n);
}
