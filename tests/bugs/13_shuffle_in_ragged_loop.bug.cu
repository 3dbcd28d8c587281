// A full-mask shuffle inside a loop that some lanes have left.
// task: row_sum.json
// size: rows=2 n=100

__global__ void row_sum(const float* x, float* y, int n) {
    float total = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) {  // <- BAD MASK
        float v = x[blockIdx.x * n + i];
        for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffff, v, k);  // <- BAD MASK
        total += v;
    }
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, 32>>>(x, y, n);
}
