#include "calibrate/cudnn/attention_graph.h"

#include <cmath>
#include <limits>
#include <optional>

namespace plimsoll {

namespace {

class AttentionBuilder : public GraphBuilder {
 public:
  using GraphBuilder::GraphBuilder;

  Value matmul(Value a, Value b, const Sizes& sizes) {
    const Value y = inner(sizes, CUDNN_DATA_FLOAT);
    matmul_into(a, b, y);
    return y;
  }
  void matmul_into(Value a, Value b, Value y) {
    Descriptor& how = part(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_FLOAT})
        .finalize("a product");
    Descriptor& operation = part(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a)
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b)
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *y)
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    finish(operation, "a product");
  }
  Value pointwise(cudnnPointwiseMode_t mode, Value x, Value b, const Sizes& sizes,
                  cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const Value y = inner(sizes, type);
    pointwise_into(mode, x, b, nullptr, y, {});
    return y;
  }
  void pointwise_into(cudnnPointwiseMode_t mode, Value x, Value b, Value selector, Value y,
                      std::optional<int64_t> axis, cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
    Descriptor& how = part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, std::vector{mode})
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, std::vector{compute});
    if (axis) how.set(CUDNN_ATTR_POINTWISE_AXIS, {*axis});
    how.finalize("a pointwise operation");
    Descriptor& operation = part(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y);
    if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    if (selector) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *selector);
    finish(operation, "a pointwise operation");
  }
  Value reduce(cudnnReduceTensorOp_t how_to, Value x, const Sizes& sizes) {
    const Value y = inner(sizes, CUDNN_DATA_FLOAT);
    reduce_into(how_to, x, y);
    return y;
  }
  void reduce_into(cudnnReduceTensorOp_t how_to, Value x, Value y) {
    Descriptor& how = part(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, std::vector{how_to})
        .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_FLOAT})
        .finalize("a reduction");
    Descriptor& operation = part(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *y)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    finish(operation, "a reduction");
  }
  // 1 where a number stays, 0 where it is dropped.
  Value stays(double probability, Value seed, Value offset, const Sizes& sizes) {
    const Value y = inner(sizes, CUDNN_DATA_FLOAT);
    Descriptor& how = part(CUDNN_BACKEND_RNG_DESCRIPTOR);
    how.set(CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION,
            std::vector{CUDNN_RNG_DISTRIBUTION_BERNOULLI})
        .set(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, std::vector{probability})
        .finalize("random numbers");
    Descriptor& operation = part(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RNG_SEED, *seed)
        .set(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, *offset)
        .set(CUDNN_ATTR_OPERATION_RNG_YDESC, *y)
        .set(CUDNN_ATTR_OPERATION_RNG_DESC, how);
    finish(operation, "random numbers");
    return y;
  }
  Value reshape(Value x, const Sizes& sizes) {
    const Value y = inner(sizes, type());
    Descriptor& operation = part(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x)
        .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *y);
    finish(operation, "a transposition");
    return y;
  }
};

using Attention = AttentionProblem<int64_t>;
using Value = AttentionBuilder::Value;
using Sizes = AttentionBuilder::Sizes;

// [batch, heads, tokens, width] in the order in which projections leave it: tokens before heads.
Sizes tokens_of(const Attention& p, int64_t heads, int64_t tokens, int64_t width) {
  return {{p.batch, heads, tokens, width}, {tokens * heads * width, width, heads * width, 1}};
}
Sizes transposed(Sizes sizes) {
  std::swap(sizes.extents[2], sizes.extents[3]);
  std::swap(sizes.strides[2], sizes.strides[3]);
  return sizes;
}
Sizes dense(int64_t b, int64_t h, int64_t rows, int64_t columns) {
  return {{b, h, rows, columns}, {h * rows * columns, rows * columns, columns, 1}};
}

// Any rate takes the same time.
constexpr float kDropout = .1f;
constexpr auto kMultiply = CUDNN_POINTWISE_MUL;

struct Shapes {
  explicit Shapes(const Attention& p)
      : q(tokens_of(p, p.heads, p.queries, p.head_size)),
        k(tokens_of(p, p.kv_heads, p.keys, p.head_size)),
        v(tokens_of(p, p.kv_heads, p.keys, p.value_size)),
        o(tokens_of(p, p.heads, p.queries, p.value_size)),
        scores(dense(p.batch, p.heads, p.queries, p.keys)),
        rows(dense(p.batch, p.heads, p.queries, 1)),
        mask(dense(p.batch, 1, p.queries, p.keys)) {}
  Sizes q, k, v, o, scores, rows, mask;
};

// q k' / sqrt(head size), a mask added, what lies ahead of a token taken out.
Value scores_of(AttentionBuilder& b, const Attention& p, const Shapes& s, Value q, Value kt,
                Value scale) {
  Value scores = b.pointwise(kMultiply, b.matmul(q, kt, s.scores), scale, s.scores);
  if (p.masked) scores = b.pointwise(CUDNN_POINTWISE_ADD, scores, b.operand(s.mask), s.scores);
  if (!p.causal) return scores;
  const Value row = b.inner(s.scores, CUDNN_DATA_INT32);
  b.pointwise_into(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, nullptr, row, 2, CUDNN_DATA_INT32);
  const Value column = b.inner(s.scores, CUDNN_DATA_INT32);
  b.pointwise_into(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, nullptr, column, 3,
                   CUDNN_DATA_INT32);
  const Value seen = b.inner(s.scores, CUDNN_DATA_BOOLEAN);
  b.pointwise_into(CUDNN_POINTWISE_CMP_GE, row, column, nullptr, seen, {}, CUDNN_DATA_BOOLEAN);
  const Value masked = b.inner(s.scores, CUDNN_DATA_FLOAT);
  b.pointwise_into(CUDNN_POINTWISE_BINARY_SELECT, scores,
                   b.scalar(std::numeric_limits<float>::lowest()), seen, masked, {});
  return masked;
}

