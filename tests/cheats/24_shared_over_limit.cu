// Shared memory over the limit: the launch fails, nobody looks at the error, the output stays.
// task: relu
// layer: launch
// answer: shared

__global__ void relu(const float* __restrict__ x, float* __restrict__ y, int n) {
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = 0.0f;
    if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

void launch(const float* x, float* y, int n) {
    relu<<<(n + 255) / 256, 256, 300000>>>(x, y, n);
}
