// Four columns a thread as a float4 where the row starts aligned, scalars elsewhere; an aligned tile of A.
__device__ __forceinline__ void step(float4& acc, float a, float4 b) {
    acc.x += a * b.x;
    acc.y += a * b.y;
    acc.z += a * b.z;
    acc.w += a * b.w;
}

__global__ void gemm_columns(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K, int N) {
    __shared__ __align__(16) float row_of_a[64];
    const int row = blockIdx.y;
    const int c = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    float4 acc = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 64) {
        for (int k = threadIdx.x; k < 64; k += blockDim.x) row_of_a[k] = k0 + k < K ? A[row * K + k0 + k] : 0.0f;
        __syncthreads();
        const int stop = min(64, K - k0);
        for (int k = 0; k < stop; k++) {
            const int at = (k0 + k) * N + c;
            float4 b;
            if (at % 4 == 0 && c + 3 < N) {
                b = *reinterpret_cast<const float4*>(&B[at]);
            } else {
                b.x = c < N ? B[at] : 0.0f;
                b.y = c + 1 < N ? B[at + 1] : 0.0f;
                b.z = c + 2 < N ? B[at + 2] : 0.0f;
                b.w = c + 3 < N ? B[at + 3] : 0.0f;
            }
            step(acc, row_of_a[k], b);
        }
        __syncthreads();
    }
    if (c < N) C[row * N + c] = acc.x;
    if (c + 1 < N) C[row * N + c + 1] = acc.y;
    if (c + 2 < N) C[row * N + c + 2] = acc.z;
    if (c + 3 < N) C[row * N + c + 3] = acc.w;
}

void launch(const float* A, const float* B, float* C, int M, int K, int N) {
    const int quads = (N + 3) / 4;
    dim3 grid((quads + 31) / 32, M);
    gemm_columns<<<grid, 32>>>(A, B, C, M, K, N);
}
