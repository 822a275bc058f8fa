// The lowerings that rows name: how a node's operator runs on eager Values. Most rows share a few.
#pragma once

#include <vector>

#include "graph/ops/op_row.h"

namespace plimsoll::lower {

using eager::Lowering;
using Values = std::vector<eager::Value>;

// pointwise
Values keep_result(Lowering& l);   // sigmoid, tanh, exp, relu
Values keep_input(Lowering& l);    // gelu, silu, log, clip
Values keep_nothing(Lowering& l);  // neg
Values biased_gelu(Lowering& l);
Values zero_gradient(Lowering& l);  // floor, round, sign: zeros, but the graph goes on
Values gelu_function(Lowering& l);
Values glu(Lowering& l);          // keeps both halves of its input
Values keep_inputs(Lowering& l);  // any number of operands, all of them kept
Values deform_conv(Lowering& l);
Values no_gradient(Lowering& l);  // comparisons, rounding: any output without a derivative
Values integer_product(Lowering& l);
Values arg_extremum(Lowering& l);
Values leaky_relu(Lowering& l);
Values softsign(Lowering& l);
Values add(Lowering& l);
Values sub(Lowering& l);
Values mul(Lowering& l);
Values div(Lowering& l);
Values pow(Lowering& l);
Values keep_both(Lowering& l);  // maximum, minimum, mod
Values prelu(Lowering& l);
Values sum(Lowering& l);  // of any number of inputs
Values mean(Lowering& l);
Values where(Lowering& l);
Values addcmul(Lowering& l);
Values cosine_similarity(Lowering& l);
Values function_of_two(Lowering& l);  // atan2, losses: both operands are kept
Values distances(Lowering& l);        // between all points of two sets
Values bilinear(Lowering& l);
Values cast(Lowering& l);
Values clip(Lowering& l);
Values dropout(Lowering& l);
Values identity(Lowering& l);

// matmul
Values matmul(Lowering& l);
Values fused_matmul(Lowering& l);
Values gemm(Lowering& l);
Values adapted_weight(Lowering& l);
Values group_offsets(Lowering& l);
Values grouped_linear(Lowering& l);
Values linear(Lowering& l);
Values einsum(Lowering& l);

// conv, pool, norm
Values conv(Lowering& l);
Values conv_transpose(Lowering& l);
Values max_pool(Lowering& l);
Values average_pool(Lowering& l);
Values global_average_pool(Lowering& l);
Values global_max_pool(Lowering& l);
Values lp_pool(Lowering& l);
Values batch_norm(Lowering& l);
Values layer_norm(Lowering& l);
Values group_norm(Lowering& l);
Values instance_norm(Lowering& l);
Values rms_norm(Lowering& l);
Values fused_rms_norm(Lowering& l);
Values weight_norm(Lowering& l);
Values spectral_norm(Lowering& l);
Values lrn(Lowering& l);
Values lp_norm(Lowering& l);
Values mean_variance_norm(Lowering& l);
Values skip_norm(Lowering& l);   // the sum of two, normalised
Values embed_norm(Lowering& l);  // three embeddings, summed and normalised

// reduce, softmax
Values reduce_sum(Lowering& l);
Values reduce_mean(Lowering& l);
Values reduce_keeping_input(Lowering& l);
Values reduce_keeping_both(Lowering& l);
Values reduce_l2(Lowering& l);
Values reduce_log_sum_exp(Lowering& l);
Values variance(Lowering& l);
Values standard_deviation(Lowering& l);
Values reduce_extremum(Lowering& l);
Values softmax(Lowering& l);
Values log_softmax(Lowering& l);
Values cumulative_sum(Lowering& l);

// movement
Values reshape(Lowering& l);
Values transpose(Lowering& l);
Values expand(Lowering& l);
Values squeeze(Lowering& l);
Values unsqueeze(Lowering& l);
Values slice(Lowering& l);
Values split(Lowering& l);
Values concat(Lowering& l);
Values contiguous(Lowering& l);
Values detach(Lowering& l);
Values want_gradient(Lowering& l);
Values rearrange(Lowering& l);  // tile, resize, depth-to-space: needs only sizes in backward
Values pad(Lowering& l);        // reflected or repeated edges: its input is kept

// index
Values gather(Lowering& l);
Values index(Lowering& l);
Values embedding_bag(Lowering& l);
Values gather_elements(Lowering& l);
Values pick(Lowering& l);  // by indices or boxes, which are kept
Values scatter(Lowering& l);
Values assign(Lowering& l);
Values index_put(Lowering& l);
Values slice_scatter(Lowering& l);
Values copied_columns(Lowering& l);
Values masked_scatter(Lowering& l);
Values masked_add(Lowering& l);
Values top_k(Lowering& l);
Values grid_sample(Lowering& l);  // keeps both inputs

// recurrent, attention, loss
Values onnx_recurrent(Lowering& l);  // ONNX's LSTM, GRU, RNN: one layer
Values recurrent(Lowering& l);       // the stack that recover() or a config makes
Values recurrent_cell(Lowering& l);  // one time step, fused
Values attention(Lowering& l);
Values additive_scores(Lowering& l);
Values gated_delta_rule(Lowering& l);
Values state_space_scan(Lowering& l);
Values onnx_attention(Lowering& l);    // heads apart or still joined
Values packed_attention(Lowering& l);  // with the projection of all three operands
Values softmax_cross_entropy(Lowering& l);
Values negative_log_likelihood(Lowering& l);

// Made from shapes and constants: the host's, until data is needed.
Values create(Lowering& l);
// Made on the device, without gradient.
Values random(Lowering& l);

}  // namespace plimsoll::lower
