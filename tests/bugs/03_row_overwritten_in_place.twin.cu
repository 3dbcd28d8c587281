// The correct twin of: one thread reads the first element of a row in global memory while another overwrites it in place.
// task: from_first.json
// size: rows=3 n=200

__global__ void copy(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += 64) y[blockIdx.x * n + i] = x[blockIdx.x * n + i];
}

__global__ void from_first(float* y, int n) {
    float* row = y + blockIdx.x * n;
    float first = row[0];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 64) {
        row[i] = row[i] - first;
    }
}

void launch(const float* x, float* y, int rows, int n) {
    copy<<<rows, 64>>>(x, y, n);
    from_first<<<rows, 64>>>(y, n);
}
