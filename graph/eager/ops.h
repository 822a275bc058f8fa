// The eager operators: each allocates its result, launches its kernels and records what its
// backward keeps, as an eager framework's own kernels and derivative formulas do. What is kept
// follows the derivative formulas of PyTorch (tools/autograd/derivatives.yaml); where frameworks
// differ, Policy says which habit holds.
//
// All shapes have been checked by the shape rules; these functions cannot fail.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// --- movement.cc: views and copies ---
Value view(Machine& m, const Value& x, const Shape& sizes);  // strides must allow it
Value reshape(Machine& m, const Value& x,
              const Shape& sizes);  // view where strides allow, else copy
// The same storage in another shape as a tensor of its own (aten::_unsafe_view): `x` goes.
Value unsafe_view(Machine& m, const Value& x, const Shape& sizes);
Value permute(Machine& m, const Value& x, const std::vector<size_t>& order);
Value transpose(Machine& m, const Value& x, size_t a, size_t b);
Value expand(Machine& m, const Value& x, const Shape& sizes);
Value unsqueeze(Machine& m, const Value& x, size_t axis);
Value squeeze(Machine& m, const Value& x, std::vector<size_t> axes);
// The elements whose places along two axes are the same; `second` is the axis that goes.
Value diagonal(Machine& m, const Value& x, size_t axis, size_t second);
Value slice(Machine& m, const Value& x, size_t axis, const Dim& start, const Dim& length,
            int64_t step);
Value select(Machine& m, const Value& x, size_t axis, const Dim& index);
// `unbound`: torch.unbind, whose parts that nobody used have a zero that is expanded for gradient.
std::vector<Value> split(Machine& m, const Value& x, size_t axis, const std::vector<Dim>& lengths,
                         bool unbound = false);
Value contiguous(Machine& m, const Value& x);
Value clone(Machine& m, const Value& x);
Value clone(Machine& m, const Value& x, LayoutRef layout);
Value cast(Machine& m, const Value& x, DType dtype);
Value concat(Machine& m, std::span<const Value> parts, size_t axis);
// How a pooled or interpolated map of these sizes lies in memory: in channels-last order if x does.
LayoutRef resampled_layout(Machine& m, const Value& x, const Shape& sizes, DType dtype);
// A new tensor with the given sizes made from x alone, of which backward needs nothing but sizes:
// pad, tile, flip, roll, depth-to-space, interpolation.
Value rearrange(Machine& m, const std::string& op, const Value& x, const Shape& sizes);
Value fill(Machine& m, DType dtype, const Shape& sizes);
// Gradient bookkeeping: x summed to `sizes` (its broadcast inverted); x itself where they agree.
Value sum_to(Machine& m, const Value& x, const Shape& sizes);

// --- pointwise.cc ---
// One kernel over broadcast operands; the result takes their common dense order of dimensions.
Value elementwise(Machine& m, std::string op, std::span<const Value> operands, DType dtype,
                  int64_t flop_per_element = 1);
enum class Keeps : uint8_t { kNothing, kInput, kResult, kBoth };
// In place where autograd allows: nothing or the result is kept, or no gradient is wanted.
Value unary(Machine& m, std::string_view op, const Value& x, Keeps keeps, std::string_view rule,
            int64_t flop_per_element = 1, bool in_place = false);
Value add(Machine& m, const Value& a, const Value& b, std::string_view op = "add");
Value add_in_place(Machine& m, const Value& into, const Value& b);
Value mul(Machine& m, const Value& a, const Value& b);
Value div(Machine& m, const Value& a, const Value& b);
Value power(Machine& m, const Value& a, const Value& b);
// x + a * b, in one kernel.
Value addcmul(Machine& m, const Value& x, const Value& a, const Value& b);
// The larger or smaller of two, which are both kept.
Value extremum(Machine& m, const std::string& op, const Value& a, const Value& b);
// x between one bound or two.
Value clamp(Machine& m, const Value& x, size_t bounds);
// Two operands, both kept: prelu, modulus.
Value binary_keeping_both(Machine& m, const std::string& op, const Value& a, const Value& b);
Value where(Machine& m, const Value& condition, const Value& a, const Value& b);
// Comparisons and other maps without a gradient.
Value map(Machine& m, std::string op, std::span<const Value> operands, DType dtype);
Value dropout(Machine& m, const Value& x);

