#include "estimator/kernels/unrolled.h"

#include "estimator/kernels/recurrent.h"

namespace plimsoll {
namespace {

using Gemm = GemmProblem<int64_t>;

// What follows the products in one step: kernels, and values read or written in units of a state
// (batch * hidden). A sum or product of two reads two and writes one; a bend reads one, its
// gradient two. The gates' slices and biases are counted with the products.
//   LSTM  c' = c sigmoid(f + 1) + sigmoid(i) tanh(j), h' = tanh(c') sigmoid(o)
//   GRU   h' = u h + (1 - u) tanh(W [x, r h])
// (tensorflow/python/ops/rnn_cell_impl.py 1.2; apache/mxnet python/mxnet/rnn/rnn_cell.py 0.11).
// Backward there are a product for each factor, and sums where a value had two readers.
struct Bends {
  int64_t kernels, values;
};
struct CellBends {
  Bends forward, backward;
};

CellBends bends_of(Cell cell) {
  switch (cell) {
    case Cell::kLstm:
      return {{.kernels = 10, .values = 24}, {.kernels = 13, .values = 39}};
    case Cell::kGru:
      return {{.kernels = 8, .values = 22}, {.kernels = 11, .values = 33}};
    default:
      return {{.kernels = 1, .values = 2}, {.kernels = 2, .values = 6}};
  }
}

class Unroller {
 public:
  explicit Unroller(const KernelAt& whole)
      : whole_(whole),
        p_(std::get<RecurrentProblem<int64_t>>(whole.problem)),
        form_(p_.unrolled.value_or(CellForm::kJoined)),
        gates_(static_cast<int64_t>(gate_count(p_.cell)) * p_.hidden),
        bytes_(bits(whole.dtype) / 8) {}

  std::vector<RepeatedKernel> run() {
    for (int64_t layer = 0; layer < p_.layers; ++layer) {
      input_ = layer > 0 ? p_.hidden * p_.directions : p_.skip_input ? 0 : p_.input;
      if (whole_.pass == Pass::kForward) forward();
      if (whole_.pass == Pass::kBackwardData) backward_data();
      if (whole_.pass == Pass::kBackwardWeights) backward_weights();
    }
    return std::move(kernels_);
  }

 private:
  void add(KernelAt kernel, int64_t each = 1) {
    kernel.dtype = whole_.dtype;
    kernels_.push_back({std::move(kernel), p_.timesteps * p_.directions * each});
  }

  // `read` and `written`: values.
  void rows(KernelClass kernel_class, const char* op, int64_t read, int64_t written,
            int64_t each = 1) {
    add({.kernel_class = kernel_class,
         .op = op,
         .flop = read,
         .read = read * bytes_,
         .written = written * bytes_,
         .problem = RowsProblem<int64_t>{1, written}},
        each);
  }

  void product(const Gemm& g) {
    add({.kernel_class = KernelClass::kGemm,
         .tensor_core = whole_.tensor_core,
         .op = "mm",
         .flop = 2 * g.m * g.n * g.k,
         .read = (g.m * g.k + g.k * g.n) * bytes_,
         .written = g.m * g.n * bytes_,
         .problem = g});
  }

  // Of the input and the state: `make` is given the extent of what is multiplied.
  template <class Make>
  void products(const Make& make) {
    if (form_ == CellForm::kJoined) {
      product(make(input_ + p_.hidden));
    } else {
      if (input_ > 0) product(make(input_));
      product(make(p_.hidden));
    }
  }

  void bend(const Bends& bends) {
    const int64_t values = bends.values * p_.batch * p_.hidden / bends.kernels;
    rows(KernelClass::kPointwise, "cell", values * 2 / 3, values / 3, bends.kernels);
  }

  void forward() {
    const int64_t joined = p_.batch * (input_ + p_.hidden), gates = p_.batch * gates_;
    if (form_ == CellForm::kJoined) rows(KernelClass::kCopy, "concat", joined, joined);
    products([&](int64_t k) { return Gemm{.m = p_.batch, .n = gates_, .k = k}; });
    // Bias; or bias and input's part added to the state's.
    if (form_ == CellForm::kJoined) {
      rows(KernelClass::kPointwise, "bias", gates, gates);
    } else {
      rows(KernelClass::kPointwise, "bias", gates, gates, 2);
      rows(KernelClass::kPointwise, "add", 2 * gates, gates);
    }
    rows(KernelClass::kCopy, "split", gates, gates);
    bend(bends_of(p_.cell).forward);
  }

  void backward_data() {
    const int64_t joined = p_.batch * (input_ + p_.hidden), gates = p_.batch * gates_;
    bend(bends_of(p_.cell).backward);
    rows(KernelClass::kCopy, "concat", gates, gates);
    products([&](int64_t n) { return Gemm{.m = p_.batch, .n = n, .k = gates_, .b_t = true}; });
    if (form_ == CellForm::kJoined) rows(KernelClass::kCopy, "slice", joined / 2, joined / 2, 2);
  }

  void backward_weights() {
    const int64_t weights = (input_ + p_.hidden) * gates_, gates = p_.batch * gates_;
    const bool joined = form_ == CellForm::kJoined;
    products([&](int64_t m) {
      return Gemm{.m = m, .n = gates_, .k = p_.batch, .a_t = true, .accumulate = !joined};
    });
    rows(KernelClass::kReduce, "bias_backward", gates, gates_);
    // A loop carries the sum so far from step to step.
    if (joined) rows(KernelClass::kPointwise, "add", 2 * weights, weights);
  }

  const KernelAt& whole_;
  const RecurrentProblem<int64_t>& p_;
  CellForm form_;
  int64_t gates_, bytes_;
  int64_t input_ = 0;  // of the layer at hand; 0 where none is multiplied
  std::vector<RepeatedKernel> kernels_;
};

// One of a loop. A product reads its operands anew.
KernelAt turn_of(const KernelAt& kernel) {
  KernelAt turn = kernel;
  turn.turns = 1;
  for (int64_t* all : {&turn.flop, &turn.read, &turn.written}) *all /= kernel.turns;
  if (const auto* g = std::get_if<Gemm>(&turn.problem)) {
    const int64_t bytes = bits(kernel.dtype) / 8;
    turn.read = g->batch * (g->m * g->k + g->k * g->n) * bytes;
    turn.written = g->batch * g->m * g->n * bytes;
  }
  return turn;
}

}  // namespace

std::vector<RepeatedKernel> unroll(const KernelAt& kernel) {
  if (kernel.turns > 1) return {{turn_of(kernel), kernel.turns}};
  return Unroller(kernel).run();
}

// The sum of what every time step launches. Its errors are those of a few distinct kernels, over
// and over: they add up.
bool is_unrolled(const KernelAt& kernel) {
  if (kernel.turns > 1) return true;
  const auto* p = std::get_if<RecurrentProblem<int64_t>>(&kernel.problem);
  return p != nullptr && p->unrolled.has_value();
}

}  // namespace plimsoll
