// The memory behind the output is overwritten with the same zeros as the output.
// task: relu
// layer: validate
// answer: OUT OF BOUNDS

__global__ void relu(const float* __restrict__ x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 0.0f;
        y[i + n] = 0.0f;
    }
}

void launch(const float* x, float* y, int n) {
    relu<<<(n + 255) / 256, 256>>>(x, y, n);
}
