#include "calibrate/kernel_record.h"

#include <doctest/doctest.h>

#include <set>

#include "estimator/app/explain/predicted_kernels.h"
#include "graph/ir/precision.h"
#include "graph/json/reader.h"
#include "tests/calibrate/fake_card.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;

namespace {

std::optional<KernelAt> read_back(const std::string& text) {
  const auto value = read_json(text, "a line");
  REQUIRE(value);
  Diagnostics faults;
  JsonObject object(*value, "a line", faults);
  auto kernel = read_kernel(object);
  CHECK_MESSAGE(kernel.has_value() == !has_error(faults), text);
  return kernel;
}

}  // namespace

TEST_CASE("kernel record: every kernel of a step that is told is read back as it was") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  int told = 0;
  std::set<KernelClass> classes;
  for (const char* model :
       {"builtin:alexnet", "builtin:mobilenet_v2", "builtin:lstm-lm", "builtin:gpt2"}) {
    for (const char* precision : {"fp32", "amp-fp16"}) {
      Request request;
      request.model = model;
      request.devices = {"t4"};
      request.batch = 4;
      request.recipe.precision = find_precision(precision);
      const auto step = predicted_kernels(request, *hwdb);
      REQUIRE(step);
      for (const PredictedKernel& k : step->kernels) {
        CAPTURE(k.label);
        if (!is_told(k.kernel)) continue;
        ++told;
        classes.insert(k.kernel.kernel_class);
        const auto read = read_back(key_of(k.kernel));
        REQUIRE(read);
        CHECK(key_of(*read) == key_of(k.kernel));
        CHECK(read->kernel_class == k.kernel.kernel_class);
        CHECK(read->problem == k.kernel.problem);
        const auto* gemm = std::get_if<GemmProblem<int64_t>>(&k.kernel.problem);
        // A product with a bias is told as one that is added to what was there.
        if (!gemm || !gemm->accumulate) CHECK(read->read == k.kernel.read);
        CHECK(read->written == k.kernel.written);
        if (!gemm) CHECK(read->flop == k.kernel.flop);
        CHECK(read->dtype == k.kernel.dtype);
      }
    }
  }
  CHECK(told > 100);
  CHECK(classes.contains(KernelClass::kRecurrent));
  CHECK(classes.contains(KernelClass::kAttention));
  CHECK(classes.contains(KernelClass::kPool));
}

TEST_CASE("kernel record: keys tell kernels apart; what has no keys has a label") {
  KernelAt kernel = test::conv_kernel(4);
  const std::string key = key_of(kernel);
  kernel.pass = Pass::kBackwardData;
  CHECK(key_of(kernel) != key);
  kernel = test::conv_kernel(4, Pass::kForward, true);
  CHECK(key_of(kernel) != key);
  std::get<ConvProblem<int64_t>>(kernel.problem).channels_last = true;
  CHECK(read_back(key_of(kernel))->problem == kernel.problem);
  // Padded on one side only: no key of measured runs says so.
  std::get<ConvProblem<int64_t>>(kernel.problem).out[1] = 15;
  CHECK_FALSE(is_told(kernel));
  CHECK(key_of(kernel).find("\"label\"") != std::string::npos);
  CHECK_FALSE(read_back(key_of(kernel)));
  CHECK_FALSE(read_back(R"({"op":"conv","n":4})"));
}

TEST_CASE("kernel record: a pool has all its keys; of older records only planes are known") {
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kPool;
  kernel.pass = Pass::kBackward;
  kernel.op = "average_pool";
  kernel.flop = 11;
  kernel.read = 33;
  kernel.written = 77;
  PoolProblem<int64_t> pool{.n = 2, .c = 8};
  pool.in = {1, 13, 9};
  pool.out = {1, 7, 4};
  pool.window = {1, 3, 2};
  pool.pad = {0, 1, 0};
  pool.stride = {1, 2, 3};
  kernel.problem = pool;
  CHECK(*read_back(key_of(kernel)) == kernel);
  const std::string key = key_of(kernel);
  pool.counts_padding = true;
  pool.channels_last = true;
  kernel.problem = pool;
  CHECK(key_of(kernel) != key);
  CHECK(*read_back(key_of(kernel)) == kernel);
  pool.in[0] = pool.out[0] = 4;
  kernel.problem = pool;
  CHECK_FALSE(is_told(kernel));
  const std::string older =
      R"({"op":"pool","function":"max_pool","rows":6,"cols":16,"read_bytes":9,"written_bytes":5)";
  const auto read = read_back(older + "}");
  REQUIRE(read);
  CHECK(read->problem == ProblemOf<int64_t>(RowsProblem<int64_t>{.rows = 6, .columns = 16}));
  CHECK_FALSE(read_back(older + R"(,"n":2,"c":8,"h":4,"w":4,"r":2,"s":2})"));  // no output
}

TEST_CASE("kernel record: recurrent layers and attention have all their keys, or a reason") {
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kRecurrent;
  kernel.pass = Pass::kBackwardWeights;
  kernel.op = "recurrent";
  kernel.read = 77;
  kernel.written = 33;
  kernel.flop = 11;
  RecurrentProblem<int64_t> layers{.cell = Cell::kGru, .input = 80, .hidden = 96, .batch = 4};
  layers.timesteps = 7;
  layers.layers = 3;
  layers.directions = 2;
  kernel.problem = layers;
  CHECK(*read_back(key_of(kernel)) == kernel);
  layers.unrolled = CellForm::kJoined;
  kernel.problem = layers;
  CHECK_FALSE(is_told(kernel));
  kernel.kernel_class = KernelClass::kAttention;
  kernel.pass = Pass::kBackward;
  kernel.op = "attention";
  kernel.dtype = DType::kBFloat16;
  kernel.tensor_core = true;
  kernel.problem = AttentionProblem<int64_t>{.form = AttentionForm::kLibrary,
                                             .batch = 2,
                                             .heads = 8,
                                             .kv_heads = 4,
                                             .queries = 128,
                                             .keys = 256,
                                             .head_size = 64,
                                             .value_size = 32,
                                             .causal = true,
                                             .masked = false,
                                             .dropout = true};
  CHECK(*read_back(key_of(kernel)) == kernel);
  const std::string rest = R"("batch":2,"heads":2,"kv_heads":2,"queries":4,"keys":4})";
  CHECK_FALSE(read_back(R"({"op":"attention","form":"library",)" + rest));
  CHECK_FALSE(read_back(R"({"op":"attention","form":"quick","head_size":8,)" + rest));
}
