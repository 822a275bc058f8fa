#include "graph/record/recorded_operators.h"

#include <doctest/doctest.h>

using namespace plimsoll;

namespace {

RecordedTensor tensor(std::vector<int64_t> sizes, DType dtype = DType::kFloat32) {
  RecordedTensor t;
  t.type.dtype = dtype;
  for (const int64_t size : sizes) t.type.shape.emplace_back(size);
  return t;
}

Kernel only_kernel(const RecordedCall& call, Phase phase = Phase::kForward) {
  const auto kernels = kernels_of(call, phase, {});
  REQUIRE(kernels.size() == 1);
  return kernels.front();
}

}  // namespace

TEST_CASE("recorded operators: a convolution is one problem in all its passes") {
  const RecordedTensor x = tensor({2, 8, 12, 12}), w = tensor({16, 4, 3, 3}), b = tensor({16}),
                       y = tensor({2, 16, 6, 6});
  const std::map<std::string, std::vector<Dim>, std::less<>> facts = {
      {"stride", {2, 2}}, {"padding", {1, 1}}, {"dilation", {1, 1}}, {"groups", {2}}};
  const auto forward = kernels_of({"convolution", {&x, &w, &b}, {&y}, facts}, Phase::kForward, {});
  REQUIRE(forward.size() == 2);
  const auto& problem = std::get<ConvProblem<Dim>>(forward[0].problem);
  CHECK(problem.in[1] == Dim(12));
  CHECK(problem.out[2] == Dim(6));
  CHECK(problem.in[0] == Dim(1));
  CHECK(problem.stride[1] == 2);
  CHECK(problem.groups == Dim(2));
  CHECK(forward[0].flop == Dim(2 * 2 * 36 * 16 * 4 * 9));
  CHECK(forward[1].op == "bias");
  auto masked = facts;
  masked["output_mask"] = {0, 1, 1};
  const auto backward =
      kernels_of({"convolution_backward", {&y, &x, &w}, {&w, &b}, masked}, Phase::kBackward, {});
  REQUIRE(backward.size() == 2);
  CHECK(backward[0].pass == Pass::kBackwardWeights);
  CHECK(std::get<ConvProblem<Dim>>(backward[0].problem) == problem);
  CHECK(backward[1].op == "bias_gradient");
}

TEST_CASE("recorded operators: a product with a bias reads its last two operands") {
  const RecordedTensor bias = tensor({32}), a = tensor({8, 16}), b = tensor({16, 32}),
                       c = tensor({8, 32});
  const Kernel k = only_kernel({"addmm", {&bias, &a, &b}, {&c}, {}});
  const auto& problem = std::get<GemmProblem<Dim>>(k.problem);
  CHECK(problem.k == Dim(16));
  CHECK(problem.accumulate);
  CHECK(k.flop == Dim(2 * 8 * 16 * 32));
}

TEST_CASE("recorded operators: attention tells its form by its name") {
  const RecordedTensor q = tensor({2, 4, 128, 64}, DType::kFloat16), log = tensor({2, 4, 128});
  const Kernel k = only_kernel(
      {"_scaled_dot_product_flash_attention", {&q, &q, &q}, {&q, &log}, {{"is_causal", {1}}}});
  const auto& problem = std::get<AttentionProblem<Dim>>(k.problem);
  CHECK(problem.form == AttentionForm::kFlash);
  CHECK(problem.causal);
  CHECK(problem.queries == Dim(128));
  CHECK(k.tensor_core);
}

TEST_CASE("recorded operators: operators in place and their gradients are priced as the operator") {
  const RecordedTensor x = tensor({64, 32});
  CHECK(only_kernel({"relu_", {&x}, {&x}, {}}).op == "relu");
  CHECK(only_kernel({"threshold_backward", {&x, &x}, {&x}, {}}).op == "relu");
  CHECK(only_kernel({"tanh_backward", {&x, &x}, {&x}, {}}).op == "tanh");
  const Kernel sum = only_kernel({"sum", {&x}, {&x}, {}});
  CHECK(sum.kernel_class == KernelClass::kReduce);
  CHECK(only_kernel({"_foreach_add_", {&x, &x}, {&x}, {}}, Phase::kUpdate).kernel_class ==
        KernelClass::kUpdate);
  CHECK(only_kernel({"somebodys_own_operator", {&x}, {&x}, {}}).read == Dim(64 * 32 * 4));
}

TEST_CASE("recorded operators: a look-up reads of its table what it writes") {
  const RecordedTensor table = tensor({1000, 8}), ids = tensor({5}, DType::kInt64),
                       y = tensor({5, 8});
  const Kernel k = only_kernel({"embedding", {&table, &ids}, {&y}, {}});
  CHECK(k.read == Dim(5 * 8 + 5 * 8 * 4));
}

