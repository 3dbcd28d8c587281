// A reduction broadcasts its result from slot 0; the next reduction reuses the array with no barrier after the last read of slot 0.
// task: softmax
// size: rows=2 n=1000

__global__ void softmax(const float* x, float* y, int n) {
    __shared__ float s[128];
    int t = threadIdx.x;
    int row = blockIdx.x * n;
    float m = -INFINITY;
    for (int i = t; i < n; i += 128) m = fmaxf(m, x[row + i]);
    s[t] = m;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    float top = s[0];  // <- RACE
    float sum = 0.0f;
    for (int i = t; i < n; i += 128) sum += expf(x[row + i] - top);
    s[t] = sum;  // <- RACE
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    float total = s[0];
    for (int i = t; i < n; i += 128) y[row + i] = expf(x[row + i] - top) / total;
}

void launch(const float* x, float* y, int rows, int n) {
    softmax<<<rows, 128>>>(x, y, n);
}