// --- matmul.cc ---
Value linear(Machine& m, const Value& x, const Value& weight, const Value& bias);
// Rows of x [S, in], sorted by the matrix of weight [E, out, in] that is theirs: torch's
// grouped_mm. `offsets`, where defined: where the rows of each matrix end, which is kept.
Value grouped_linear(Machine& m, const Value& x, const Value& weight, const Value& offsets);
// Of the sorted numbers of matrices of all rows, where those of each of `groups` end, in i32:
// torch.histc and cumsum.
Value group_offsets(Machine& m, const Value& sorted, const Dim& groups);
// The same with a frozen weight in few bits, which is widened to `compute` for each product and
// kept as it is (bitsandbytes/autograd/_functions.py, MatMul4Bit).
Value quantized_linear(Machine& m, const Value& x, const Value& weight, const Value& bias,
                       DType compute);
Value matmul(Machine& m, const Value& a, const Value& b);
Value addmm(Machine& m, const Value& bias, const Value& a, const Value& b);
Value mm(Machine& m, const Value& a, const Value& b);
Value bmm(Machine& m, const Value& a, const Value& b);

// --- pairwise.cc ---
// Between all points of a [..., P, M] and b [..., R, M]: each pair by itself, or by one product.
Value distances(Machine& m, const Value& a, const Value& b, const Shape& out_sizes);
Value euclidean_distances(Machine& m, const Value& a, const Value& b, const Shape& out_sizes);
// sum of a_i w_io_j b_j over i and j; a [..., I], b [..., J], weight [I, O*J].
Value bilinear(Machine& m, const Value& a, const Value& b, const Value& weight);

// --- conv.cc ---
struct Convolution {
  std::vector<int64_t> stride, dilation;
  std::vector<Dim> pad;  // begin side
  Dim groups{1};
  bool transposed = false;
};
Value convolution(Machine& m, const Value& x, const Value& weight, const Value& bias,
                  const Convolution& c, const Shape& out_sizes);

// --- norm.cc ---
// Statistics over all but the channels; `running` are the buffers it updates (host effect only).
Value batch_norm(Machine& m, const Value& x, const Value& scale, const Value& bias, bool training);
Value layer_norm(Machine& m, const Value& x, const Value& scale, const Value& bias, size_t axis);
Value group_norm(Machine& m, const Value& x, const Value& scale, const Value& bias,
                 const Dim& groups);
Value instance_norm(Machine& m, const Value& x, const Value& scale, const Value& bias);
Value rms_norm(Machine& m, const Value& x, const Value& scale, size_t axis);
// The same as one kernel, which keeps its input, its scale and one number per row.
Value fused_rms_norm(Machine& m, const Value& x, const Value& scale, size_t axis);
// direction / |direction| * length, over all dimensions in which length has one place.
Value weight_norm(Machine& m, const Value& direction, const Value& length);
// weight over its largest singular value as a matrix of rows along `axis`, which u and v, improved
// beforehand, give.
Value spectral_norm(Machine& m, const Value& weight, const Value& u, const Value& v, size_t axis);
Value local_response_norm(Machine& m, const Value& x, int64_t size);

// --- pool.cc ---
// What is pooled together, an entry for each dimension of an image; none where it is not told.
struct Windows {
  std::vector<Dim> extents{}, pads{};  // begin sides
  std::vector<int64_t> strides{}, dilations{};
  bool counts_padding = false;  // as PoolProblem
};
Value max_pool(Machine& m, const Value& x, const Shape& out_sizes, const Windows& windows,
               Value* indices);
