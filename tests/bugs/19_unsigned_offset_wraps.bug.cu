// An unsigned row offset wraps in 32 bits on a large tensor: legal C, wrong address.
// task: halves.json
// size: rows=140000 d=16384

__global__ void halves(const float* x, float* y, unsigned int d) {
    for (unsigned int i = threadIdx.x; i < d; i += 128) {
        y[(unsigned long long)blockIdx.x * d + i] = x[blockIdx.x * 2 * d + i] + x[blockIdx.x * 2 * d + d + i];  // <- INT OVERFLOW
    }
}

void launch(const float* x, float* y, int rows, int d) {
    halves<<<rows, 128>>>(x, y, d);
}
