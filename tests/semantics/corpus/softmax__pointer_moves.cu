// A block a row in two passes over the output; one pointer first reads x, then y.
__global__ void softmax_moves(const float* __restrict__ x, float* y, int n) {
    extern __shared__ float part[];
    const int t = threadIdx.x, size = blockDim.x;
    const float* p = x + blockIdx.x * n;
    float* out = y + blockIdx.x * n;
    float top = -INFINITY;
    for (int i = t; i < n; i += size) top = fmaxf(top, p[i]);
    part[t] = top;
    for (int stride = size / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride) part[t] = fmaxf(part[t], part[t + stride]);
    }
    __syncthreads();
    top = part[0];
    __syncthreads();
    for (int i = t; i < n; i += size) out[i] = expf(p[i] - top);
    p = y + blockIdx.x * n;
    float total = 0.0f;
    for (int i = t; i < n; i += size) total += p[i];
    part[t] = total;
    for (int stride = size / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride) part[t] += part[t + stride];
    }
    __syncthreads();
    total = part[0];
    for (int i = t; i < n; i += size) out[i] = p[i] / total;
}

void launch(const float* x, float* y, int rows, int n) {
    const int threads = 64;
    softmax_moves<<<rows, threads, threads * sizeof(float)>>>(x, y, n);
}
