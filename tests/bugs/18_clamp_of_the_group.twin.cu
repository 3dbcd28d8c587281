// The correct twin of: a clamp applied to the index of a group of four where the index of an element was meant.
// task: scale
// size: n=1001

__global__ void scale(const float* __restrict__ x, float* __restrict__ y, int n) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++) {
        float v = x[min(group * 4 + k, n - 1)];
        if (group * 4 + k < n) y[group * 4 + k] = 0.5f * v;
    }
}

void launch(const float* __restrict__ x, float* __restrict__ y, int n) {
    scale<<<(n + 511) / 512, 128>>>(x, y, n);
}
