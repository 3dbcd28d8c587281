// A row offset computed in 32 bits on a large tensor.
// task: halves.json
// size: rows=70000 d=16384

__global__ void halves(const float* x, float* y, int d) {
    int row = blockIdx.x;
    for (int i = threadIdx.x; i < d; i += 128) {
        y[(long long)row * d + i] = x[row * 2 * d + i] + x[row * 2 * d + d + i];  // <- INT OVERFLOW
    }
}

void launch(const float* x, float* y, int rows, int d) {
    halves<<<rows, 128>>>(x, y, d);
}
