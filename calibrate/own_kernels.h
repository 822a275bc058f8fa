// own_kernels: the few kernels of our own, in CUDA C++, compiled on the machine that runs them.
#pragma once

namespace plimsoll::calibrate {

// fill: random words, whose bits outside `mask` are those of `base`: numbers between 0.5 and 1 of
//   either sign, of whatever type.
// move: reads and writes so many words of 16 bytes each, as element-wise work does.
// gather: a row of a table for each index, as an embedding's look-up does, in words of 16 bytes or
//   of 2: random rows of a table that has as many.
// wait: holds the stream for so many nanoseconds, while the host queues what is to be timed.
// nothing: what a launch takes.
inline constexpr const char* kOwnKernels = R"(
extern "C" __global__ void fill(unsigned long long* words, long long count,
                                unsigned long long mask, unsigned long long base) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    unsigned long long x = i * 0x9e3779b97f4a7c15ULL + 0x632be59bd9b4e019ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    words[i] = ((x ^ (x >> 31)) & mask) | base;
  }
}

extern "C" __global__ void move(const uint4* in, long long read, uint4* out, long long written) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  const long long count = read > written ? read : written;
  uint4 sum = make_uint4(1, 2, 3, 4);
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (i < read) {
      const uint4 x = in[i];
      sum.x += x.x; sum.y += x.y; sum.z += x.z; sum.w += x.w;
    }
    if (i < written) out[i] = sum;
  }
  // Or nothing would be read where nothing is written.
  if (sum.x == 0x9e3779b9u && sum.y == 0x7f4a7c15u) out[0] = sum;
}

template <class Word>
__device__ void gather_rows(const unsigned long long* indices, long long rows, const Word* table,
                            Word* out, long long width) {
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const long long from = (long long)(indices[row] % (unsigned long long)rows) * width;
    for (long long i = threadIdx.x; i < width; i += blockDim.x)
      out[row * width + i] = table[from + i];
  }
}
extern "C" __global__ void gather(const unsigned long long* indices, long long rows,
                                  const uint4* table, uint4* out, long long width) {
  gather_rows(indices, rows, table, out, width);
}
extern "C" __global__ void gather_narrow(const unsigned long long* indices, long long rows,
                                         const unsigned short* table, unsigned short* out,
                                         long long width) {
  gather_rows(indices, rows, table, out, width);
}

extern "C" __global__ void wait(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

extern "C" __global__ void nothing() {}
)";

}  // namespace plimsoll::calibrate
