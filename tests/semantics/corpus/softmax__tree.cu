// A block a row, halving trees in shared memory.
#define BLOCK 128

__global__ void softmax_tree(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float part[BLOCK];
    const int t = threadIdx.x;
    const float* in = x + (size_t)blockIdx.x * n;
    float* out = y + (size_t)blockIdx.x * n;

    float top = -INFINITY;
    for (int i = t; i < n; i += BLOCK) top = fmaxf(top, in[i]);
    part[t] = top;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) part[t] = fmaxf(part[t], part[t + s]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();

    float total = 0.0f;
    for (int i = t; i < n; i += BLOCK) total += expf(in[i] - top);
    part[t] = total;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    total = part[0];

    for (int i = t; i < n; i += BLOCK) out[i] = expf(in[i] - top) / total;
}

void launch(const float* x, float* y, int rows, int n) {
    softmax_tree<<<rows, BLOCK>>>(x, y, n);
}