Value average_pool(Machine& m, const Value& x, const Shape& out_sizes, const Windows& windows);
Value adaptive_average_pool(Machine& m, const Value& x, const Shape& out_sizes);

// --- reduce.cc ---
enum class Reduction : uint8_t {
  kSum,
  kMean,
  kKeepsInput,
  kKeepsInputAndResult,
  kKeepsResult,
  kExtremum,  // keeps both; backward shares the gradient among equals
  kIndices
};
// What a derivative formula makes beside its result, alive until that is (FunctionsManual.cpp):
// tensors of the input's size and of the result's; and a mask of the result's, in bytes.
struct ReductionTemporaries {
  size_t whole = 0, reduced = 0;
  bool mask = false;
};
// self / norm * grad, masked where the norm is zero.
inline constexpr ReductionTemporaries kNormTemporaries{.whole = 1, .mask = true};
// Whether a reduction of these leaves the axis along which x lies: its results are a matrix's
// columns.
bool keeps_fastest_axis(const Value& x, const std::vector<size_t>& axes);
Value reduce(Machine& m, const std::string& op, const Value& x, const std::vector<size_t>& axes,
             bool keep_dims, Reduction kind, const ReductionTemporaries& made = {});
Value softmax(Machine& m, const Value& x, size_t axis, bool log = false);
// Under autocast its result has 32 bits, whatever it reads (ATen/autocast_mode.h); its gradient
// runs backwards in the type of what was read: grad.flip().cumsum().flip() (FunctionsManual.cpp).
Value cumulative_sum(Machine& m, const Value& x);

// --- index.cc ---
// `is_table`: torch.nn.functional.embedding; else rows of a value, x[indices], whose backward is
// another kernel.
Value embedding(Machine& m, const Value& table, const Value& indices, const Shape& out_sizes,
                bool is_table = true);
// Rows of a table reduced over bags of indices. `largest`: by their maximum.
Value embedding_bag(Machine& m, const Value& table, const Value& indices, const Value& begins,
                    const Shape& out_sizes, bool largest);
// Picks from x; backward scatters into zeros of x's size. keeps_source as torch.gather does.
// `sorted`: x[i, j], of so many indices, which backward sorts first (index_put); 0: it does not.
Value gather(Machine& m, std::string op, const Value& x, const Value& indices,
             const Shape& out_sizes, bool keeps_source, const Dim& sorted = 0, const Dim& rows = 1);
// x[indices], by rows of x.
Value index(Machine& m, const Value& x, const Value& indices, const Shape& out_sizes);
// `adds_rows` as torch.index_add does, whose formula for its source takes the source's shape of it
// (derivatives.yaml: grad.index_select(dim, index).expand_as(source)) and so keeps it.
Value scatter(Machine& m, std::string op, const Value& x, const Value& indices,
              const Value& updates, bool adds_rows = false);
// x[window] = updates and x[indices] = updates, in place of x or of a clone of it.
Value assign(Machine& m, const Value& x, const Value& updates, bool cloned);
Value index_put(Machine& m, const Value& x, const Value& indices, const Value& updates,
                bool cloned);
// A copy of x with updates in a window.
Value slice_scatter(Machine& m, const Value& x, const Value& updates);
// zeros(sizes).index_copy_(-1, indices, columns).
Value copied_columns(Machine& m, const Value& columns, const Shape& sizes);

