#include "estimator/library/workspace/formula.h"

#include <algorithm>

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

// cuDNN cuts the batch so that no tensor has more than this many elements.
constexpr int64_t kLargestTensor = (int64_t{1} << 31) - 1;

int64_t up(int64_t a, int64_t b) { return ceil_divide(a, b) * b; }

// Tables of gather indices for an image of `pixels`.
int64_t indices(int64_t pixels) { return 128 * ((6 * pixels + 4) / 128 + 1); }

// Rows of the output tile that TILE_SIZE 0, 1, 2 stand for; 0: unknown.
int64_t tile_rows(int tile) { return tile < 0 || tile > 2 ? 0 : 128 >> tile; }

// F(2x2, 3x3): transformed filter, a copy of the filter, and one row.
int64_t winograd(int64_t a, int64_t b) { return 4 * (16 * up(a, 8) * up(b, 32) + 9 * a * b + b); }

int64_t batch_at_once(const WorkspaceShape& v) {
  const int64_t image = std::max(v.c * v.h * v.w, v.k * v.p * v.q);
  return std::max<int64_t>(1, std::min(v.n, kLargestTensor / image));
}

class PlainFormula {
 public:
  PlainFormula(const WorkspaceShape& shape, int engine, int tile)
      : v_(shape),
        engine_(engine),
        tile_(tile_rows(tile)),
        n_(batch_at_once(shape)),
        cg_(shape.c / shape.groups),
        kg_(shape.k / shape.groups),
        at_once_(std::min<int64_t>(shape.groups, 8)),
        x_(4 * n_ * v_.c * v_.h * v_.w),
        y_(4 * n_ * v_.k * v_.p * v_.q),
        w_(4 * v_.k * cg_ * v_.r * v_.s) {}

  std::optional<int64_t> forward() const {
    switch (engine_) {
      case 0:
      case 28:
        return 0;
      case 70:  // Hopper; grouped ones copy in a way not understood
        return v_.groups == 1 ? std::optional<int64_t>(0) : std::nullopt;
      case 1:
        return each_group(4 * cg_ * v_.r * v_.s);
      case 2: {  // im2col of the batch
        const int64_t columns = 4 * n_ * cg_ * v_.r * v_.s * v_.p * v_.q;
        return v_.groups == 1 ? columns : std::min<int64_t>(v_.groups, 4) * up(columns, 16);
      }
      case 12:
        return with_copies(winograd(cg_, kg_));
      case 30:
        return with_copies(indices(v_.p * v_.q));
      case 31:
        return with_layouts(indices(v_.p * v_.q));
      case 34:
        return each_group(indices(v_.p * v_.q));
      case 42:
        if (tile_ == 0) return std::nullopt;
        return with_copies(2303 + 4 * ceil_divide(n_ * v_.p * v_.q, 128) * ceil_divide(kg_, tile_) +
                           indices(v_.p * v_.q));
      default:
        return std::nullopt;
    }
  }

  std::optional<int64_t> data() const {
    switch (engine_) {
      case 0:
      case 1:
      case 2:
      case 25:
        return 0;
      case 74:
        return v_.groups == 1 ? std::optional<int64_t>(0) : std::nullopt;
      case 3:  // depthwise
        return at_once_ * up(4 * v_.h * v_.w, 16) * (v_.r * v_.s >= 49 ? 2 : 1);
      case 8:
      case 26:
        return with_copies(2176 + indices(v_.h * v_.w));
      case 9:
        return with_layouts(2176 + indices(v_.h * v_.w));
      case 19:
        return with_copies(winograd(kg_, cg_));
      default:
        return std::nullopt;
    }
  }

  std::optional<int64_t> weights() const {
    const int64_t columns = cg_ * v_.r * v_.s;
    switch (engine_) {
      case 0:
      case 20:
        return 0;
      case 1:
        return each_group(8 * ceil_divide(columns, 32) * ceil_divide(kg_, 32));
      case 21:
      case 41: {
        if (tile_ == 0) return std::nullopt;
        const int64_t rows = v_.p * (v_.r * v_.s + 1);
        return with_copies(2303 +
                           4 * v_.r * v_.s * ceil_divide(columns, 128) * ceil_divide(kg_, tile_) +
                           8 * ceil_divide(rows, 2) + 4 * (rows / 2));
      }
      default:
        return std::nullopt;
    }
  }

