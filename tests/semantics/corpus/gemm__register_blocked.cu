// A 32x32 tile of C by 64 threads, 4x4 elements a thread in registers.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void gemm_blocked(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K, int N) {
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    const int threads = (BM / TM) * (BN / TN);
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tr = threadIdx.x / (BN / TN), tc = threadIdx.x % (BN / TN);
    float acc[TM][TN] = {};
    float a[TM], b[TN];
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += threads) {
            const int r = row0 + i / BK, k = k0 + i % BK;
            As[i] = (r < M && k < K) ? A[r * K + k] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += threads) {
            const int k = k0 + i / BN, c = col0 + i % BN;
            Bs[i] = (k < K && c < N) ? B[k * N + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            #pragma unroll
            for (int i = 0; i < TM; ++i) a[i] = As[(tr * TM + i) * BK + k];
            #pragma unroll
            for (int j = 0; j < TN; ++j) b[j] = Bs[k * BN + tc * TN + j];
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
            const int r = row0 + tr * TM + i, c = col0 + tc * TN + j;
            if (r >= M || c >= N) continue;
            C[r * N + c] = acc[i][j];
        }
    }
}

void launch(const float* A, const float* B, float* C, int M, int K, int N) {
    dim3 grid((N + 31) / 32, (M + 31) / 32);
    gemm_blocked<32, 32, 8, 4, 4><<<grid, 64>>>(A, B, C, M, K, N);
}
