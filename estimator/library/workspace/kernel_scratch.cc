#include "estimator/library/workspace/kernel_scratch.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "estimator/library/workspace/attention.h"
#include "estimator/library/workspace/reduction.h"
#include "graph/base/checked.h"

namespace plimsoll {
namespace {

constexpr int64_t kIndex = 8;  // bytes of an index
constexpr int64_t kSum = 4;    // of what sums are taken in, for 16 and 32 bits

using Rows = RowsProblem<int64_t>;

int64_t element_size(const KernelAt& kernel) { return std::max(bits(kernel.dtype), 8) / 8; }

int64_t embedding(const KernelAt& kernel, const Rows& p, bool bags) {
  const int64_t row = p.columns * element_size(kernel);
  if (row < 1) return 0;
  return embedding_backward_scratch(p.rows, kernel.written / row, p.columns, bags);
}

int64_t of_embedding(const KernelAt& kernel, const Rows& p, const Device&) {
  return embedding(kernel, p, false);
}
int64_t of_bags(const KernelAt& kernel, const Rows& p, const Device&) {
  return embedding(kernel, p, true);
}
int64_t of_index_put(const KernelAt&, const Rows& p, const Device&) {
  return p.rows > 1 ? index_put_scratch(p.rows) : 0;
}
int64_t of_sort(const KernelAt& kernel, const Rows& p, const Device&) {
  return sort_scratch(p.rows, p.columns, element_size(kernel));
}
int64_t of_layer_norm(const KernelAt& kernel, const Rows& p, const Device& device) {
  return norm_backward_scratch(p.rows, p.columns, element_size(kernel), 2, device);
}
int64_t of_rms_norm(const KernelAt& kernel, const Rows& p, const Device& device) {
  return norm_backward_scratch(p.rows, p.columns, element_size(kernel), 1, device);
}

// Of an axis that is not the fastest: results lie beside each other, as a matrix's columns.
int64_t of_columns(const KernelAt& kernel, const Rows& p, const Device& device,
                   int64_t accumulator) {
  if (kernel.written < 1) return 0;
  const bool grouped = p.rows > 1;  // else what is written tells
  const int64_t results = grouped ? p.rows : kernel.written * 8 / bits(kernel.dtype);
  const int64_t values = grouped ? p.columns : kernel.read / kernel.written;
  // Where offsets do not fit 32 bits it runs in parts, which 16-bit results cannot add up.
  constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();
  const bool in_parts = kernel.read > kMostBytes && bits(kernel.dtype) < 32;
  return reduction_workspace(values, results, device, accumulator) +
         (in_parts ? results * accumulator : 0);
}
int64_t of_column_sum(const KernelAt& kernel, const Rows& p, const Device& device) {
  return of_columns(kernel, p, device, std::max(kSumAccumulator, element_size(kernel)));
}
int64_t of_column_extremum(const KernelAt& kernel, const Rows& p, const Device& device) {
  return of_columns(kernel, p, device, element_size(kernel));
}
int64_t of_wide_columns(const KernelAt& kernel, const Rows& p, const Device& device) {
  return of_columns(kernel, p, device, kWideAccumulator);
}
// Forward: the result in the products' order, and before its bias is added. Backward: the result's
// gradient in that order.
int64_t of_deform_conv(const KernelAt& kernel, const Rows& p, const Device&) {
  const int64_t columns = deform_conv_columns(p.rows, p.columns * element_size(kernel));
  return columns + (kernel.pass == Pass::kForward ? 2 * kernel.written : kernel.read);
}
int64_t of_foreach_norm(const KernelAt&, const Rows& p, const Device&) {
  return foreach_norm_scratch(p.rows, p.columns);
}

int64_t of_topk(const KernelAt& kernel, const Rows& p, const Device& device) {
  return topk_scratch(p.rows, p.columns, element_size(kernel), device);
}
// Logarithms of the probabilities of the labels' rests, which are as many as of their beginnings.
int64_t of_ctc_loss(const KernelAt&, const Rows& p, const Device&) {
  return p.rows * p.columns * kSum;
}
int64_t of_unique(const KernelAt& kernel, const Rows& p, const Device&) {
  return unique_scratch(p.columns, element_size(kernel), false);
}
int64_t of_unique_inverse(const KernelAt& kernel, const Rows& p, const Device&) {
  return unique_scratch(p.columns, element_size(kernel), true);
}
// cuFFT overwrites the complex input of a real inverse: it is given a copy.
int64_t of_real_inverse(const KernelAt& kernel, const Rows&, const Device&) { return kernel.read; }
int64_t of_nms(const KernelAt&, const Rows& p, const Device&) { return nms_scratch(p.rows); }

enum class When : uint8_t { kForward, kBackward, kAlways };

struct ScratchRow {
  std::string_view op;  // of the kernel; "column_*": all that begin so and have no row above
  When when;
  int64_t (*bytes)(const KernelAt& kernel, const Rows& problem, const Device& device);
  std::string_view source;  // in PyTorch's aten/src/ATen/native, or in torchvision
};

constexpr ScratchRow kRows[] = {
    {"embedding", When::kBackward, of_embedding, "cuda/Embedding.cu, EmbeddingBackwardKernel.cu"},
    {"embedding_bag", When::kBackward, of_bags, "cuda/EmbeddingBag.cu, EmbeddingBackwardKernel.cu"},
    {"index_put", When::kBackward, of_index_put, "cuda/Indexing.cu: index_put_with_sort_kernel"},
    {"index_put_accumulate", When::kAlways, of_index_put,
     "cuda/Indexing.cu: index_put_with_sort_kernel"},
    {"sort", When::kAlways, of_sort, "cuda/Sort.cpp, SortStable.cu"},
    {"unique", When::kAlways, of_unique, "cuda/UniqueCub.cu"},
    {"unique_inverse", When::kAlways, of_unique_inverse, "cuda/UniqueCub.cu"},
    {"layer_norm", When::kBackward, of_layer_norm, "cuda/layer_norm_kernel.cu"},
    {"rms_norm", When::kBackward, of_rms_norm, "cuda/layer_norm_kernel.cu"},
    {"column_var", When::kAlways, of_wide_columns, "cuda/ReduceMomentKernel.cu: WelfordOps"},
    {"column_argmax", When::kAlways, of_wide_columns, "cuda/ReduceArgMaxKernel.cu: ArgMaxOps"},
    {"column_argmin", When::kAlways, of_wide_columns, "cuda/ReduceArgMinKernel.cu: ArgMinOps"},
    {"column_max_position", When::kAlways, of_wide_columns,
     "cuda/ReduceMaxValuesKernel.cu: MaxOps"},
    {"column_max", When::kAlways, of_column_extremum, "cuda/ReduceMaxValuesKernel.cu"},
    {"column_*", When::kAlways, of_column_sum, "cuda/Reduce.cuh: global_memory_size()"},
    {"fft_c2r", When::kAlways, of_real_inverse, "cuda/SpectralOps.cpp: _fft_c2r_cufft()"},
    {"deform_conv", When::kAlways, of_deform_conv,
     "torchvision/csrc/ops/cuda/deform_conv2d_kernel.cu"},
    {"topk", When::kForward, of_topk, "cuda/TensorTopK.cu: mbtopk::launch()"},
    {"ctc_loss", When::kBackward, of_ctc_loss, "cuda/LossCTC.cu: ctc_loss_backward_gpu_template()"},
    {"nms", When::kAlways, of_nms, "torchvision/csrc/ops/cuda/nms_kernel.cu"},
    {"foreach_norm", When::kAlways, of_foreach_norm, "cuda/ForeachReduceOp.cu"},
};

bool runs(const ScratchRow& row, const KernelAt& kernel) {
  const bool forward = kernel.pass == Pass::kForward;
  const bool named = row.op.ends_with('*')
                         ? kernel.op.starts_with(row.op.substr(0, row.op.size() - 1))
                         : kernel.op == row.op;
  return named && (row.when == When::kAlways || forward == (row.when == When::kForward));
}

}  // namespace

int64_t kernel_scratch(const KernelAt& kernel, const Device& device) {
  if (const auto* attention = std::get_if<AttentionProblem<int64_t>>(&kernel.problem))
    return attention_workspace(*attention, kernel.pass, kernel.dtype);
  if (const auto* stack = std::get_if<RecurrentProblem<int64_t>>(&kernel.problem))
    return recurrent_scratch(*stack, element_size(kernel));
  const auto* rows = std::get_if<Rows>(&kernel.problem);
  if (!rows) return 0;
  const auto* row =
      std::ranges::find_if(kRows, [&](const ScratchRow& r) { return runs(r, kernel); });
  return row == std::end(kRows) ? 0 : row->bytes(kernel, *rows, device);
}

// cuda/cub.cuh: DeviceRadixSort without double buffers; its histograms are some kilobytes.
int64_t sort_pairs_scratch(int64_t n, int64_t key_bytes, int64_t value_bytes) {
  return n * (key_bytes + value_bytes);
}

// A range of indices is sorted by the rows that they read; then each run of up to ten equal rows is
// summed, in 32 bits, into a partial sum of its own: room is for as many as there can be.
int64_t embedding_backward_scratch(int64_t n, int64_t touched, int64_t columns, bool bags) {
  constexpr int64_t kFewIndices = 3072;  // are added one by one
  constexpr int64_t kRowsOfPart = 10;    // NROWS_PER_THREAD
  if (n < 1 || (!bags && n <= kFewIndices)) return 0;
  const int64_t sorted = 2 * kIndex * n;  // and where each came from
  const int64_t sorting = sorted + kIndex * n + sort_pairs_scratch(n, kIndex, kIndex);
  const int64_t segments = std::min(n, touched), parts = n / kRowsOfPart + segments;
  const int64_t summing =
      sorted + kIndex * n + 2 * kIndex * segments + kIndex * parts + kSum * parts * columns;
  return std::max(sorting, summing);
}

// Linear indices, sorted, with a range of where they came from, sorted along.
int64_t index_put_scratch(int64_t n) {
  return n < 1 ? 0 : 4 * kIndex * n + sort_pairs_scratch(n, kIndex, kIndex);
}

int64_t sort_scratch(int64_t rows, int64_t columns, int64_t element_bytes) {
  constexpr int64_t kInPlace = 4096;  // should_use_small_sort()
  constexpr int64_t kLong = 1'000'000, kFewRows = 128;
  if (columns <= kInPlace) return 0;
  const int64_t n = rows * columns;
  if (rows == 1 || columns >= kLong)  // one row after the other
    return kIndex * columns + sort_pairs_scratch(columns, element_bytes, kIndex);
  if (rows < kFewRows)  // all of them with the row's number next to each index, before and after
    return 2 * kIndex * n + element_bytes * n + sort_pairs_scratch(n, element_bytes, kIndex);
  return kIndex * n + sort_pairs_scratch(n, element_bytes, kIndex);
}

// LaunchGammaBetaBackwardCUDAKernel().
int64_t norm_backward_scratch(int64_t rows, int64_t columns, int64_t element_bytes, int64_t weights,
                              const Device& device) {
  constexpr int64_t kManyRows = 65536, kTile = 32, kMostParts = 32768;
  if (rows <= kManyRows || columns < 1 || columns / kTile >= device.sms / 2) return 0;
  const int64_t parts =
      std::min(ceil_divide(rows, kTile), kMostParts / ceil_divide(columns, kTile));
  return weights * parts * columns * element_bytes + reduction_workspace(parts, columns, device);
}

// Keys alone are sorted, or pairs of them and a range; what runs on them then takes less.
int64_t unique_scratch(int64_t n, int64_t element_bytes, bool inverse) {
  const int64_t range = inverse ? kIndex : 0;
  return n * (element_bytes + 2 * range) + sort_pairs_scratch(n, element_bytes, range);
}

int64_t deform_conv_columns(int64_t samples, int64_t bytes) {
  constexpr int64_t kMostAtOnce = 32;  // kMaxParallelImgs
  for (int64_t at_once = kMostAtOnce; at_once > 1; --at_once) {
    if (samples % at_once == 0) return at_once * bytes;
  }
  return bytes;
}

int64_t topk_scratch(int64_t rows, int64_t columns, int64_t element_bytes, const Device& device) {
  // should_use_multiblock(): up to so many rows, of at least so many columns.
  struct Shared {
    int64_t rows, columns;
  };
  constexpr Shared kShared[] = {{20, 20000}, {40, 10000}, {80, 8000},      {199, 5000},
                                {799, 3000}, {4000, 800}, {INT64_MAX, 400}};
  constexpr int64_t kThreads = 256, kDigits = 256, kBlocksOfMultiprocessor = 6;
  constexpr int64_t kLeastItems = 4, kMostItems = 64;  // of a thread
  constexpr int64_t kOfRow = 12, kOfBlock = kDigits * 2 + 8;
  const auto* limit =
      std::ranges::find_if(kShared, [&](const Shared& one) { return rows <= one.rows; });
  if (rows < 1 || columns < limit->columns || device.sms < 1) return 0;
  const int64_t threads = device.sms * kBlocksOfMultiprocessor * kThreads;
  const int64_t items = std::clamp(ceil_divide(rows * columns, threads), kLeastItems, kMostItems);
  const int64_t blocks = rows * ceil_divide(columns, items * kThreads);
  return rows * (element_bytes + kOfRow) + blocks * kOfBlock;
}

int64_t nms_scratch(int64_t n) {
  constexpr int64_t kBits = 64;  // of a word
  return n < 1 ? 0 : n * ceil_divide(n, kBits) * (kBits / 8);
}

int64_t recurrent_scratch(const RecurrentProblem<int64_t>& problem, int64_t element_bytes) {
  if (problem.unrolled) return 0;
  const int64_t gates = problem.cell == Cell::kLstm ? 4 : problem.cell == Cell::kGru ? 3 : 1;
  return problem.timesteps * problem.batch * problem.directions * gates * problem.hidden *
         element_bytes;
}

// A number for each chunk of the largest, for every tensor.
int64_t foreach_norm_scratch(int64_t tensors, int64_t largest) {
  constexpr int64_t kChunk = 65536;  // MultiTensorApply.cuh
  return tensors * ceil_divide(std::max<int64_t>(largest, 0), kChunk) * kSum;
}

}  // namespace plimsoll
