// The correct twin of: a loop whose step becomes zero for short rows.
// task: row_sum.json
// size: rows=2 n=200

__global__ void row_sum(const float* x, float* y, int n) {
    int step = (n + 63) / 64;
    float sum = 0.0f;
    for (int start = 0; start < n; start += step) {
        int end = min(n, start + step);
        for (int i = start; i < end; i++) sum += x[blockIdx.x * n + i];
    }
    y[blockIdx.x] = sum;
}

void launch(const float* x, float* y, int rows, int n) {
    row_sum<<<rows, 1>>>(x, y, n);
}
