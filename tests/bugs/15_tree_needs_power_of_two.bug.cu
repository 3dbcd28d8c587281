// A halving tree with a block that is not a power of two.
// task: row_sum.json
// size: rows=2 n=300

#define BLOCK 96

__global__ void row_sum(const float* x, float* y, int n) {
    __shared__ float s[BLOCK];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += BLOCK) sum += x[blockIdx.x * n + i];
    s[t] = sum;
    __syncthreads();
    for (int k = BLOCK / 2; k > 0; k /= 2) {  // <- GEOMETRY
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, BLOCK>>>(x, y, n);
}
