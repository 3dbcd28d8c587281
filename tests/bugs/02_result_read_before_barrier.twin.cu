// The correct twin of: the result slot of a reduction is read before the barrier that follows its store.
// task: center.json
// size: rows=2 n=500

__global__ void center(const float* x, float* y, int n) {
    __shared__ float s[64];
    __shared__ float mean;
    int t = threadIdx.x;
    int row = blockIdx.x * n;
    float sum = 0.0f;
    for (int i = t; i < n; i += 64) sum += x[row + i];
    s[t] = sum;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) mean = s[0] / n;
    __syncthreads();
    float m = mean;
    for (int i = t; i < n; i += 64) y[row + i] = x[row + i] - m;
}

void launch(const float* x, float* y, int rows, int n) {
    center<<<rows, 64>>>(x, y, n);
}
