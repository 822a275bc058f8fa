#include "estimator/library/workspace/tables.h"

#include <doctest/doctest.h>

#include "estimator/library/workspace/legacy.h"
#include "hwdb/hwdb.h"
#include "tests/estimator/memory/asked.h"

namespace plimsoll {}

using namespace plimsoll;

namespace {

WorkspaceTables tables(int capability, DType dtype = DType::kFloat32) {
  return *WorkspaceTables::load(Hwdb(), {.capability = capability, .dtype = dtype});
}

// The second layer of ResNet-50's first blocks.
ConvProblem<int64_t> three_by_three(int64_t batch) {
  return {.n = batch,
          .c = 64,
          .k = 64,
          .in = {1, 56, 56},
          .out = {1, 56, 56},
          .filter = {1, 3, 3},
          .pad = {0, 1, 1}};
}

const WorkspacePolicy kIdeal{.rule = ScratchRule::kIdeal};

}  // namespace

TEST_CASE("workspace table: cuDNN's first plan, to the byte, for every kept answer") {
  for (const int capability : {61, 70, 75, 80, 86, 90}) {
    const WorkspaceTables asked_tables = tables(capability);
    int problems = 0;
    for (const auto& asked : test::read_asked(capability)) {
      CAPTURE(capability);
      CAPTURE(asked.text);
      const auto choice = asked_tables.choose(asked.problem, asked.pass, kIdeal);
      REQUIRE(choice.has_value());
      CHECK(choice->basis == WorkspaceBasis::kTable);
      CHECK(choice->plan.engine == asked.plans[0].engine);
      CHECK(choice->plan.bytes == asked.plans[0].bytes);
      // Without TF32: the first plan that needs no tensor cores.
      WorkspacePolicy plain{.rule = ScratchRule::kLibrary};
      plain.tensor_cores = false;
      const auto filtered = asked_tables.choose(asked.problem, asked.pass, plain);
      int64_t largest = 0;
      for (const auto& plan : asked.plans) largest = std::max(largest, plan.bytes);
      for (const auto& plan : asked.plans) {
        if (plan.tensor_core) continue;
        CHECK(filtered->plan.bytes == plan.bytes);
        break;
      }
      CHECK(choice->largest >= largest);
      CHECK(static_cast<double>(choice->largest) <= 1.2 * static_cast<double>(largest) + 1);
      ++problems;
    }
    CHECK(problems >= 100);
  }
}

TEST_CASE("workspace rule: another batch, and a layer of no network") {
  const WorkspaceTables pascal = tables(61);
  const auto other_batch = pascal.choose(three_by_three(48), Pass::kForward, {});
  CHECK(other_batch->basis == WorkspaceBasis::kRule);
  CHECK(other_batch->plan.algorithm == "winograd");
  CHECK(other_batch->plan.bytes == 409856);
  auto unknown = three_by_three(8);
  unknown.c = unknown.k = 72;
  const auto guessed = pascal.choose(unknown, Pass::kForward, {});
  CHECK(guessed->basis == WorkspaceBasis::kRule);
  CHECK(guessed->plan.algorithm == "winograd");
  CHECK(guessed->low <= guessed->plan.bytes);
  CHECK(guessed->plan.bytes <= guessed->high);
  // Maxwell and both Pascals answer alike; a card cuDNN 9 does not know only resembles them.
  CHECK(tables(52).choose(three_by_three(32), Pass::kForward, {})->basis == WorkspaceBasis::kTable);
  CHECK(tables(37).choose(three_by_three(32), Pass::kForward, {})->basis == WorkspaceBasis::kRule);
}