TEST_CASE("recorded operators: CTC's rows are frames, its columns states of a label") {
  const RecordedTensor scores = tensor({100, 16, 30}), states = tensor({16, 100, 41}),
                       loss = tensor({16});
  const auto forward =
      kernels_of({"_ctc_loss", {&scores}, {&loss, &states}, {}}, Phase::kForward, {});
  REQUIRE(forward.size() == 1);
  const auto& problem = std::get<RowsProblem<Dim>>(forward[0].problem);
  CHECK(problem.rows == Dim(1600));
  CHECK(problem.columns == Dim(41));
  const auto backward =
      kernels_of({"_ctc_loss_backward", {&loss, &scores, &loss, &states}, {&scores}, {}},
                 Phase::kBackward, {});
  REQUIRE(backward.size() == 1);
  CHECK(backward[0].op == "ctc_loss");
  CHECK(std::get<RowsProblem<Dim>>(backward[0].problem) == problem);
}

TEST_CASE("recorded operators: boxes that suppress each other are rows") {
  const RecordedTensor all = tensor({2000, 4}), scores = tensor({2000}), kept = tensor({50});
  const auto kernels = kernels_of({"nms", {&all, &scores}, {&kept}, {}}, Phase::kForward, {});
  REQUIRE(kernels.size() == 1);
  CHECK(std::get<RowsProblem<Dim>>(kernels[0].problem).rows == Dim(2000));
}

TEST_CASE("recorded operators: operands that an operator does not take are moved once") {
  const RecordedTensor scalar = tensor({});
  for (const char* op : {"mm", "convolution", "convolution_backward", "max_pool2d_with_indices",
                         "_scaled_dot_product_efficient_attention", "recurrent"}) {
    CAPTURE(op);
    CHECK(only_kernel({op, {&scalar, &scalar}, {&scalar}, {}}).read == Dim(8));
  }
  CHECK(kernels_of({"mm", {&scalar}, {}, {}}, Phase::kForward, {}).empty());
}

// As the eager operators have them, whose kernels the models of time were learned with.
TEST_CASE("recorded operators: what moves is what the operator's kernels move") {
  const RecordedTensor x = tensor({2, 8, 12, 12}), y = tensor({2, 8, 6, 6}),
                       at = tensor({2, 8, 6, 6}, DType::kInt64);
  const std::map<std::string, std::vector<Dim>, std::less<>> windows = {
      {"kernel_size", {3, 3}}, {"stride", {2, 2}}, {"padding", {1, 1}}};
  const Kernel pooled = only_kernel({"max_pool2d_with_indices", {&x}, {&y, &at}, windows});
  CHECK(pooled.written == Dim(4 * 2 * 8 * 36));
  CHECK(pooled.flop == Dim(2 * 8 * 36 * 9));
  const Kernel unpooled =
      only_kernel({"max_pool2d_with_indices_backward", {&y, &x, &at}, {&x}, windows});
  CHECK(unpooled.read == Dim(2 * 4 * 2 * 8 * 36));
  CHECK(unpooled.written == Dim(2 * 4 * 2 * 8 * 144));

  const RecordedTensor rows = tensor({64, 16}), ids = tensor({64}, DType::kInt64),
                       table = tensor({1000, 16});
  const auto tables =
      kernels_of({"embedding_dense_backward", {&rows, &ids}, {&table}, {}}, Phase::kBackward, {});
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].op == "fill");
  CHECK(tables[0].read == Dim(0));
  CHECK(tables[1].written == Dim(4 * 64 * 16));

  const RecordedTensor scores = tensor({64, 1000}), one = tensor({});
  CHECK(only_kernel({"nll_loss_forward", {&scores, &ids}, {&one, &one}, {}}).read == Dim(8 * 64));
  CHECK(only_kernel({"nll_loss_backward", {&one, &scores, &ids}, {&scores}, {}}).read == Dim(0));
  CHECK(only_kernel({"copy_", {&rows, &rows}, {&rows}, {}}).read == Dim(4 * 64 * 16));
  const RecordedTensor counter = tensor({}, DType::kInt64);
  CHECK(kernels_of({"add_", {&counter}, {&counter}, {}}, Phase::kForward, {}).empty());
}

TEST_CASE("recorded operators: a filter of one position lies in no order of its own") {
  const RecordedTensor x = tensor({2, 8, 12, 12}), y = tensor({2, 16, 12, 12});
  RecordedTensor w = tensor({16, 8, 1, 1});
  w.order = MemoryOrder::kChannelsLast;
  const auto kernels = kernels_of({"convolution", {&x, &w}, {&y}, {}}, Phase::kForward, {});
  CHECK_FALSE(std::get<ConvProblem<Dim>>(kernels.at(0).problem).channels_last);
}

namespace {

using Facts = std::map<std::string, std::vector<Dim>, std::less<>>;

RowsProblem<Dim> rows_of(const Kernel& kernel) {
  return std::get<RowsProblem<Dim>>(kernel.problem);
}

}  // namespace

