// No tail guard: n is not a multiple of the block.
// task: scale
// size: n=1000

__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 0.5f * x[i];  // <- OUT OF BOUNDS
}

void launch(const float* x, float* y, int n) {
    scale<<<(n + 127) / 128, 128>>>(x, y, n);
}
