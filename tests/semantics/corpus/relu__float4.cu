// Four elements a thread as one vector, a scalar loop for the tail.
__global__ void relu_vec4(const float* __restrict__ x, float* __restrict__ y, int n) {
    const int quads = n / 4;
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < quads) {
        float4 v = reinterpret_cast<const float4*>(x)[t];
        v.x = fmaxf(v.x, 0.0f);
        v.y = fmaxf(v.y, 0.0f);
        v.z = fmaxf(v.z, 0.0f);
        v.w = fmaxf(v.w, 0.0f);
        reinterpret_cast<float4*>(y)[t] = v;
    }
    const int tail = quads * 4 + t;
    if (t < n - quads * 4) y[tail] = fmaxf(x[tail], 0.0f);
}

void launch(const float* x, float* y, int n) {
    const int threads = 256;
    const int quads = (n + 3) / 4;
    relu_vec4<<<(quads + threads - 1) / threads, threads>>>(x, y, n);
}
