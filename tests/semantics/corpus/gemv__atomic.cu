// Blocks share a row: partial dot products meet in atomicAdd after a kernel that clears y.
__global__ void clear(float* y, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = 0.0f;
}

__global__ void gemv_atomic(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y, int N, int part) {
    __shared__ float s[64];
    const int row = blockIdx.x;
    const int start = blockIdx.y * part;
    const int stop = min(start + part, N);
    float acc = 0.0f;
    for (int j = start + threadIdx.x; j < stop; j += 64) acc += A[row * N + j] * x[j];
    s[threadIdx.x] = acc;
    __syncthreads();
    for (unsigned int w = 32; w > 0; w /= 2) {
        if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(&y[row], s[0]);
}

void launch(const float* A, const float* x, float* y, int M, int N) {
    const int part = 128;
    dim3 grid(M, (N + part - 1) / part);
    clear<<<(M + 127) / 128, 128>>>(y, M);
    gemv_atomic<<<grid, 64>>>(A, x, y, N, part);
}
