// The exact form with erf.
#include <cuda_runtime.h>
#include <math.h>

__global__ void gelu_erf(const float* __restrict__ x, float* __restrict__ y, int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = x[i];
        y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
    }
}

void launch(const float* x, float* y, int n) {
    gelu_erf<<<(n + 255) / 256, 256>>>(x, y, n);
}
