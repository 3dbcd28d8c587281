// Square tiles in shared memory, edges padded with zeros.
#define TILE 16
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

__global__ void gemm_tiled(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K, int N) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;
    for (int t = 0; t < CEIL_DIV(K, TILE); ++t) {
        const int ak = t * TILE + tx;
        const int bk = t * TILE + ty;
        As[ty][tx] = (row < M && ak < K) ? A[row * K + ak] : 0.0f;
        Bs[ty][tx] = (bk < K && col < N) ? B[bk * N + col] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

void launch(const float* A, const float* B, float* C, int M, int K, int N) {
    dim3 grid(CEIL_DIV(N, TILE), CEIL_DIV(M, TILE));
    dim3 block(TILE, TILE);
    gemm_tiled<<<grid, block>>>(A, B, C, M, K, N);
}
