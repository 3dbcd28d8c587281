// The correct twin of: a read of another lane's store with only a shuffle between: a shuffle orders no memory.
// task: row_sum.json
// size: rows=2 n=100

__global__ void row_sum(const float* x, float* y, int n) {
    __shared__ float s[32];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += 32) sum += x[blockIdx.x * n + i];
    s[t] = sum;
    __syncwarp();
    float v = __shfl_down_sync(0xffffffff, sum, 1);
    if (t == 0) {
        float total = s[0] + v;
        for (int i = 2; i < 32; i++) total += s[i];
        y[blockIdx.x] = total;
    }
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, 32>>>(x, y, n);
}
