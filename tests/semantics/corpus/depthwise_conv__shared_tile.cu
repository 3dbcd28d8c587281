// A 3x3 window from a tile with a halo in shared memory; sizes of the window are template parameters.
template <int TILE, int K>
__global__ void depthwise_tile(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                               float* __restrict__ y, int c, int H, int pad) {
    constexpr int HALO = TILE + K - 1;
    __shared__ float tile[HALO][HALO];
    const int out = H + 2 * pad - K + 1;
    const int plane = blockIdx.z, channel = plane % c;
    const int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
    for (int i = threadIdx.y * TILE + threadIdx.x; i < HALO * HALO; i += TILE * TILE) {
        const int iy = y0 + i / HALO - pad, ix = x0 + i % HALO - pad;
        const bool inside = iy >= 0 && iy < H && ix >= 0 && ix < H;
        tile[i / HALO][i % HALO] = inside ? x[(plane * H + iy) * H + ix] : 0.0f;
    }
    float w[K][K];
    #pragma unroll
    for (int ky = 0; ky < K; ++ky)
        for (int kx = 0; kx < K; ++kx) w[ky][kx] = weight[(channel * K + ky) * K + kx];
    __syncthreads();
    const int ox = x0 + threadIdx.x, oy = y0 + threadIdx.y;
    if (ox >= out || oy >= out) return;
    float acc = bias[channel];
    #pragma unroll
    for (int ky = 0; ky < K; ++ky)
        for (int kx = 0; kx < K; ++kx) acc += w[ky][kx] * tile[threadIdx.y + ky][threadIdx.x + kx];
    y[(plane * out + oy) * out + ox] = acc;
}

void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int c, int H, int k, int pad) {
    const int out = H + 2 * pad - k + 1;
    dim3 block(8, 8);
    dim3 grid((out + 7) / 8, (out + 7) / 8, batch * c);
    depthwise_tile<8, 3><<<grid, block>>>(x, weight, bias, y, c, H, pad);
}
