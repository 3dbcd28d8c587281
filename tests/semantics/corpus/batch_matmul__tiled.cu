// The batch on the third axis of the grid, tiles in one dynamic buffer carved in two.
#define T 8

__global__ void bmm_tiled(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K, int N) {
    extern __shared__ float buffer[];
    float* As = buffer;
    float* Bs = buffer + T * T;
    const float* a = A + blockIdx.z * M * K;
    const float* b = B + blockIdx.z * K * N;
    float* c = C + blockIdx.z * M * N;
    const int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float acc = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[threadIdx.y * T + threadIdx.x] = row < M && k0 + (int)threadIdx.x < K ? a[row * K + k0 + threadIdx.x] : 0.0f;
        Bs[threadIdx.y * T + threadIdx.x] = col < N && k0 + (int)threadIdx.y < K ? b[(k0 + threadIdx.y) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k) acc += As[threadIdx.y * T + k] * Bs[k * T + threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) c[row * N + col] = acc;
}

void launch(const float* A, const float* B, float* C, int b, int M, int K, int N) {
    dim3 block(T, T);
    dim3 grid((N + T - 1) / T, (M + T - 1) / T, b);
    bmm_tiled<<<grid, block, 2 * T * T * sizeof(float)>>>(A, B, C, M, K, N);
}