// The scratch memory of their kernels goes by these names (estimator/library/workspace).
TEST_CASE("recorded operators: reductions that leave the fastest axis are of columns") {
  const RecordedTensor x = tensor({64, 16, 8}), first = tensor({16, 8}), last = tensor({64, 16}),
                       middle = tensor({64, 8}), one = tensor({});
  const auto op = [&](const char* name, const RecordedTensor& from, const RecordedTensor& to,
                      const Facts& facts) {
    return only_kernel({name, {&from}, {&to}, facts}).op;
  };
  CHECK(op("sum", x, first, {{"dim", {0}}}) == "column_sum");
  CHECK(op("sum", x, middle, {{"dim", {1}}}) == "column_sum");
  CHECK(op("sum", x, last, {{"dim", {-1}}}) == "sum");
  CHECK(op("mean", x, tensor({64, 1, 1}), {{"dim", {1, 2}}}) == "mean");
  CHECK(op("sum", x, one, {}) == "sum");
  // By its shapes alone, where nothing is told.
  CHECK(op("sum", x, first, {}) == "column_sum");
  CHECK(op("sum", x, last, {}) == "sum");
  CHECK(op("var", x, first, {{"dim", {0}}}) == "column_var");
  CHECK(op("amax", x, first, {{"dim", {0}}}) == "column_max");
  CHECK(op("argmax", x, first, {{"dim", {0}}}) == "column_argmax");
  const RecordedTensor at = tensor({16, 8}, DType::kInt64);
  CHECK(only_kernel({"max", {&x}, {&first, &at}, {{"dim", {0}}}}).op == "column_max_position");
  RecordedTensor image = tensor({4, 16, 8, 8});
  const RecordedTensor channels = tensor({4, 16, 1, 1});
  CHECK(op("mean", image, channels, {{"dim", {-1, -2}}}) == "mean");
  image.order = MemoryOrder::kChannelsLast;
  CHECK(op("mean", image, channels, {{"dim", {-1, -2}}}) == "column_mean");
}

TEST_CASE("recorded operators: values that are added are rows, those that are put are not") {
  const RecordedTensor x = tensor({100, 8}), at = tensor({40}, DType::kInt64),
                       one = tensor({1}, DType::kInt64), values = tensor({40, 8});
  const auto put = [&](Facts facts, Phase phase) {
    return only_kernel({"index_put_", {&x, &one, &at, &values}, {&x}, std::move(facts)}, phase);
  };
  const Kernel added = put({{"accumulate", {1}}}, Phase::kForward);
  CHECK(added.op == "index_put_accumulate");
  CHECK(rows_of(added) == RowsProblem<Dim>{40, 8});
  CHECK(put({{"accumulate", {0}}}, Phase::kBackward).op == "index_put");
  CHECK(put({}, Phase::kForward).op == "index_put");
  CHECK(put({}, Phase::kBackward).op == "index_put_accumulate");
}

TEST_CASE(
    "recorded operators: the gradient of bags has a row for each index, of the table's width") {
  const RecordedTensor gradient = tensor({32, 16}), ids = tensor({320}, DType::kInt64),
                       table = tensor({100, 16});
  const auto kernels = kernels_of(
      {"_embedding_bag_dense_backward", {&gradient, &ids}, {&table}, {}}, Phase::kBackward, {});
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[1].op == "embedding_bag");
  CHECK(rows_of(kernels[1]) == RowsProblem<Dim>{320, 16});
  CHECK(kernels[1].written == Dim(4 * 100 * 16));  // the whole table: it has fewer rows
}

TEST_CASE("recorded operators: deformable columns, distinct elements, norms of a list") {
  const RecordedTensor x = tensor({4, 8, 12, 12}), w = tensor({16, 8, 3, 3}),
                       offsets = tensor({4, 18, 10, 10}), y = tensor({4, 16, 10, 10});
  const Kernel forward = only_kernel({"deform_conv2d", {&x, &w, &offsets}, {&y}, {}});
  CHECK(forward.op == "deform_conv");
  CHECK(rows_of(forward) == RowsProblem<Dim>{4, 8 * 9 * 100});
  const Kernel backward =
      only_kernel({"_deform_conv2d_backward", {&y, &x, &w, &offsets}, {&x, &w, &offsets}, {}},
                  Phase::kBackward);
  CHECK(rows_of(backward) == rows_of(forward));
  CHECK(backward.read == Dim(4 * 4 * 16 * 100));

  const RecordedTensor ids = tensor({500}, DType::kInt64), few = tensor({30}, DType::kInt64),
                       none = tensor({0}, DType::kInt64);
  CHECK(only_kernel({"_unique2", {&ids}, {&few, &none, &none}, {}}).op == "unique");
  CHECK(only_kernel({"_unique2", {&ids}, {&few, &ids, &none}, {}}).op == "unique_inverse");
  const RecordedTensor all = tensor({16, 20000}), best = tensor({16, 8}),
                       places = tensor({16, 8}, DType::kInt64);
  CHECK(rows_of(only_kernel({"topk", {&all}, {&best, &places}, {}})) ==
        RowsProblem<Dim>{16, 20000});
  const Kernel norms = only_kernel({"_foreach_norm", {&x, &w}, {&few, &few}, {}});
  CHECK(norms.op == "foreach_norm");
  CHECK(rows_of(norms) == RowsProblem<Dim>{2, 4 * 8 * 144});
  CHECK(only_kernel({"_fft_c2r", {&x}, {&y}, {}}).op == "fft_c2r");
}
