// The scratch array of a block-reduce helper is reused by a second call in the same kernel.
// task: softmax
// size: rows=2 n=300

__device__ float block_max(float v, float* s) {
    int t = threadIdx.x;
    s[t] = v;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    return s[0];  // <- RACE
}

__device__ float block_sum(float v, float* s) {
    int t = threadIdx.x;
    s[t] = v;  // <- RACE
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    return s[0];
}

__global__ void softmax(const float* x, float* y, int n) {
    __shared__ float s[64];
    const float* row = x + blockIdx.x * n;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 64) m = fmaxf(m, row[i]);
    m = block_max(m, s);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 64) sum += expf(row[i] - m);
    sum = block_sum(sum, s);
    for (int i = threadIdx.x; i < n; i += 64) y[blockIdx.x * n + i] = expf(row[i] - m) / sum;
}

void launch(const float* x, float* y, int rows, int n) {
    softmax<<<rows, 64>>>(x, y, n);
}
