// The correct twin of: a shared table is filled with a strided loop, then indexed, with no barrier between.
// task: gemv
// size: M=70 N=200

__global__ void gemv(const float* A, const float* x, float* y, int M, int N) {
    __shared__ float table[256];
    for (int j = threadIdx.x; j < N; j += 64) table[j] = x[j];
    __syncthreads();
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < M) {
        float sum = 0.0f;
        for (int j = 0; j < N; j++) sum += A[i * N + j] * table[j];
        y[i] = sum;
    }
}

void launch(const float* A, const float* x, float* y, int M, int N) {
    gemv<<<(M + 63) / 64, 64>>>(A, x, y, M, N);
}
