// A block a row; mean and variance by two trees in dynamic shared memory.
__global__ void layernorm_tree(const float* __restrict__ x, const float* __restrict__ weight,
                               const float* __restrict__ bias, float* __restrict__ y, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x;
    const float* in = x + blockIdx.x * n;
    float sum = 0.0f;
    for (int i = t; i < n; i += blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    const float mean = part[0] / n;
    __syncthreads();
    float square = 0.0f;
    for (int i = t; i < n; i += blockDim.x) {
        const float d = in[i] - mean;
        square += d * d;
    }
    part[t] = square;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    const float scale = rsqrtf(part[0] / n + 1e-5f);
    for (int i = t; i < n; i += blockDim.x) y[blockIdx.x * n + i] = (in[i] - mean) * scale * weight[i] + bias[i];
}

void launch(const float* x, const float* weight, const float* bias, float* y, int rows, int n) {
    const int threads = 256;
    layernorm_tree<<<rows, threads, threads * sizeof(float)>>>(x, weight, bias, y, n);
}
