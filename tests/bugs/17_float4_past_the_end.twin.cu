// The correct twin of: a vectorised loop reads a whole float4 past the end of a ragged array.
// task: scale
// size: n=1001

__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4* wide = reinterpret_cast<const float4*>(x);
    if (4 * i + 3 < n) {
        float4 v = wide[i];
        y[4 * i] = 0.5f * v.x;
        if (4 * i + 1 < n) y[4 * i + 1] = 0.5f * v.y;
        if (4 * i + 2 < n) y[4 * i + 2] = 0.5f * v.z;
        if (4 * i + 3 < n) y[4 * i + 3] = 0.5f * v.w;
    }
    else {
        for (int j = 4 * i; j < n; j++) y[j] = 0.5f * x[j];
    }
}

void launch(const float* x, float* y, int n) {
    scale<<<(n + 511) / 512, 128>>>(x, y, n);
}
