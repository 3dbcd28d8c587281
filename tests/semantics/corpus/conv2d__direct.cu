// One thread an output element, padding skipped with continue.
__global__ void conv2d_direct(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                              float* __restrict__ y, int batch, int cin, int cout, int H, int k, int pad) {
    const int out = H + 2 * pad - k + 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * cout * out * out) return;
    const int ox = i % out;
    const int oy = i / out % out;
    const int co = i / (out * out) % cout;
    const int image = i / (out * out * cout);
    float acc = bias[co];
    for (int ci = 0; ci < cin; ++ci) {
        for (int ky = 0; ky < k; ++ky) {
            const int iy = oy + ky - pad;
            if (iy < 0 || iy >= H) continue;
            for (int kx = 0; kx < k; ++kx) {
                const int ix = ox + kx - pad;
                if (ix < 0 || ix >= H) continue;
                acc += x[((image * cin + ci) * H + iy) * H + ix] * weight[((co * cin + ci) * k + ky) * k + kx];
            }
        }
    }
    y[i] = acc;
}

void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int cin, int cout, int H, int k, int pad) {
    const int out = H + 2 * pad - k + 1;
    const int count = batch * cout * out * out;
    conv2d_direct<<<(count + 127) / 128, 128>>>(x, weight, bias, y, batch, cin, cout, H, k, pad);
}
