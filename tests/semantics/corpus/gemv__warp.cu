// A warp a row, shuffle down, lane 0 stores; x cached in shared memory by chunks.
#define CHUNK 256

__global__ void gemv_warp(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y, int M, int N) {
    __shared__ float cache[CHUNK];
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    float acc = 0.0f;
    for (int start = 0; start < N; start += CHUNK) {
        for (int j = threadIdx.x; j < CHUNK; j += blockDim.x) cache[j] = start + j < N ? x[start + j] : 0.0f;
        __syncthreads();
        const int stop = min(CHUNK, N - start);
        if (row < M) {
            for (int j = lane; j < stop; j += 32) acc += A[row * N + start + j] * cache[j];
        }
        __syncthreads();
    }
    for (int d = 16; d > 0; d >>= 1) acc += __shfl_down_sync(0xffffffff, acc, d);
    if (lane == 0 && row < M) y[row] = acc;
}

void launch(const float* A, const float* x, float* y, int M, int N) {
    const int threads = 128;
    const int rows = threads / 32;
    gemv_warp<<<(M + rows - 1) / rows, threads>>>(A, x, y, M, N);
}
