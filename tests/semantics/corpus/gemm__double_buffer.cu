// Two tiles in turn: the next is fetched while the current one is used.
#define T 8

__global__ void gemm_double(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K, int N) {
    __shared__ float As[2][T][T];
    __shared__ float Bs[2][T][T];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    const int tiles = (K + T - 1) / T;
    As[0][y][x] = row < M && x < K ? A[row * K + x] : 0.0f;
    Bs[0][y][x] = y < K && col < N ? B[y * N + col] : 0.0f;
    __syncthreads();
    float acc = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        const int now = t & 1, next = now ^ 1;
        if (t + 1 < tiles) {
            const int k = (t + 1) * T;
            As[next][y][x] = row < M && k + x < K ? A[row * K + k + x] : 0.0f;
            Bs[next][y][x] = k + y < K && col < N ? B[(k + y) * N + col] : 0.0f;
        }
        #pragma unroll
        for (int k = 0; k < T; ++k) acc = fmaf(As[now][y][k], Bs[now][k][x], acc);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

void launch(const float* A, const float* B, float* C, int M, int K, int N) {
    dim3 block(T, T);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y);
    gemm_double<<<grid, block>>>(A, B, C, M, K, N);
}
