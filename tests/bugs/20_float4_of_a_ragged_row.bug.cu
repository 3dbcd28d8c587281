// A float4 access of a row whose start is not a multiple of four elements.
// task: half_rows.json
// size: rows=3 n=130

__global__ void half_rows(const float* x, float* y, int n) {
    const float* row = x + blockIdx.x * n;
    float* out = y + blockIdx.x * n;
    int wide = n / 4;
    for (int i = threadIdx.x; i < wide; i += 64) {
        float4 v = reinterpret_cast<const float4*>(row)[i];  // <- MISALIGNED
        out[4 * i] = 0.5f * v.x;
        out[4 * i + 1] = 0.5f * v.y;
        out[4 * i + 2] = 0.5f * v.z;
        out[4 * i + 3] = 0.5f * v.w;
    }
    for (int i = 4 * wide + threadIdx.x; i < n; i += 64) out[i] = 0.5f * row[i];
}

void launch(const float* x, float* y, int rows, int n) {
    half_rows<<<rows, 64>>>(x, y, n);
}
