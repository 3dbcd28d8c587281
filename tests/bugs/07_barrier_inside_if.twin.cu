// The correct twin of: the barrier at the end of a helper is inside an `if`; back-to-back calls race.
// task: softmax
// size: rows=2 n=300

__device__ float block_max(float v, float* s, int n) {
    int t = threadIdx.x;
    s[t] = v;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    float result = s[0];
    __syncthreads();
    return result;
}

__global__ void softmax(const float* x, float* y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    const float* row = x + blockIdx.x * n;
    float m = -INFINITY;
    for (int i = t; i < n; i += 64) m = fmaxf(m, row[i]);
    m = block_max(m, s, n);
    float sum = 0.0f;
    for (int i = t; i < n; i += 64) sum += expf(row[i] - m);
    s[t] = sum;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    for (int i = t; i < n; i += 64) y[blockIdx.x * n + i] = expf(row[i] - m) / s[0];
}

void launch(const float* x, float* y, int rows, int n) {
    softmax<<<rows, 64>>>(x, y, n);
}