 private:
  int64_t each_group(int64_t bytes) const {
    return v_.groups == 1 ? bytes : at_once_ * up(bytes, 16);
  }
  // Grouped engines work on copies of up to 8 groups, unless one image needs none.
  int64_t with_copies(int64_t bytes) const {
    if (v_.groups == 1) return bytes;
    if (v_.n == 1) return at_once_ * up(bytes, 16);
    return at_once_ * (x_ / v_.groups + y_ / v_.groups + up(bytes, 16) + 16);
  }
  // Engines of 7.x that copy x, y and w to NHWC, where that differs.
  int64_t with_layouts(int64_t bytes) const {
    const bool pointwise = v_.r * v_.s == 1;
    if (v_.groups > 1) {
      return at_once_ * (x_ / v_.groups + y_ / v_.groups + (pointwise ? 0 : w_ / v_.groups) +
                         up(bytes, 16) + 16);
    }
    const int64_t x = v_.h * v_.w == 1 || v_.c == 1 ? 0 : up(x_, 16);
    const int64_t y = v_.p * v_.q == 1 || v_.k == 1 ? 0 : up(y_, 16);
    return x + y + (pointwise || cg_ == 1 ? 0 : w_) + bytes + (x > 0 || y > 0 ? 16 : 0);
  }

  const WorkspaceShape& v_;
  int engine_;
  int64_t tile_, n_, cg_, kg_, at_once_, x_, y_, w_;
};

}  // namespace

std::optional<WorkspaceShape> conv_shape(const ConvProblem<int64_t>& problem) {
  if (problem.in[0] != 1 || problem.filter[0] != 1 || problem.out[0] != 1) return std::nullopt;
  const WorkspaceShape v{.n = problem.n,
                         .c = problem.c,
                         .h = problem.in[1],
                         .w = problem.in[2],
                         .k = problem.k,
                         .r = problem.filter[1],
                         .s = problem.filter[2],
                         .pad_h = problem.pad[1],
                         .pad_w = problem.pad[2],
                         .stride_h = problem.stride[1],
                         .stride_w = problem.stride[2],
                         .dil_h = problem.dilation[1],
                         .dil_w = problem.dilation[2],
                         .groups = problem.groups,
                         .p = problem.out[1],
                         .q = problem.out[2]};
  for (const int64_t number : {v.n, v.c, v.h, v.w, v.k, v.r, v.s, v.stride_h, v.stride_w, v.dil_h,
                               v.dil_w, v.groups, v.p, v.q}) {
    if (number < 1 || number > kLargestTensor) return std::nullopt;
  }
  if (v.c % v.groups != 0 || v.k % v.groups != 0) return std::nullopt;
  // The largest products that the formulas form, with room for their factors.
  const auto real = [](int64_t value) { return static_cast<double>(value); };
  const double filter = real(v.c) * real(v.r) * real(v.s);
  const double output = real(v.n) * real(v.p) * real(v.q);
  const double most = 1e16;
  if (filter * output > most || filter * real(v.k) > most || output * real(v.k) > most ||
      real(v.n) * real(v.c) * real(v.h) * real(v.w) > most ||
      real(v.c) * real(v.k) * real(v.p) > most) {
    return std::nullopt;
  }
  return v;
}

LayoutCopies layout_copies(const WorkspaceShape& v, DType dtype) {
  const int64_t size = bits(dtype) / 8;
  const int64_t n = batch_at_once(v);
  const int64_t cg = up(v.c / v.groups, 16 / size);
  const int64_t kg = up(v.k / v.groups, 16 / size);
  return {.x = size * n * cg * v.groups * v.h * v.w,
          .y = size * n * kg * v.groups * v.p * v.q,
          .w = size * kg * v.groups * cg * v.r * v.s};
}

std::optional<int64_t> workspace_bytes(const PlanForm& form, Pass pass, const WorkspaceShape& shape,
                                       DType dtype) {
  if (form.tensor_core) {
    const LayoutCopies copies = layout_copies(shape, dtype);
    const int64_t single = 4 * (copies.w / (bits(dtype) / 8));
    const int64_t bytes = form.extra + form.filters * single + (form.parts & 1 ? copies.x : 0) +
                          (form.parts & 2 ? copies.y : 0) + (form.parts & 4 ? copies.w : 0);
    return std::max<int64_t>(0, bytes);
  }
  const PlainFormula formula(shape, form.engine, form.tile);
  switch (pass) {
    case Pass::kForward:
      return formula.forward();
    case Pass::kBackwardData:
      return formula.data();
    case Pass::kBackwardWeights:
      return formula.weights();
    case Pass::kBackward:
      return std::nullopt;
  }
  return std::nullopt;
}

const char* algorithm_name(const PlanForm& form, Pass pass) {
  if (form.tensor_core) return "tensor_core";
  const int e = form.engine;
  if (pass == Pass::kForward) {
    if (e == 12) return "winograd";
    if (e == 2) return "gemm";
    if (e == 42) return "split_k";
    return e == 0 || e == 28 || e == 70 ? "implicit_gemm" : "implicit_precomp_gemm";
  }
  if (pass == Pass::kBackwardData) {
    if (e == 19) return "winograd";
    return e == 8 || e == 9 || e == 26 ? "implicit_precomp_gemm" : "implicit_gemm";
  }
  if (e == 21 || e == 41 || e == 61 || e == 67) return "split_k";
  return e == 1 ? "implicit_precomp_gemm" : "implicit_gemm";
}

}  // namespace plimsoll
