// The correct twin of: an in-place call of a kernel whose parameters are `__restrict__`.
// task: scale
// size: n=300

__global__ void copy(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = x[i];
}

__global__ void halve(const float* in, float* out, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i];
}

void launch(const float* x, float* y, int n) {
    copy<<<(n + 127) / 128, 128>>>(x, y, n);
    halve<<<(n + 127) / 128, 128>>>(y, y, n);
}
