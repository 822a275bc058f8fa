// One choice: what memory counts and what time takes are of one algorithm, in
// every framework, and a limit of scratch memory acts on both.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "estimator/estimator.h"
#include "estimator/library/conv_choice.h"
#include "estimator/library/kernel_time.h"
#include "estimator/library/workspace_plan.h"
#include "estimator/request/find_platform.h"
#include "graph/ir/kernel_label.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// A step's convolutions under one limit of scratch memory, by KernelId.
struct Chosen {
  WorkspacePlan memory;
  std::vector<KernelTime> times;
  bool operator==(const Chosen& other) const {
    return memory.uses == other.memory.uses && memory.algorithms == other.memory.algorithms &&
           times == other.times;
  }
  int64_t most() const { return std::ranges::max(memory.uses, {}, &WorkspaceUse::bytes).bytes; }
};

// A network of one framework on one card, compiled once.
class Network {
 public:
  Network(Request request, const Platform& platform, CompiledModel model)
      : request_(std::move(request)),
        platform_(platform),
        model_(std::move(model)),
        bound_(*bind_step(model_.step, model_.binding)) {}

  // As a request for this limit has it.
  Chosen asked(std::optional<int64_t> limit) {
    request_.workspace_limit = limit;
    return chosen(Evaluator::make(platform_, request_)->context());
  }
  // As what is free of a card has it, which no framework's own limit widens.
  Chosen under(int64_t limit) {
    request_.workspace_limit = std::numeric_limits<int64_t>::max();
    if (!evaluator_) evaluator_.emplace(*Evaluator::make(platform_, request_));
    return chosen(within(evaluator_->context(), limit));
  }
  bool times_algorithms() const {
    return Evaluator::make(platform_, request_)->context().offers()->behaviour.policy.benchmark;
  }
  const std::vector<KernelAt>& kernels() const { return bound_.kernels; }
  static bool is_convolution(const KernelAt& kernel) {
    return std::holds_alternative<ConvProblem<int64_t>>(kernel.problem);
  }

 private:
  Chosen chosen(const TimeContext& context) const {
    Chosen chosen{.memory = *plan_workspaces(bound_, platform_.device, context), .times = {}};
    for (const KernelAt& kernel : bound_.kernels)
      chosen.times.push_back(is_convolution(kernel) ? kernel_time(kernel, context) : KernelTime{});
    return chosen;
  }

  Request request_;
  Platform platform_;
  CompiledModel model_;
  BoundStep bound_;
  std::optional<Evaluator> evaluator_;
};

// Products in whatever form are one: engines do not say which.
std::string method(std::string_view algorithm) {
  std::string text(algorithm);
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  const bool transforms = text.starts_with("winograd") || text.starts_with("fft");
  return transforms || text == "depthwise" || text == "im2col" ? text : "product";
}

void check_names(const Network& network, const Chosen& chosen, int& compared) {
  for (size_t id = 0; id < chosen.times.size(); ++id) {
    const KernelAt& kernel = network.kernels()[id];
    if (!Network::is_convolution(kernel) || chosen.memory.algorithms[id].empty()) continue;
    // Depthwise and grouped layers have kernels of their own, priced by what
    // they move.
    if (std::get<ConvProblem<int64_t>>(kernel.problem).groups > 1) continue;
    CAPTURE(kernel_label(kernel));
    ++compared;
    CHECK(method(chosen.times[id].algorithm) == method(chosen.memory.algorithms[id]));
    if (method(chosen.times[id].algorithm) == "im2col") continue;  // image by image, no call's
    CHECK(chosen.times[id].workspace == static_cast<double>(chosen.memory.uses[id].bytes));
  }
}

void check_monotone(const Chosen& less, const Chosen& more, bool timed,
                    const std::vector<KernelAt>& kernels) {
  for (size_t id = 0; id < kernels.size(); ++id) {
    CAPTURE(kernel_label(kernels[id]));
    CHECK(more.memory.uses[id].bytes >= less.memory.uses[id].bytes);
    // A library that guesses takes its first guess, whatever that is priced at.
    if (timed) CHECK(more.times[id].seconds <= less.times[id].seconds * (1 + 1e-9));
  }
}

constexpr std::array kFrameworks = {
    "pytorch", "pytorch-1.13", "pytorch-1.4", "tensorflow-1", "tensorflow-2.2", "mxnet", "caffe",
    "caffe2",  "chainer",      "cntk",        "theano",       "torch7",         "ideal"};
constexpr std::array kChoosingCards = {"gtx-titan-x", "tesla-p100-pcie-16gb",
                                       "tesla-v100-sxm2-16gb", "tesla-t4", "rtx-3090"};
constexpr std::array kNetworks = {
    "alexnet",      "alexnet-kim",     "cnn-cifar",     "dcgan",        "deep-speech-2",
    "densenet121",  "googlenet",       "googlenet-v1",  "inception-bn", "inception_v3",
    "inception-v4", "mnasnet1_0",      "mobilenet_v2",  "overfeat",     "resnet18",
    "resnet50",     "resnext50_32x4d", "squeezenet1_0", "vgg11",        "vgg16"};

}  // namespace

TEST_CASE(
    "one choice: no limit is an infinite limit, more is never slower, "
    "timed is charged") {
  constexpr std::array<int64_t, 5> kLimits = {0, 1 << 20, 8 << 20, 128 << 20, int64_t{2} << 30};
  constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();
  size_t turn = 0;
  int compared = 0, steps = 0, limited = 0;
  for (const char* name : kNetworks) {
    for (const char* framework : kFrameworks) {
      const char* card = kChoosingCards[turn++ % kChoosingCards.size()];
      Request request = test::request("builtin:" + std::string(name), card, 2);
      request.framework = framework;
      // Of PyTorch every second network times its algorithms.
      if (request.framework.starts_with("pytorch")) request.cudnn_benchmark = turn % 2 == 0;
      const auto platform = find_platform(test::hwdb(), request, card);
      REQUIRE(platform);
      CAPTURE(name);
      CAPTURE(framework);
      CAPTURE(card);
      auto model = compile(request, *platform);
      REQUIRE(model);
      Network network(request, *platform, std::move(*model));
      const Chosen free = network.asked({});
      check_names(network, free, compared);
      // The framework's own limit is one like the user's.
      const auto& own = platform->framework.workspace_limit;
      CHECK(network.asked(own ? own->value : kInfinite) == free);
      std::optional<Chosen> less;
      for (const int64_t limit : kLimits) {
        CAPTURE(limit);
        Chosen more = network.under(limit);
        CHECK(more.most() <= limit);
        check_names(network, more, compared);
        if (less) check_monotone(*less, more, network.times_algorithms(), network.kernels());
        limited += less && more.most() > less->most();
        less = std::move(more);
      }
      ++steps;
    }
  }
  CHECK(steps == static_cast<int>(kNetworks.size() * kFrameworks.size()));
  CHECK(compared > 20000);
  CHECK(limited > 100);
}

}  // namespace plimsoll
