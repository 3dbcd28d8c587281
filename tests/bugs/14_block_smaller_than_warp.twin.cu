// The correct twin of: a full-mask shuffle with a block smaller than a warp.
// task: row_sum.json
// size: rows=2 n=100

#define BLOCK 32

__global__ void row_sum(const float* x, float* y, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += BLOCK) sum += x[blockIdx.x * n + i];
    for (int k = BLOCK / 2; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, BLOCK>>>(x, y, n);
}
