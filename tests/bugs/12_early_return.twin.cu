// The correct twin of: threads out of range return before a barrier that the others reach.
// task: scale
// size: n=1000

__global__ void scale(const float* x, float* y, int n) {
    __shared__ float tile[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < n) y[i] = 0.5f * tile[threadIdx.x];
}

void launch(const float* x, float* y, int n) {
    scale<<<(n + 127) / 128, 128>>>(x, y, n);
}
