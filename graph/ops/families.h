// The operator families, one table per file of the same name.
#pragma once

#include <span>

#include "graph/ops/op_row.h"

namespace plimsoll::ops {

std::span<const OpRow> pointwise_rows();
std::span<const OpRow> logic_rows();
std::span<const OpRow> activation_rows();
std::span<const OpRow> matmul_rows();
std::span<const OpRow> conv_rows();
std::span<const OpRow> pool_rows();
std::span<const OpRow> norm_rows();
std::span<const OpRow> reduce_rows();
std::span<const OpRow> softmax_rows();
std::span<const OpRow> movement_rows();
std::span<const OpRow> slicing_rows();
std::span<const OpRow> resample_rows();
std::span<const OpRow> index_rows();
std::span<const OpRow> recurrent_rows();
std::span<const OpRow> attention_rows();
std::span<const OpRow> create_rows();
std::span<const OpRow> signal_rows();
std::span<const OpRow> loss_rows();
std::span<const OpRow> quantize_rows();
std::span<const OpRow> composite_rows();
std::span<const OpRow> function_rows();
std::span<const OpRow> feature_rows();

}  // namespace plimsoll::ops
