// What holds of every answer, tried on everything that ships.
#include "tests/support/invariants.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "graph/builtin/builtin.h"
#include "tests/support/golden_memory.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

// Models of most operators, and small ones: each is compiled for each framework and mode.
constexpr std::array kEverywhere = {"a3c",
                                    "alexnet-bvlc",
                                    "bert-base",
                                    "cnn-cifar",
                                    "dcgan",
                                    "deep-speech-2",
                                    "densenet-cifar",
                                    "googlenet-v1",
                                    "gnmt",
                                    "gru-imdb",
                                    "lstm-lm",
                                    "mlp",
                                    "mobilenet_v2",
                                    "resnet18",
                                    "resnet50",
                                    "seq2seq-nmt",
                                    "shufflenet_v2_x1_0",
                                    "swin_t",
                                    "transformer-base",
                                    "vgg11",
                                    "vit_b_16",
                                    "wgan"};
constexpr std::array kGpus = {"quadro-p4000", "a100-sxm-40gb", "gtx-titan-x"};

// A model of a request, evaluated at batches.
class Trial {
 public:
  Trial(const std::string& model, const std::string& framework, Mode mode, const char* gpu) {
    request_ = test::request(model.starts_with("/") ? model : "builtin:" + model, gpu, 2);
    request_.framework = framework;
    request_.recipe.mode = mode;
    request_.minimum = true;
  }

  // A file, at one batch.
  void check_file() {
    CAPTURE(request_.model);
    CAPTURE(request_.framework);
    const auto e = estimate(request_, test::hwdb());
    const std::string why = e ? "" : e.error().front().message;
    CAPTURE(why);
    REQUIRE(e);
    for (const std::string& fault : test::check_invariants(*e)) FAIL_CHECK(fault);
  }

  void check() {
    const auto small = estimate(request_, test::hwdb());
    CAPTURE(request_.model);
    CAPTURE(request_.framework);
    CAPTURE(static_cast<int>(request_.recipe.mode));
    const std::string why = small ? "" : small.error().front().message;
    CAPTURE(why);
    REQUIRE(small);
    for (const std::string& fault : test::check_invariants(*small)) FAIL_CHECK(fault);
    request_.batch = 3;
    const auto large = estimate(request_, test::hwdb());
    REQUIRE(large);
    for (const std::string& fault : test::check_invariants(*large)) FAIL_CHECK(fault);
    for (const std::string& fault : test::check_growth(*small, *large)) FAIL_CHECK(fault);
  }

 private:
  Request request_;
};

}  // namespace

TEST_CASE("invariants: many models in every framework, training and inference") {
  size_t turn = 0;
  for (const char* model : kEverywhere) {
    for (const std::string& framework : test::hwdb().framework_ids()) {
      for (const Mode mode : {Mode::kTrain, Mode::kInference})
        Trial(model, framework, mode, kGpus[turn++ % kGpus.size()]).check();
    }
  }
}

TEST_CASE("invariants: every built-in, in one framework after the other") {
  const std::vector<std::string> frameworks = test::hwdb().framework_ids();
  size_t turn = 0;
  for (const BuiltinRow& model : builtin_models()) {
    for (const Mode mode : {Mode::kTrain, Mode::kInference}) {
      Trial(model.name, frameworks[turn % frameworks.size()], mode, kGpus[turn % kGpus.size()])
          .check();
      ++turn;
    }
  }
}

TEST_CASE("invariants: recipes and settings") {
  using Change = void (*)(Request&);
  constexpr Change kChanges[] = {
      [](Request& r) { r.cudnn_benchmark = true; },
      [](Request& r) { r.recipe.precision = find_precision("amp-fp16"); },
      [](Request& r) { r.recipe.precision = find_precision("fp16"); },
      [](Request& r) { r.recipe.precision = find_precision("fp64"); },
      [](Request& r) { r.recipe.accumulate = 4; },
      [](Request& r) { r.gpu_count = 4; },
      [](Request& r) { r.allocator = "expandable_segments:True"; },
      [](Request& r) { r.workspace_limit = 1 << 20; },
      [](Request& r) { r.recipe.optimizer = find_optimizer("adam"); },
  };
  for (const char* model : {"resnet50", "bert-base", "mobilenet_v2"}) {
    for (const Mode mode : {Mode::kTrain, Mode::kInference}) {
      for (size_t i = 0; i < std::size(kChanges); ++i) {
        Request request = test::request(std::string("builtin:") + model, "tesla-t4", 16);
        request.recipe.mode = mode;
        request.minimum = true;
        kChanges[i](request);
        CAPTURE(request.model);
        CAPTURE(i);
        for (const std::string& fault : test::check_invariants(test::answer(request)))
          FAIL_CHECK(fault);
      }
    }
  }
}

// Files of both exporters that ask for a batch alone, one in four.
TEST_CASE("invariants: exported files") {
  const std::vector<std::string> frameworks = test::hwdb().framework_ids();
  const test::Scratch scratch;
  size_t turn = 0, checked = 0;
  for (const char* form : {"onnx/train-ts", "onnx/train-dy", "onnx/families"}) {
    std::vector<std::filesystem::path> files;
    for (const auto& at : std::filesystem::directory_iterator(test::golden_path(form)))
      files.push_back(at.path());
    std::ranges::sort(files);
    for (const auto& file : files) {
      if (turn++ % 4 != 0 || !file.string().ends_with(".onnx.gz")) continue;
      const auto bytes = gunzip(test::read_bytes(file.string()), size_t{64} << 20);
      REQUIRE(bytes);
      const std::string path = scratch.write("model.onnx", *bytes);
      CAPTURE(file.string());
      const Mode mode = turn % 8 < 4 ? Mode::kTrain : Mode::kInference;
      // Those with other open sizes ask for flags of their own.
      if (!estimate(test::request(path, "quadro-p4000", 2), test::hwdb())) continue;
      Trial(path, frameworks[turn / 4 % frameworks.size()], mode, kGpus[turn % kGpus.size()])
          .check_file();
      ++checked;
    }
  }
  CHECK(checked > 10);
}
