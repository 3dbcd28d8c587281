// Online softmax merges two slices that are both empty: exp(-inf - -inf).
// task: softmax
// size: rows=2 n=100

__global__ void softmax(const float* x, float* y, int n) {
    __shared__ float top[64];
    __shared__ float mass[64];
    int t = threadIdx.x;
    const float* row = x + blockIdx.x * n;
    float m = -INFINITY;
    float d = 0.0f;
    for (int i = t; i < n; i += 64) {
        float v = row[i];
        float larger = fmaxf(m, v);
        d = d * expf(m - larger) + expf(v - larger);
        m = larger;
    }
    top[t] = m;
    mass[t] = d;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k) {
            float larger = fmaxf(top[t], top[t + k]);
            mass[t] = mass[t] * expf(top[t] - larger) + mass[t + k] * expf(top[t + k] - larger);  // <- UNDEFINED
            top[t] = larger;
        }
        __syncthreads();
    }
    for (int i = t; i < n; i += 64) y[blockIdx.x * n + i] = expf(row[i] - top[0]) / mass[0];
}

void launch(const float* x, float* y, int rows, int n) {
    softmax<<<rows, 64>>>(x, y, n);
}
