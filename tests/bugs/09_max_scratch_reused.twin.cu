// The correct twin of: the scratch of the maximum is reused for the sum while slow warps still read the maximum.
// task: softmax
// size: rows=2 n=400

__global__ void softmax(const float* x, float* y, int n) {
    __shared__ float part[4];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    const float* row = x + blockIdx.x * n;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 128) m = fmaxf(m, row[i]);
    for (int k = 16; k > 0; k /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, k));
    if (lane == 0) part[warp] = m;
    __syncthreads();
    m = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 128) sum += expf(row[i] - m);
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    sum = part[0] + part[1] + part[2] + part[3];
    for (int i = threadIdx.x; i < n; i += 128) y[blockIdx.x * n + i] = expf(row[i] - m) / sum;
}

void launch(const float* x, float* y, int rows, int n) {
    softmax<<<rows, 128>>>(x, y, n);
}