TEST_CASE("PyTorch: depthwise in its own kernels, TF32, benchmark") {
  auto depthwise = three_by_three(32);
  depthwise.groups = 64;
  const auto own = tables(61).choose(depthwise, Pass::kForward, {});
  CHECK(own->plan.algorithm == "depthwise");
  CHECK(own->plan.bytes == 0);
  CHECK(tables(61).choose(depthwise, Pass::kForward, kIdeal)->plan.engine >= 0);

  const WorkspaceTables ampere = tables(80);
  const auto tf32 = ampere.choose(three_by_three(32), Pass::kForward, {});
  CHECK(tf32->plan.tensor_core);
  CHECK(tf32->plan.bytes == 25837584);  // x + w + 16: copies in another layout
  WorkspacePolicy off;
  off.tensor_cores = false;
  CHECK(ampere.choose(three_by_three(32), Pass::kForward, off)->plan.algorithm == "winograd");

  // Copies cost more than a 1x1 convolution of few channels takes: benchmark keeps the plain plan.
  ConvProblem<int64_t> pointwise{
      .n = 32, .c = 16, .k = 96, .in = {1, 112, 112}, .out = {1, 112, 112}};
  WorkspacePolicy benchmark;
  benchmark.benchmark = true;
  const auto first = ampere.choose(pointwise, Pass::kForward, {});
  const auto fastest = ampere.choose(pointwise, Pass::kForward, benchmark);
  CHECK(first->plan.tensor_core);
  CHECK(!fastest->plan.tensor_core);
  CHECK(fastest->largest >= first->plan.bytes);
  // A limit leaves what fits.
  WorkspacePolicy limited;
  limited.limit = 1 << 20;
  CHECK(ampere.choose(three_by_three(32), Pass::kForward, limited)->plan.bytes <= 1 << 20);
}

TEST_CASE("workspace bounds: 3-D convolutions, types without a table, impossible problems") {
  ConvProblem<int64_t> video{
      .n = 2, .c = 3, .k = 64, .in = {16, 112, 112}, .out = {16, 56, 56}, .filter = {3, 7, 7}};
  const auto bounds = tables(80).choose(video, Pass::kForward, {});
  CHECK(bounds->basis == WorkspaceBasis::kInterval);
  CHECK(bounds->low <= bounds->plan.bytes);
  CHECK(bounds->plan.bytes <= bounds->high);
  const auto fp64 = tables(80, DType::kFloat64).choose(three_by_three(8), Pass::kForward, {});
  CHECK(fp64.has_value());
  auto impossible = three_by_three(8);
  impossible.groups = 0;
  CHECK(tables(61).choose(impossible, Pass::kForward, {}).error()[0].code == "E232");
  impossible.groups = 7;
  CHECK(tables(61).choose(impossible, Pass::kForward, {}).error()[0].code == "E232");
}

// TensorFlow's allocator doubles its regions until the scratch memory that it tries fits: those
// that DLInfBench's runs at batch 1 end with bracket what an FFT asks for.
TEST_CASE("cuDNN 5 to 7: an FFT's scratch memory lies where TensorFlow's regions say") {
  const auto fft = [](int64_t side, int64_t channels) {
    const WorkspaceShape v = *conv_shape({.n = 1,
                                          .c = channels,
                                          .k = channels,
                                          .in = {1, side, side},
                                          .out = {1, side, side},
                                          .filter = {1, 3, 3},
                                          .pad = {0, 1, 1}});
    for (const LegacyAlgorithm& a : legacy_algorithms(v, Pass::kForward, DType::kFloat32)) {
      if (std::string_view(a.name) == "fft") return a.bytes >> 20;
    }
    return int64_t{0};
  };
  CHECK(fft(7, 512) > 512);  // ResNet's last stage
  CHECK(fft(7, 512) <= 1024);
  CHECK(fft(224, 64) > 2048);  // VGG's first
  CHECK(fft(224, 64) <= 4096);
}

