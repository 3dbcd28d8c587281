// One thread an output element, padding as a guarded read.
__global__ void depthwise(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                          float* __restrict__ y, int c, int H, int k, int pad) {
    const int out = H + 2 * pad - k + 1;
    const int ox = blockIdx.x * blockDim.x + threadIdx.x;
    const int oy = blockIdx.y * blockDim.y + threadIdx.y;
    const int plane = blockIdx.z;
    if (ox < out && oy < out) {
        const int channel = plane % c;
        float acc = 0.0f;
        for (int ky = 0; ky < k; ++ky)
            for (int kx = 0; kx < k; ++kx) {
                int iy = oy - pad + ky, ix = ox - pad + kx;
                float v = iy >= 0 && iy < H && ix >= 0 && ix < H ? x[(plane * H + iy) * H + ix] : 0.0f;
                acc += v * weight[(channel * k + ky) * k + kx];
            }
        y[(plane * out + oy) * out + ox] = acc + bias[channel];
    }
}

void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int c, int H, int k, int pad) {
    const int out = H + 2 * pad - k + 1;
    dim3 block(16, 8);
    dim3 grid((out + 15) / 16, (out + 7) / 8, batch * c);
    depthwise<<<grid, block>>>(x, weight, bias, y, c, H, k, pad);
}
