// Kernel: one launch of device work, described without a device: what is computed (problem), how
// many operations and how many bytes. KernelOf<Dim> is symbolic; KernelOf<int64_t> is the same at a
// point, which is what kernel_time() prices, what `plimsoll-calibrate` runs and what a measured run
// of kind "kernel" names.
//
// Conventions. flop counts a multiply-add as two and counts the mathematics: a direct convolution,
// whatever algorithm will run. read and written are compulsory traffic: every operand once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "graph/base/dtype.h"
#include "graph/symbol/dim.h"

namespace plimsoll {

enum class KernelClass : uint8_t {
  kGemm,
  kConv,
  kPointwise,
  kReduce,
  kNorm,     // batch, layer, group, instance normalisation
  kSoftmax,  // and log-softmax
  kPool,
  kGather,   // and embedding look-up
  kScatter,  // and embedding gradient
  kCopy,     // contiguous copies, concatenation, fills, casts
  kRecurrent,
  kAttention,
  kUpdate,  // optimizer
  kCollective,
};
inline constexpr int kKernelClassCount = 14;
std::string_view name(KernelClass kernel_class);

enum class Pass : uint8_t { kForward, kBackwardData, kBackwardWeights, kBackward };
std::string_view name(Pass pass);

// C[m,n] = A[m,k] B[k,n], `batch` times, row-major: A is [m,k], or stored as [k,m] where a_t.
// n is the fast axis of C. `accumulate`: C is read too (beta != 0, or a bias epilogue).
template <class Count>
struct GemmProblem {
  Count m{1}, n{1}, k{1}, batch{1};
  bool a_t = false, b_t = false, accumulate = false;
  bool operator==(const GemmProblem&) const = default;
};

// x is [n, c, in...], the filter [k, c/groups, filter...], y [n, k, out...], spatial extents as
// {depth, height, width} with 1 where a convolution has fewer. Each pass of one convolution has the
// same problem. `transposed`: a ConvTranspose, described as the convolution whose data gradient it
// is, with forward and backward_data already swapped by whoever made the kernel.
template <class Count>
struct ConvProblem {
  Count n{1}, c{1}, k{1}, groups{1};
  std::array<Count, 3> in{1, 1, 1}, out{1, 1, 1}, filter{1, 1, 1};
  std::array<Count, 3> pad{0, 0, 0};  // begin side; the end side follows from `out`
  std::array<int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1};
  bool channels_last = false;
  bool operator==(const ConvProblem&) const = default;
};

// x is [n, c, in...], y [n, c, out...], extents as a convolution has them. Both passes of one pool
// have the same problem; the kernel's op says whether the largest or the mean is taken.
template <class Count>
struct PoolProblem {
  Count n{1}, c{1};
  std::array<Count, 3> in{1, 1, 1}, out{1, 1, 1}, window{1, 1, 1};
  std::array<Count, 3> pad{0, 0, 0};  // begin side; the end side follows from `out`
  std::array<int64_t, 3> stride{1, 1, 1};
  bool channels_last = false;
  bool counts_padding = false;  // a mean is of the window's elements, those around x too
  bool operator==(const PoolProblem&) const = default;
};

enum class Cell : uint8_t { kRnnTanh, kRnnRelu, kGru, kLstm };
// How a cell that is no library's multiplies: input and state joined, or each by itself.
enum class CellForm : uint8_t { kJoined, kApart };
// A stack of recurrent layers; one library call runs them unless it is unrolled.
template <class Count>
struct RecurrentProblem {
  Cell cell = Cell::kLstm;
  Count input{1}, hidden{1}, batch{1}, timesteps{1};
  int64_t layers = 1, directions = 1;
  bool skip_input = false;             // no input GEMM: the layer's input is added as it is
  std::optional<CellForm> unrolled{};  // no library call: every time step's operators are launched
  bool operator==(const RecurrentProblem&) const = default;
};

// kMath does not appear: it is decomposed into GEMM and softmax kernels.
enum class AttentionForm : uint8_t { kFlash, kMemoryEfficient, kLibrary };
// "flash", "memory_efficient", "library": as measured runs call them.
std::string_view name(AttentionForm form);
std::optional<AttentionForm> attention_form_from_name(std::string_view name);
template <class Count>
struct AttentionProblem {
  AttentionForm form = AttentionForm::kMemoryEfficient;
  Count batch{1}, heads{1}, kv_heads{1}, queries{1}, keys{1}, head_size{1}, value_size{1};
  bool causal = false, masked = false, dropout = false;
  bool operator==(const AttentionProblem&) const = default;
};

// Everything else: `rows` independent groups of `columns` (a softmax's rows, a norm's groups, the
// planes of a pool whose windows are not told), or rows = 1 for plain element-wise work.
template <class Count>
struct RowsProblem {
  Count rows{1}, columns{1};
  bool operator==(const RowsProblem&) const = default;
};

template <class Count>
using ProblemOf =
    std::variant<RowsProblem<Count>, GemmProblem<Count>, ConvProblem<Count>, PoolProblem<Count>,
                 RecurrentProblem<Count>, AttentionProblem<Count>>;

template <class Count>
struct KernelOf {
  KernelClass kernel_class = KernelClass::kPointwise;
  Pass pass = Pass::kForward;
  DType dtype = DType::kFloat32;  // of the operands
  bool tensor_core = false;       // tf32, or 16-bit with tensor cores: the recipe allows them
  std::string op;                 // "batch_norm", "max_pool", "relu": selects a traffic multiplier
  Count flop{0};
  Count read{0}, written{0};  // bytes
  // The turns of a loop, each a launch of its own: the problem is one turn's, what is above it all
  // turns'.
  Count turns{1};
  ProblemOf<Count> problem{};
  bool operator==(const KernelOf&) const = default;
};

using Kernel = KernelOf<Dim>;
using KernelAt = KernelOf<int64_t>;

// For tables of kernels: of op, class, pass and the counts' coefficients.
size_t hash_of(const Kernel& kernel);

// Makes of a launch for all that `symbol` counts one for each: of what a turn has no part of, that
// is the same. A sum over turns is carried from one to the next.
void take_turns(Kernel& kernel, const std::string& symbol);

// The kernel at a point: `at` gives each count of it, in its final place, the value of a Dim.
void bind_into(KernelAt& bound, const Kernel& kernel,
               const std::function<void(int64_t& value, const Dim& count)>& at);

}  // namespace plimsoll
