// A 2-D grid of 2-D blocks, flattened.
__global__ void relu_2d(const float* __restrict__ x, float* __restrict__ y, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int i = row * (gridDim.x * blockDim.x) + column;
    if (i < n) y[i] = max(x[i], 0.0f);
}

void launch(const float* x, float* y, int n) {
    dim3 block(32, 8);
    dim3 grid(4, (n + 1023) / 1024);
    relu_2d<<<grid, block>>>(x, y, n);
}