float scale_of(const Attention& p) { return 1 / std::sqrt(static_cast<float>(p.head_size)); }

Value kept_of(AttentionBuilder& b, const Shapes& s) {
  const Value seed = b.seed(), offset = b.seed();
  return b.stays(1 - kDropout, seed, offset, s.scores);
}

void build_forward(AttentionBuilder& b, const Attention& p) {
  const Shapes s(p);
  const Value q = b.operand(s.q), kt = b.operand(transposed(s.k)), v = b.operand(s.v);
  const Value o = b.operand(s.o), statistics = b.statistics(s.rows);
  const Value scores = scores_of(b, p, s, q, kt, b.scalar(scale_of(p)));
  const Value most = b.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, s.rows);
  const Value less = b.pointwise(CUDNN_POINTWISE_SUB, scores, most, s.scores);
  const Value powers = b.pointwise(CUDNN_POINTWISE_EXP, less, nullptr, s.scores);
  const Value sums = b.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, s.rows);
  const Value logs = b.pointwise(CUDNN_POINTWISE_LOG, sums, nullptr, s.rows);
  b.pointwise_into(CUDNN_POINTWISE_ADD, most, logs, nullptr, statistics, {});
  if (!p.dropout) {
    const Value weights = b.pointwise(CUDNN_POINTWISE_DIV, powers, sums, s.scores, b.type());
    return b.matmul_into(weights, v, o);
  }
  Value weights = b.pointwise(CUDNN_POINTWISE_DIV, powers, sums, s.scores);
  weights = b.pointwise(kMultiply, weights, kept_of(b, s), s.scores);
  weights = b.pointwise(kMultiply, weights, b.scalar(1 / (1 - kDropout)), s.scores, b.type());
  b.matmul_into(weights, v, o);
}

// A gradient of few heads is the sum over the queries' heads that share them.
void gradient_into(AttentionBuilder& b, const Attention& p, Value left, Value right, int64_t width,
                   Value gradient) {
  if (p.heads == p.kv_heads) return b.matmul_into(left, right, gradient);
  const Value all = b.inner(dense(p.batch, p.heads, p.keys, width), b.type());
  b.matmul_into(left, right, all);
  b.reduce_into(CUDNN_REDUCE_TENSOR_ADD, all, gradient);
}

void build_backward(AttentionBuilder& b, const Attention& p) {
  const Shapes s(p);
  const Value q = b.operand(s.q), kt = b.operand(transposed(s.k)), vt = b.operand(transposed(s.v));
  const Value o = b.operand(s.o), d_o = b.operand(s.o), statistics = b.statistics(s.rows);
  const Value dq = b.operand(s.q), dk = b.operand(s.k), dv = b.operand(s.v);
  const Value scale = b.scalar(scale_of(p));
  // Execution refuses a scalar that no operation reads: 1 is one only where nothing is dropped.
  const Value stays = p.dropout ? kept_of(b, s) : b.scalar(1);
  const Sizes wide = transposed(s.scores);
  const Value both = b.pointwise(kMultiply, d_o, o, s.o);
  const Value sums = b.scratch(s.rows);
  b.pointwise_into(kMultiply, b.reduce(CUDNN_REDUCE_TENSOR_ADD, both, s.rows),
                   p.dropout ? b.scalar(1 - kDropout) : stays, nullptr, sums, {});
  const Value scores = scores_of(b, p, s, q, kt, scale);
  const Value less = b.pointwise(CUDNN_POINTWISE_SUB, scores, statistics, s.scores);
  const Value weights = b.pointwise(CUDNN_POINTWISE_EXP, less, nullptr, s.scores);
  const Value kept = p.dropout ? b.scalar(1 / (1 - kDropout)) : nullptr;
  Value used = weights;
  if (kept)
    used = b.pointwise(kMultiply, b.pointwise(kMultiply, used, stays, s.scores), kept, s.scores);
  gradient_into(b, p, b.reshape(used, wide), d_o, p.value_size, dv);
  Value d = b.pointwise(kMultiply, b.matmul(d_o, vt, s.scores), stays, s.scores);
  d = b.pointwise(CUDNN_POINTWISE_SUB, d, sums, s.scores);
  d = b.pointwise(kMultiply, d, weights, s.scores);
  if (kept) d = b.pointwise(kMultiply, d, kept, s.scores);
  d = b.pointwise(kMultiply, d, scale, s.scores);
  gradient_into(b, p, b.reshape(d, wide), q, p.head_size, dk);
  const Value dq_sums =
      b.scratch(dense(p.batch, p.heads, p.queries, p.head_size), CUDNN_TENSOR_REORDERING_F16x16);
  b.matmul_into(d, b.reshape(kt, s.k), dq_sums);
  b.pointwise_into(CUDNN_POINTWISE_IDENTITY, dq_sums, nullptr, nullptr, dq, {});
}

cudnnDataType_t sixteen_bits(DType dtype) {
  if (dtype == DType::kFloat16) return CUDNN_DATA_HALF;
  if (dtype == DType::kBFloat16) return CUDNN_DATA_BFLOAT16;
  throw CudnnRefusal("its attention is of 16 bits");
}

}  // namespace

OperationGraph attention_graph(const CudnnFunctions& cudnn, const Attention& problem, Pass pass,
                               DType dtype, cudnnHandle_t handle) {
  AttentionBuilder builder(cudnn, sixteen_bits(dtype));
  pass == Pass::kForward ? build_forward(builder, problem) : build_backward(builder, problem);
  return builder.finish_graph(handle);
}

}  // namespace plimsoll
