// A block a row; chained assignments in the tree, pow with a small exponent.
__global__ void rmsnorm_chained(const float* __restrict__ x, const float* __restrict__ weight,
                                float* __restrict__ y, int n) {
    __shared__ float s[256];
    const int t = threadIdx.x;
    const int base = blockIdx.x * n;
    float v = 0.0f;
    for (int i = t; i < n; i += 256) v += powf(x[base + i], 2.0f);
    s[t] = v;
    __syncthreads();
    for (int w = 128; w >= 1; w >>= 1) {
        if (t < w) s[t] = v = v + s[t + w];
        __syncthreads();
    }
    const float scale = rsqrtf(s[0] / n + 1e-6f);
    for (int i = t; i < n; i += 256) y[base + i] = x[base + i] * scale * weight[i];
}

void launch(const float* x, const float* weight, float* y, int rows, int n) {
    rmsnorm_chained<<<rows, 256>>>(x, weight, y, n);
}