// --- attention.cc ---
struct AttentionOptions {
  bool causal = false;
  bool scaled =
      true;  // a scale is applied: to the scores, or by the operator's own form to q and k
  bool padded = false;  // code that is written out adds a mask of padding, whatever it holds
  double dropout = 0;
  // The code around it is transformers': keys and values of few heads, masks and the type of the
  // softmax are its own (integrations/sdpa_attention.py, eager_attention_forward() of its models).
  bool transformers = false;
  bool grouped = true;        // ... which repeats few heads for all queries
  bool softcap = false;       // ... scores are capped by a tanh
  bool shifted = false;       // ... the largest score of each row is subtracted from it
  bool wide_softmax = false;  // ... which is taken in 32 bits
  int64_t window = 0;         // keys that a position sees; 0: all
  int64_t latent = 0;         // features that a cache keeps of a position; 0: keys and values
  bool wide_scores = false;   // ... queries and keys are widened for their product
  bool masked = false;        // ... PyTorch's operator is given a mask, needed or not
  bool apart = false;         // ... which is called for each sample by itself
  // [heads or N heads, 1, T], or undefined: what is added to the scores, a line for each head; into
  // which the product of queries and keys is added (`by_rows`: of all heads of all samples at
  // once).
  Value alibi{};
  bool by_rows = false;
  Value sinks{};  // [heads], or undefined: a score more for each query, of a key without a value
  Value* weights = nullptr;  // where separate operators put their weights [N, heads, S, T]
};
// q [..., heads, S, D], k and v [..., kv_heads, T, D], mask broadcastable to [..., heads, S, T] or
// undefined.
Value attention(Machine& m, const Value& q, const Value& k, const Value& v, const Value& mask,
                const AttentionOptions& options);

// v . tanh(q + k) for every pair of queries [N,T,H] and keys [N,S,H] -> [N,T,S] (Bahdanau et al.,
// arXiv:1409.0473), made query by query, as decoders do that feed their result back.
Value additive_scores(Machine& m, const Value& q, const Value& k, const Value& v);

// --- recurrent.cc ---
struct RecurrentOptions {
  Cell cell = Cell::kLstm;
  int64_t layers = 1, directions = 1;
  bool batch_first = false, skip_input = false;
  bool unrolled = false;   // operators of each time step, not one library call
  bool gate_norm = false;  // batch norm of what the input gives to the gates
  Dim hidden{1};
};
// Outputs y, h, c (c undefined but for LSTM). Undefined initial states are zeros it makes itself.
std::vector<Value> recurrent(Machine& m, const Value& x, Value h0, Value c0,
                             std::span<const Value> weights, const RecurrentOptions& options);

// --- recurrent_cell.cc ---
struct CellInputs {
  Value x, h, c;  // [N,I], [N,H]; c of an LSTM alone
  Value input_weight, hidden_weight;
  Value input_bias, hidden_bias;  // both or neither
};
// One time step of an LSTM or GRU. Outputs h, and c of an LSTM.
std::vector<Value> recurrent_cell(Machine& m, const CellInputs& in);

// --- loss.cc ---
// Mean cross entropy of class scores along `axis`. `split`: this rank along Axis::kTensor has some
// of the classes.
Value cross_entropy(Machine& m, const Value& logits, size_t axis, bool split = false);
// Of the next token, as transformers takes it (loss/loss_utils.py, ForCausalLMLoss): scores are
// widened to 32 bits, labels moved by one place; or scores copied (Recipe::shifts_scores).
// `narrow`: that copy has their own type.
Value causal_lm(Machine& m, const Value& logits, bool split = false, bool narrow = false);
// --- split_loss.cc: of rows of scores [rows, classes], as the plan's library computes it ---
Value split_cross_entropy(Machine& m, const Value& scores, const Value& targets);
// Mean negative log-likelihood of the targets.
// One number; or one per target, where `reduced` is false.
Value nll(Machine& m, const Value& log_probabilities, const Value& targets, bool reduced = true);
// scores [frames, batch, classes]; targets are the host's.
Value ctc(Machine& m, const Value& scores);
Value mse(Machine& m, const Value& x, const Value& target);
Value bce(Machine& m, const Value& x, const Value& target);
Value sum_all(Machine& m, const Value& x);

}  // namespace plimsoll::eager
