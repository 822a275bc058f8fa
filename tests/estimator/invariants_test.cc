// What holds of every answer, tried on everything that ships.
#include "tests/support/invariants.h"

#include <doctest/doctest.h>

#include <array>

#include "graph/builtin/builtin.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

const Hwdb& hwdb() {
  static const Hwdb kHwdb = *Hwdb::open();
  return kHwdb;
}

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
    request_ = test::request("builtin:" + model, gpu, 2);
    request_.framework = framework;
    request_.recipe.mode = mode;
    request_.minimum = true;
  }

  void check() {
    const auto small = estimate(request_, hwdb());
    CAPTURE(request_.model);
    CAPTURE(request_.framework);
    CAPTURE(static_cast<int>(request_.recipe.mode));
    const std::string why = small ? "" : small.error().front().message;
    CAPTURE(why);
    REQUIRE(small);
    for (const std::string& fault : test::check_invariants(*small)) FAIL_CHECK(fault);
    request_.batch = 3;
    const auto large = estimate(request_, hwdb());
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
    for (const std::string& framework : hwdb().framework_ids()) {
      for (const Mode mode : {Mode::kTrain, Mode::kInference})
        Trial(model, framework, mode, kGpus[turn++ % kGpus.size()]).check();
    }
  }
}

TEST_CASE("invariants: every built-in, in one framework after the other") {
  const std::vector<std::string> frameworks = hwdb().framework_ids();
  size_t turn = 0;
  for (const BuiltinRow& model : builtin_models()) {
    for (const Mode mode : {Mode::kTrain, Mode::kInference}) {
      Trial(model.name, frameworks[turn % frameworks.size()], mode, kGpus[turn % kGpus.size()])
          .check();
      ++turn;
    }
  }
}
