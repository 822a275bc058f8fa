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
