// One thread a row, a pointer that walks.
__global__ void gemv_naive(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y, int M, int N) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M) {
        const float* p = A + row * N;
        float acc = 0.0f;
        int j = 0;
        while (j < N) {
            acc += *p * x[j++];
            p++;
        }
        y[row] = acc;
    }
}

void launch(const float* A, const float* x, float* y, int M, int N) {
    gemv_naive<<<(M + 127) / 128, 128>>>(A, x, y, M, N);
}
