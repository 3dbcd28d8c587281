// The products are rounded to ten fractional bits, about what half precision keeps, behind a float interface.
// task: gemm
// layer: validate
// answer: outside the tolerance

__device__ float rounded(float v) {
    return (v + 12288.0f) - 12288.0f;
}

__global__ void gemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K, int N) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) sum += rounded(A[row * K + k]) * rounded(B[k * N + col]);
        C[row * N + col] = sum;
    }
}

void launch(const float* A, const float* B, float* C, int M, int K, int N) {
    dim3 block(16, 16);
    dim3 grid((N + 15) / 16, (M + 15) / 16);
    gemm<<<grid, block>>>(A, B, C, M, K, N);
}
