// A barrier inside a branch that depends on the role of the warp.
// task: row_sum.json
// size: rows=2 n=300

__global__ void row_sum(const float* x, float* y, int n) {
    __shared__ float s[32];
    int t = threadIdx.x;
    if (t < 32) {  // <- DIVERGENT BARRIER
        float sum = 0.0f;
        for (int i = t; i < n; i += 32) sum += x[blockIdx.x * n + i];
        s[t] = sum;
        __syncthreads();  // <- DIVERGENT BARRIER
    }
    if (t == 0) {
        float total = 0.0f;
        for (int i = 0; i < 32; i++) total += s[i];
        y[blockIdx.x] = total;
    }
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, 64>>>(x, y, n);
}