TEST_CASE("cuDNN 5 to 7: Winograd to the byte, brackets of the non-fused one, limits") {
  const WorkspaceShape v = *conv_shape(three_by_three(32));
  // LBANN issue 437: "only 256 KiB" for ResNet-50's res2a_branch2b.
  CHECK(legacy_choice(v, Pass::kForward, DType::kFloat32, 61, {}).bytes == 262144);
  const auto nonfused = legacy_choice(v, Pass::kForward, DType::kFloat32, 70, {});
  CHECK(std::string(nonfused.name) == "winograd_nonfused");
  CHECK(nonfused.bytes > 128 << 20);  // cumo issue 502
  CHECK(nonfused.bytes <= 256 << 20);
  CHECK(legacy_choice(v, Pass::kForward, DType::kFloat32, 70, 8 << 20).bytes == 262144);
  CHECK(legacy_choice(v, Pass::kForward, DType::kFloat32, 61, 0).bytes == 0);
  const auto old = WorkspaceTables::load(Hwdb(), {.capability = 52, .cudnn_major = 5});
  const auto choice = old->choose(three_by_three(32), Pass::kForward, {});
  CHECK(choice->plan.algorithm == "winograd");
  CHECK(choice->basis == WorkspaceBasis::kInterval);
  CHECK(choice->high >= choice->plan.bytes);
}

TEST_CASE("workspace tables: the largest of an absurd batch is no more than 64 bits count") {
  const auto table = WorkspaceTable::read(
      std::string(*hwdb_files().read("workspaces/cudnn-9.10-sm61-fp32-nchw.bin")));
  WorkspaceShape shape = *conv_shape(three_by_three(32));
  shape.n = int64_t{1} << 60;
  int64_t largest = 0;
  for (uint32_t layer = 0; layer < table->layers(); ++layer) {
    const KnownPlans known = table->find(layer, shape, Pass::kForward, DType::kFloat32);
    CHECK(known.largest >= 0);
    largest = std::max(largest, known.largest);
  }
  CHECK(largest >= int64_t{1} << 60);
}

TEST_CASE("workspace tables and rules: damaged bytes are errors") {
  CHECK(LayerList::read("PLL1").error()[0].code == "E301");
  CHECK(WorkspaceTable::read("PLW1........").error()[0].code == "E301");
  const auto table = *hwdb_files().read("workspaces/cudnn-9.10-sm61-fp32-nchw.bin");
  for (const size_t length : {size_t{4}, size_t{11}, size_t{40}, table.size() - 1}) {
    CHECK(!WorkspaceTable::read(table.substr(0, length)));
  }
  std::string no_batch = table;
  no_batch[12] = no_batch[13] = no_batch[14] = no_batch[15] = 0;
  CHECK(!WorkspaceTable::read(no_batch));
  CHECK(!WorkspaceRule::read("{}", "rule.json"));
  const std::string tree =
      R"({"trees": [{"pass": "fprop", "tensor_cores": false, "plans": [[1,2,0,0,0]],)";
  CHECK(WorkspaceRule::read(tree + R"("feature": "-1", "value": "0", "right": "0"}]})", "r"));
  CHECK(!WorkspaceRule::read(tree + R"("feature": "-1", "value": "1", "right": "0"}]})", "r"));
  CHECK(!WorkspaceRule::read(tree + R"("feature": "0", "value": "0", "right": "0"}]})", "r"));
  CHECK(!WorkspaceRule::read(tree + R"("feature": "0 x", "value": "0", "right": "0"}]})", "r"));
}

// ConvParams::use_cudnn of aten/src/ATen/native/Convolution.cpp.
TEST_CASE("PyTorch convolves bf16 by columns where the card has none") {
  const auto problem = three_by_three(32);
  const int64_t columns = int64_t{64} * 9 * 56 * 56 * 2;
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights}) {
    const auto turing = tables(75, DType::kBFloat16).choose(problem, pass, {});
    CHECK(turing->plan.algorithm == "im2col");
    CHECK(turing->plan.bytes == columns);
    CHECK(tables(80, DType::kBFloat16).choose(problem, pass, {})->plan.algorithm != "im2col");
    CHECK(tables(75, DType::kFloat16).choose(problem, pass, {})->plan.algorithm != "im2col");
  }
  auto pixels = problem;
  pixels.filter = {1, 1, 1};
  pixels.pad = {0, 0, 0};
  CHECK(tables(61, DType::kBFloat16).choose(pixels, Pass::kForward, {})->plan.bytes == 0);
}
