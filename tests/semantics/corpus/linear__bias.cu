// x times the transposed weight plus bias, a 3-D block with one layer.
__global__ void linear_bias(const float* x, const float* weight, const float* bias, float* y, int batch, int hin, int hout) {
    int o = blockIdx.x * blockDim.x + threadIdx.x;
    int s = blockIdx.y * blockDim.y + threadIdx.y + threadIdx.z;
    if (o >= hout || s >= batch) return;
    float acc = bias[o];
    for (int k = 0; k < hin; k++) acc += x[s * hin + k] * weight[o * hin + k];
    y[s * hout + o] = acc;
}

void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int hin, int hout) {
    dim3 block(32, 4, 1);
    dim3 grid((hout + 31) / 32, (batch + 3) / 4, 1);
    linear_bias<<<grid, block>>>(x, weight, bias, y, batch, hin, hout);
}
