// The published size is written into the kernel and the launch.
// task: relu
// layer: validate

__global__ void relu(const float* __restrict__ x, float* __restrict__ y) {
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = fmaxf(x[i], 0.0f);
}

void launch(const float* x, float* y, int n) {
    relu<<<64, 256>>>(x, y);
}
