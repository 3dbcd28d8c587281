"""Kernels of the proof tests, right and wrong."""

GUARDED = """__global__ void silu(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = v / (1.0f + expf(-v));
    }
}

void launch(const float* x, float* y, int n) {
    const int threads = 256;
    dim3 grid((n + threads - 1) / threads);
    dim3 block(threads);
    silu<<<grid, block>>>(x, y, n);
}
"""

EARLY_RETURN = """__global__ void relu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

void launch(const float* x, float* y, int n) {
    relu<<<(n + 127) / 128, 128>>>(x, y, n);
}
"""

GRID_STRIDE = """__global__ void gelu_tanh(const float* __restrict__ x, float* __restrict__ y, int n) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978846f * (v + 0.044715f * v * v * v)));
    }
}

void launch(const float* x, float* y, int n) {
    gelu_tanh<<<16, 256>>>(x, y, n);
}
"""

FLOAT4 = """__global__ void add(const float* x, const float* z, float* __restrict__ y, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        float4 a = *reinterpret_cast<const float4*>(x + i);
        float4 b = *reinterpret_cast<const float4*>(z + i);
        float4 r;
        r.x = a.x + b.x;
        r.y = a.y + b.y;
        r.z = a.z + b.z;
        r.w = a.w + b.w;
        *reinterpret_cast<float4*>(y + i) = r;
    } else {
        for (int j = i; j < n; ++j) {
            y[j] = x[j] + z[j];
        }
    }
}

void launch(const float* x, const float* z, float* y, int n) {
    add<<<(n + 1023) / 1024, 256>>>(x, z, y, n);
}
"""

TWO_D = """__global__ void scale(const float* __restrict__ x, float* __restrict__ y, int width, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int i = row * width + column;
    if (column < width && i < n) {
        y[i] = x[i] * 0.5f;
    }
}

void launch(const float* x, float* y, int n) {
    const int width = 128;
    const int rows = (n + width - 1) / width;
    dim3 block(32, 8);
    dim3 grid((width + 31) / 32, (rows + 7) / 8);
    scale<<<grid, block>>>(x, y, width, n);
}
"""

GEMV = """__global__ void gemv(const float* A, const float* x, float* y, int M, int N) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M) {
        float sum = 0.0f;
        for (int k = 0; k < N; ++k) {
            sum += A[row * N + k] * x[k];
        }
        y[row] = sum;
    }
}

void launch(const float* A, const float* x, float* y, int M, int N) {
    gemv<<<(M + 63) / 64, 64>>>(A, x, y, M, N);
}
"""

BARRIER = """__global__ void relu(const float* x, float* y, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = fmaxf(tile[threadIdx.x], 0.0f);
}

void launch(const float* x, float* y, int n) {
    relu<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""

NEIGHBOUR = """__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float other = x[n - 1 - i];
        float v = x[i];
        y[i] = 0.5f * v + 0.0f * other;
    }
}

void launch(const float* x, float* y, int n) {
    scale<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""
"""Right with its buffers apart; in place a thread reads what another overwrites."""

TREE = """__global__ void gemv(const float* A, const float* x, float* y, int M, int N) {
    __shared__ float part[32];
    int row = blockIdx.x;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < N; k += blockDim.x) {
        sum += A[row * N + k] * x[k];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) {
            part[threadIdx.x] += part[threadIdx.x + s];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[row] = part[0];
    }
}

void launch(const float* A, const float* x, float* y, int M, int N) {
    gemv<<<M, 32>>>(A, x, y, M, N);
}
"""

TILES = """__global__ void gemm(const float* A, const float* B, float* C, int M, int K, int N) {
    __shared__ float left[16][16];
    __shared__ float right[16][16];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int col = blockIdx.x * 16 + tx;
    int row = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        left[ty][tx] = A[row * K + k0 + tx];
        right[ty][tx] = B[(k0 + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            sum += left[ty][k] * right[k][tx];
        }
        __syncthreads();
    }
    C[row * N + col] = sum;
}

void launch(const float* A, const float* B, float* C, int M, int K, int N) {
    dim3 block(16, 16);
    dim3 grid(N / 16, M / 16);
    gemm<<<grid, block>>>(A, B, C, M, K, N);
}
"""

WARP = """__global__ void gemv(const float* A, const float* x, float* y, int M, int N) {
    float sum = A[blockIdx.x * N + threadIdx.x] * x[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}

void launch(const float* A, const float* x, float* y, int M, int N) {
    gemv<<<M, 32>>>(A, x, y, M, N);
}
"""
