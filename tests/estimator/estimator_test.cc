#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "estimator/app/report/spelling.h"
#include "hwdb/hwdb.h"
#include "tests/support/golden_memory.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

using test::answer;

Request resnet50() {
  Request request;
  request.model = "builtin:resnet50";
  request.devices = {"v100"};
  request.batch = 8;
  return request;
}

}  // namespace

// The built-in network, both exporters' files and one with its norms folded away are one network.
TEST_CASE("every form of ResNet-50 gets the same answer") {
  const test::Scratch scratch;
  Request request = resnet50();
  request.batch = 32;
  const Estimate builtin = answer(request);
  CHECK(builtin.memory.parameter_count == 25557032);
  CHECK(builtin.memory.parameter_bytes == 4 * 25557032);
  CHECK(builtin.memory.gradient_bytes == 4 * 25557032);
  CHECK(builtin.memory.optimizer_state_bytes == 4 * 25557032);
  int64_t flop = 0;
  for (const LayerEstimate& layer : builtin.layers) {
    if (layer.op == "Conv" || layer.op == "Gemm") flop += layer.flop_forward;
  }
  CHECK(flop == int64_t{32} * 2 * 4089184256);  // 4.09 GMAC an image
  for (const char* form : {"train-ts", "train-dy", "eval-ts"}) {
    CAPTURE(form);
    const std::string file = std::string("onnx/") + form + "/torchvision-resnet50.onnx.gz";
    const auto model = gunzip(test::read_bytes(test::golden_path(file)), size_t{64} << 20);
    REQUIRE(model);
    request.model = scratch.write(std::string(form) + ".onnx", *model);
    const Estimate e = answer(request);
    CHECK(e.memory.parameter_count == builtin.memory.parameter_count);
    CHECK(e.memory.gradient_bytes == builtin.memory.gradient_bytes);
    CHECK(e.memory.optimizer_state_bytes == builtin.memory.optimizer_state_bytes);
    CHECK(e.memory.saved_bytes == builtin.memory.saved_bytes);
    CHECK(e.memory.live_peak_bytes == builtin.memory.live_peak_bytes);
    CHECK(e.time.forward_ns == builtin.time.forward_ns);
    CHECK(e.time.backward_ns == builtin.time.backward_ns);
    // In which order a file lists parameters decides how often kernels over lists are launched:
    // here the optimizer's one time more or less in three passes.
    CHECK(std::abs(e.time.step_ns - builtin.time.step_ns) < 10'000);
  }
}

// PyTorch keeps the same bytes for this network in both layouts, while cuDNN is asked about other
// kernels. The figures (momentum, batch 8) come from the memory oracle with model and images turned
// to channels_last by hand; tests/oracles has no option for it.
TEST_CASE("channels last reaches every convolution and changes no feature map") {
  Request request = resnet50();
  const Estimate nchw = answer(request);
  request.layout = Layout::kChannelsLast;
  const Estimate nhwc = answer(request);
  CHECK(nhwc.memory.saved_bytes == 682707968);
  CHECK(nhwc.memory.live_peak_bytes == 940373504);
  CHECK(nhwc.memory.saved_bytes == nchw.memory.saved_bytes);

  const auto hwdb = Hwdb::open({});
  const auto platform = find_platform(*hwdb, request, "v100");
  REQUIRE(platform);
  const auto model = compile(request, *platform);
  REQUIRE(model);
  size_t convolutions = 0;
  for (const Kernel& kernel : model->step.kernels) {
    const auto* p = std::get_if<ConvProblem<Dim>>(&kernel.problem);
    if (!p) continue;
    ++convolutions;
    CHECK(p->channels_last);
  }
  CHECK(convolutions >= 53);
}

TEST_CASE("a data-parallel run answers for all devices and names their link") {
  Request request = resnet50();
  const Estimate one = answer(request);
  request.gpu_count = 4;
  const Estimate four = answer(request);
  CHECK(four.time.communication_ns > 0);
  CHECK(four.time.step_ns >= one.time.step_ns);
  CHECK(four.time.samples_per_second > 2 * one.time.samples_per_second);
  CHECK(four.time.samples_per_second < 4.001 * one.time.samples_per_second);
  CHECK(four.basis.front().find("each of 4 GPUs over nvlink-2") != std::string::npos);
  const auto exchanged = [&](const char* gpu) {
    Request pair = test::request("builtin:resnet50", gpu, 32);
    pair.gpu_count = 2;
    return answer(pair);
  };
  const Estimate fewer = exchanged("h800");  // 8 links of 18
  CHECK(fewer.basis.front().find("over nvlink-4-8") != std::string::npos);
  CHECK(fewer.time.communication_ns > exchanged("h100").time.communication_ns);
  request.link = "ethernet-1g";
  CHECK(answer(request).time.communication_ns > 10 * four.time.communication_ns);
}

// A table is of one size: 29 and 30 words, the mean of padded batches, in all its columns.
TEST_CASE("layers are told at the sizes at which they are timed, not at the longest batch's") {
  Request request = test::request("builtin:seq2seq-nmt", "quadro-p4000", 16);
  const Estimate usual = answer(request);
  request.dims = {{"source", 29}, {"target", 30}};
  const Estimate asked = answer(request);
  CHECK(usual.memory.device_bytes > asked.memory.device_bytes);
  REQUIRE(usual.layers.size() == asked.layers.size());
  for (size_t i = 0; i < usual.layers.size(); ++i) {
    CAPTURE(usual.layers[i].node);
    CHECK(usual.layers[i].flop_forward == asked.layers[i].flop_forward);
    CHECK(usual.layers[i].feature_map_bytes == asked.layers[i].feature_map_bytes);
    CHECK(usual.layers[i].forward_ns == asked.layers[i].forward_ns);
  }
}

TEST_CASE("a built-in is trained as its sources did where that is asked for") {
  Request request = test::request("builtin:seq2seq-nmt", "quadro-p4000", 16);
  const Estimate usual = answer(request);
  request.recipe.published = true;  // with Adam, whose states are two for momentum's one
  const Estimate published = answer(request);
  CHECK(published.memory.optimizer_state_bytes == 2 * usual.memory.optimizer_state_bytes);
  const auto told = [](const std::string& line) { return line.starts_with("recipe: adam"); };
  CHECK(std::ranges::any_of(published.basis, told));
  CHECK(std::ranges::none_of(usual.basis, told));
  request.model = "builtin:resnet50";  // of which nothing is told
  request.given = {"recipe"};
  const Estimate untold = answer(request);
  CHECK(untold.memory.optimizer_state_bytes == untold.memory.parameter_bytes);
  CHECK(std::ranges::any_of(untold.diagnostics, [](const Diagnostic& d) {
    return d.message.find("no published training") != std::string::npos;
  }));
}

// Sentences differ in length: memory has to hold the longest batch, time is that of the usual one.
TEST_CASE("a built-in is timed for an epoch of the data set that it is published for") {
  Request request = resnet50();
  const auto epoch_of = [](const Estimate& e, double steps) {
    return steps * static_cast<double>(e.time.step_ns);
  };
  const Estimate e = answer(request);
  CHECK(e.time.sample_unit == "images");
  REQUIRE(e.time.epoch_ns);
  CHECK(static_cast<double>(*e.time.epoch_ns) == doctest::Approx(epoch_of(e, 160146)));
  CHECK_FALSE(e.time.run_ns);
  CHECK(std::ranges::count(e.basis, "an epoch: the 1281167 samples of ImageNet-1k") == 1);
  request.samples = 80;
  const Estimate own = answer(request);
  CHECK(static_cast<double>(*own.time.epoch_ns) == doctest::Approx(epoch_of(own, 10)));
  CHECK(std::ranges::count(own.basis, "an epoch: the 1281167 samples of ImageNet-1k") == 0);
  request = resnet50();
  request.recipe.mode = Mode::kInference;
  CHECK_FALSE(answer(request).time.epoch_ns);
}

TEST_CASE("memory is read at the longest batch of the data set, time at the usual one") {
  Request request = test::request("builtin:seq2seq-sockeye", "quadro-p4000", 16);
  const Estimate usual = answer(request);
  request.dims = {{"source", 100}, {"target", 100}};
  const Estimate longest = answer(request);
  CHECK(usual.memory.device_bytes == longest.memory.device_bytes);
  CHECK(usual.time.step_ns < longest.time.step_ns);
  const auto said = [](const Estimate& e) {
    return std::any_of(e.basis.begin(), e.basis.end(), [](const std::string& line) {
      return line ==
             "memory at source 100, target 100, the longest batch; time and layers at "
             "source 29, target 30";
    });
  };
  CHECK(said(usual));
  CHECK_FALSE(said(longest));
  request.dims = {{"source", 30}, {"target", 30}};  // as asked
  const Estimate asked = answer(request);
  CHECK(asked.memory.device_bytes < usual.memory.device_bytes);
}

TEST_CASE("an algorithm that some convolutions cannot take is named with what they take") {
  Request request = test::request("builtin:alexnet-kim", "gtx-titan-x", 128);
  request.framework = "torch7";
  request.cudnn = "5.1";
  const auto said = [&](const char* algorithm) {
    request.conv_algorithm = *asked_algorithm(algorithm);
    for (const Diagnostic& d : answer(request).diagnostics) {
      if (d.code == "N526") return spelled(d.message);
    }
    return std::string();
  };
  // The first layer has a stride of four: its forward pass and its gradients.
  CHECK(said("FFT").find("--conv-algo FFT: ") == 0);
  CHECK(said("FFT").find("IMPLICIT_PRECOMP_GEMM") != std::string::npos);
  CHECK(said("IMPLICIT_GEMM").empty());
  CHECK(said("autotune").empty());
}

TEST_CASE("a link that was measured with fewer GPUs is named") {
  Request request = resnet50();
  request.link = "pcie-3-x16";
  const auto said = [&](int64_t gpus, int64_t nodes) {
    request.gpu_count = gpus;
    request.nodes = nodes;
    request.network = "ethernet-10g";
    return std::ranges::count(answer(request).diagnostics, "N527", &Diagnostic::code);
  };
  CHECK(said(8, 1) == 0);
  CHECK(said(16, 1) == 1);
  CHECK(said(16, 2) == 0);  // eight in each
}

TEST_CASE("GPUs that share the work hold NCCL's buffers beside the context") {
  Request request = test::request("builtin:resnet18", "a100", 8);
  const Estimate one = answer(request);
  request.gpu_count = 8;
  const Estimate eight = answer(request);
  // 24 channels, two connections of 9.1875 MiB each.
  CHECK(eight.memory.context_bytes - one.memory.context_bytes == 441 * (int64_t{1} << 20));
  request.link = "pcie-4-x16";
  CHECK(answer(request).memory.context_bytes < eight.memory.context_bytes);
  request.exchange = "data-parallel";  // one process, no NCCL of its own for each
  CHECK(answer(request).memory.context_bytes == one.memory.context_bytes);
}

TEST_CASE("one process for all GPUs is asked for as an exchange, of PyTorch and of one machine") {
  Request request = test::request("builtin:resnet18", "a100", 8);
  request.gpu_count = 4;
  const Estimate each = answer(request);
  request.exchange = "data-parallel";
  const Estimate one = answer(request);
  CHECK(one.time.communication_ns > each.time.communication_ns);
  CHECK(one.time.step_ns > each.time.step_ns);
  CHECK(std::ranges::any_of(one.basis, [](const std::string& line) {
    return line.find("exchange data-parallel; the first GPU also has") != std::string::npos;
  }));
  const auto refused = [](const Request& asked) {
    const auto e = estimate(asked, test::hwdb());
    return e ? "" : e.error().front().code;
  };
  Request other = request;
  other.framework = "mxnet";
  CHECK(refused(other) == "E116");
  other = request;
  other.nodes = 2;
  other.network = "infiniband-edr";
  CHECK(refused(other) == "E116");
}

TEST_CASE("one process for all GPUs makes arrays and modules on each, and adds gradients of each") {
  const auto objects = [](Mode mode, int64_t passes = 1) {
    Request request = test::request("builtin:resnet18", "a100", 8);
    request.recipe.mode = mode;
    request.recipe.accumulate = passes;
    request.gpu_count = 4;
    const Estimate each = answer(request);
    request.exchange = "data-parallel";
    constexpr int64_t kEachNs = 11'000;  // hosts/generic.json; an A100's is the reference machine
    return (answer(request).time.framework_ns - each.time.framework_ns) / (4 * kEachNs);
  };
  // 62 parameters, two statistics and a counter of 20 norms, 68 operators.
  CHECK(objects(Mode::kInference) == 62 + 60 + 68);
  CHECK(objects(Mode::kTrain) == 62 + 60 + 68 + 2 * 62);
  CHECK(objects(Mode::kTrain, 4) == 4 * objects(Mode::kTrain));
}

TEST_CASE("a step that its host decides is less certain on a machine of which nothing is known") {
  const auto width = [](const char* host, int64_t batch) {
    Request asked = test::request("builtin:squeezenet1_0", "gtx-1080", batch);
    asked.recipe.mode = Mode::kInference;
    asked.framework = "tensorflow-1.4";
    asked.host = host;
    const auto [low, high] = answer(asked).time.step_range_ns;
    return static_cast<double>(high) / static_cast<double>(low);
  };
  CHECK(width("generic", 1) > 1.3 * width("dlinfbench-gtx-1080", 1));
  CHECK(width("generic", 128) < 1.1 * width("dlinfbench-gtx-1080", 128));
}

TEST_CASE("settings of PyTorch's allocator change what it reserves, and nothing else") {
  Request request = test::request("builtin:resnet50", "rtx-3090", 32);
  const Estimate usual = answer(request);
  request.allocator = "expandable_segments:True";
  const Estimate expandable = answer(request);
  CHECK(expandable.memory.live_peak_bytes == usual.memory.live_peak_bytes);
  CHECK(expandable.memory.reserved_bytes < usual.memory.reserved_bytes);
  request.allocator = "roundup_power2_divisions:4";
  CHECK(answer(request).memory.reserved_bytes > usual.memory.reserved_bytes);
  request.framework = "mxnet";
  const auto refused = estimate(request, *Hwdb::open());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "E161");
  // Chainer's pool is replayed by the same rules, but takes no such settings.
  request.allocator = "expandable_segments:True";
  request.framework = "chainer";
  CHECK(estimate(request, *Hwdb::open()).error().front().code == "E161");
}

}  // namespace plimsoll
