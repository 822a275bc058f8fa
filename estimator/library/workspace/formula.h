// workspace_formula: bytes of scratch memory that one cuDNN convolution engine needs, exactly, from
// the engine, its tile and the problem. Which engine runs is another question (choice.h).
//
// Source: asked of cuDNN 9.8 to 9.19 itself for described GPUs; the bytes of one (engine, knobs)
// never differed between versions. Equal to the byte for every plan without tensor cores that 9.10
// lists for 66,336 problems: compute capability 5.2-6.1 588,007 of 588,007 plans, 7.0 473,713 of
// 473,713, 7.5 all but a few grouped ones.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/base/dtype.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

// A 2-D convolution with symmetric padding, as cuDNN's front page draws it: x [n,c,h,w], filter
// [k,c/groups,r,s], y [n,k,p,q].
struct WorkspaceShape {
  int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  int64_t pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dil_h = 1, dil_w = 1, groups = 1;
  int64_t p = 1, q = 1;
  bool operator==(const WorkspaceShape&) const = default;
};

// Nothing for 3-D problems, for numbers below 1, for groups that do not divide the channels, and
// for problems so large that bytes could leave 64 bits. 1-D problems have height 1.
std::optional<WorkspaceShape> conv_shape(const ConvProblem<int64_t>& problem);

// One way to run a convolution. `parts`, `filters` and `extra` are for tensor-core engines: they
// copy x (1), y (2), w (4) to a layout with padded channels, keep `filters` partial sums of a
// filter in single precision, and need `extra` bytes more.
struct PlanForm {
  int engine = -1;
  int tile = -1;  // TILE_SIZE knob, -1 where the engine has none
  bool tensor_core = false;
  int parts = 0;
  int64_t extra = 0, filters = 0;
  bool operator==(const PlanForm&) const = default;
};

// Nothing where no formula is known for the engine.
std::optional<int64_t> workspace_bytes(const PlanForm& form, Pass pass, const WorkspaceShape& shape,
                                       DType dtype);

// Copies of x, y and w with channels per group padded to 16 bytes.
struct LayoutCopies {
  int64_t x = 0, y = 0, w = 0;
};
LayoutCopies layout_copies(const WorkspaceShape& shape, DType dtype);

// "winograd", "implicit_gemm", "implicit_precomp_gemm", "gemm" (im2col), "split_k", "tensor_core".
const char* algorithm_name(const PlanForm& form, Pass pass);

}  // namespace plimsoll
