#include "estimator/estimator.h"
#include "estimator/answer/detail.h"
#include "estimator/answer/layers.h"
#include "estimator/answer/mean.h"
#include "estimator/answer/on_host.h"
#include "estimator/model/model_source.h"
#include "estimator/request/find_platform.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/answer/effects.h"
#include "estimator/answer/platform_notes.h"
#include "estimator/memory/memory_plan.h"
#include "estimator/memory/replay_input.h"
#include "estimator/model/valid_step.h"
#include "estimator/request/lengths.h"
#include "estimator/request/policy.h"
#include "estimator/time/time_plan.h"
#include "graph/base/setting.h"
#include "graph/ops/routing.h"

namespace plimsoll {
namespace {

int library_number(const Version& version) {
  const auto part = [&](size_t i) { return i < version.numbers.size() ? version.numbers[i] : 0; };
  return part(0) * 100 + part(1);
}

AlgorithmPolicy policy_of(const FrameworkProfile& framework, const Request& request) {
  if (request.cudnn_benchmark)
    return *request.cudnn_benchmark ? AlgorithmPolicy::kAutotune : AlgorithmPolicy::kHeuristic;
  switch (framework.conv_policy) {
    case FrameworkProfile::ConvPolicy::kHeuristic:
      return AlgorithmPolicy::kHeuristic;
    case FrameworkProfile::ConvPolicy::kAutotune:
      return AlgorithmPolicy::kAutotune;
    case FrameworkProfile::ConvPolicy::kIm2col:
      return AlgorithmPolicy::kIm2col;
    case FrameworkProfile::ConvPolicy::kProducts:
      return AlgorithmPolicy::kDeterministic;
  }
  return AlgorithmPolicy::kHeuristic;
}

// Parameters in 16 bits keep PyTorch's norms from cuDNN (aten/src/ATen/native/Normalization.cpp).
bool has_persistent_norm(const FrameworkProfile& framework, const Version& cudnn,
                         const Recipe& recipe) {
  const bool half = bits(recipe.precision->storage) <= 16 && !recipe.precision->batch_norms_in_fp32;
  return framework.persistent_norm_since && !(cudnn < *framework.persistent_norm_since) && !half;
}

RecurrentHabits recurrent_habits(const FrameworkProfile& framework, const Version& cudnn) {
  const auto since = [&](const std::optional<Version>& first) {
    return first && !(cudnn < *first);
  };
  return {.persistent = since(framework.persistent_recurrent_since),
          .small = since(framework.small_recurrent_since)};
}

// Whether the framework turns the network's images to channels last by itself.
bool turns_half(const Platform& platform, const Recipe& recipe) {
  const FrameworkProfile& f = platform.framework;
  const bool half = product_type(*recipe.precision) == DType::kFloat16;
  return half && f.turns_half_since && !(f.asked < *f.turns_half_since) &&
         platform.device.peak("fp16_tensor") != nullptr;
}

TimeOptions time_options(const Platform& platform, const Request& request) {
  TimeOptions options;
  options.library.cudnn = library_number(platform.cudnn);
  options.policy = policy_of(platform.framework, request);
  const bool last = request.layout == Layout::kNative ? platform.framework.channels_last
                                                      : request.layout == Layout::kChannelsLast;
  const bool turned = turns_half(platform, request.recipe);
  options.layout = last || turned ? Layout::kChannelsLast : Layout::kChannelsFirst;
  if (last && !turned) {
    options.norm_factor = platform.framework.channels_last_norm;
    options.concat_factor = platform.framework.channels_last_concat;
  }
  options.max_pool_backward = platform.framework.max_pool_backward;
  options.bias_factor = platform.framework.bias_factor;
  options.relu_factor = platform.framework.relu_factor;
  options.separate_batch_norm = platform.framework.separate_batch_norm;
  options.persistent_norm = has_persistent_norm(platform.framework, platform.cudnn, request.recipe);
  options.recurrent = recurrent_habits(platform.framework, platform.cudnn);
  // aten/src/ATen/cuda/detail/CUDAHooks.cpp: supportsBFloat16ConvolutionWithCuDNNv8.
  if (platform.framework.framework == "pytorch") options.bf16_library_since = 80;
  if (request.machine && request.machine->gpu == platform.device.id)
    options.machine = request.machine->factors;
  if (const auto& asked = request.conv_algorithm) {
    options.policy = asked->policy;
    options.forced = asked->algorithm;
  }
  options.workspace_limit =
      workspace_limit(platform.framework, request, is_guessed(options.policy));
  return options;
}

Result<void> check_loading(const Platform& platform, const Request& request) {
  if (request.module_loading != ModuleLoading::kLazy || can_load_lazily(platform.cuda)) return {};
  return error("E162", fmt::format("{}: CUDA {} of {} cannot, 11.7 is the first",
                                   setting("module-loading", "lazy"), platform.cuda.text(),
                                   platform.framework.id));
}

}  // namespace

Result<CompiledModel> compile(const Request& request, const Platform& platform) {
  auto model = load_model(request);
  if (!model) return tl::make_unexpected(model.error());
  if (auto assumed = check_assumed(*model, request); !assumed)
    return tl::make_unexpected(assumed.error());
  auto compiled =
      compile(std::move(*model), request, request.recipe, policy_for(platform, request));
  if (!compiled) return compiled;
  const Diagnostics more = platform_warnings(platform, request);
  compiled->warnings.insert(compiled->warnings.end(), more.begin(), more.end());
  for (Diagnostic& d : without_effect(request, platform, *compiled))
    compiled->warnings.push_back(std::move(d));
  return compiled;
}

Evaluator::Evaluator(Platform platform, const Request& request, TimeContext context)
    : platform_(std::move(platform)), request_(request), context_(std::move(context)) {}

Result<Evaluator> Evaluator::make(Platform platform, const Request& request) {
  if (platform.device.is_host) return of_memory_alone();
  if (auto loading = check_loading(platform, request); !loading)
    return tl::make_unexpected(loading.error());
  auto calibrations = Calibrations::open(platform.hwdb);
  if (!calibrations) return tl::make_unexpected(calibrations.error());
  ConvOffers offers = conv_offers(
      platform, request,
      WorkspaceBooks(platform.hwdb, platform.device, platform.cudnn, asked_on(platform, request)));
  TimeContext context(rates_of(platform.device), std::move(*calibrations),
                      time_options(platform, request),
                      std::make_shared<const ConvOffers>(std::move(offers)));
  return Evaluator(std::move(platform), request, std::move(context));
}

namespace {

void set_rates(Estimate& e, const BoundStep& bound, const DeviceRates& rates) {
  const auto known = [](double rate) {
    return rate > 0 ? std::optional<double>(rate) : std::nullopt;
  };
  e.peak_flops = known(highest_flops(bound, rates));
  e.bandwidth_bytes_per_second = known(rates.bandwidth);
}

void set_workspaces(TimePlan& time, const WorkspacePlan& workspaces) {
  for (size_t id = 0; id < time.prices.size(); ++id)
    time.prices[id].workspace_bytes = workspaces.uses[id].bytes;
}

}  // namespace

tl::unexpected<Diagnostics> too_long(const Device& device) {
  return error("E232", fmt::format("on {} this takes more than the 292 years that nanoseconds in "
                                   "64 bits count",
                                   device.id));
}

Result<DevicePlan> Evaluator::device(const CompiledModel& model, StepBinder& step,
                                     const Binding& binding, LastReplay* last) const {
  const Binding largest = largest_batch(model, binding);
  if (!guards_hold(model.step, largest)) return other_decisions(model, largest);
  const auto bound = step(largest);
  if (!bound) return too_large(model, largest, bound.error());
  const auto workspaces = plan_workspaces(**bound, platform_, context_);
  if (!workspaces) return tl::make_unexpected(workspaces.error());
  return plan_device(model, **bound, largest, platform_, request_, *workspaces, last);
}

Result<Estimate> Evaluator::estimate(const CompiledModel& model, const Binding& binding) const {
  auto bound = bind_where_valid(model, binding);
  if (!bound) return tl::make_unexpected(bound.error());
  const int64_t batch = batch_at(model, binding);
  TimePlan time = plan_time(model, *bound, binding, platform_, context_, request_);
  if (!countable(time.estimate)) return too_long(platform_.device);
  auto workspaces = plan_workspaces(*bound, platform_, context_);
  if (!workspaces) return tl::make_unexpected(workspaces.error());
  set_workspaces(time, *workspaces);
  const int64_t granule = granule_of(platform_.framework);
  // A table is of one size: layers as time is, memory and what is beside it where it is read.
  std::vector<LayerEstimate> layers = layers_of(model, *bound, granule, time.prices);
  const Binding largest = largest_batch(model, binding);
  if (largest != binding) {
    bound = bind_where_valid(model, largest);
    if (!bound) return tl::make_unexpected(bound.error());
    workspaces = plan_workspaces(*bound, platform_, context_);
    if (!workspaces) return tl::make_unexpected(workspaces.error());
    set_workspaces(time, *workspaces);
  }
  auto memory = plan_memory(model, *bound, largest, platform_, request_, *workspaces);
  if (!memory) return tl::make_unexpected(memory.error());
  Estimate e;
  e.input = model.facts;
  e.input.batch = batch;
  e.input.symbols = binding;
  e.device_id = platform_.device.id;
  e.device_name = platform_.device.name;
  e.device_memory_bytes = memory_bytes(platform_, request_);
  e.usable_bytes = usable_bytes(platform_, request_);
  set_rates(e, *bound, context_.rates());
  e.memory = std::move(*memory);
  e.time = time.estimate;
  e.fits = e.memory.device_bytes <= e.usable_bytes;
  e.layers = std::move(layers);
  e.kept = kept_of(model, *bound, granule);
  if (request_.trace || request_.detail) {
    const auto storages = storages_of(model, *bound, platform_.framework);
    if (request_.trace) e.trace = trace_of(model, *bound, time.prices, granule, storages);
    if (request_.detail) add_detail(e, model, *bound, time.prices, granule, storages);
  }
  e.recognised = model.recognised;
  e.basis.push_back(settings_text(model, platform_, request_, batch));
  if (!request_.defaults.empty()) e.basis.push_back("defaults: " + request_.defaults);
  const auto card = card_basis(platform_.device, request_, e);
  e.basis.insert(e.basis.end(), card.begin(), card.end());
  e.basis.insert(e.basis.end(), model.basis.begin(), model.basis.end());
  const auto compiler = compiler_basis(model, binding);
  e.basis.insert(e.basis.end(), compiler.begin(), compiler.end());
  const auto replay = replay_basis(model, request_);
  e.basis.insert(e.basis.end(), replay.begin(), replay.end());
  e.basis.insert(e.basis.end(), time.basis.begin(), time.basis.end());
  if (platform_.device.sustained_clock < platform_.device.boost_clock) {
    e.basis.push_back(fmt::format("time: {:.0f} MHz under the power limit, of {:.0f}",
                                  platform_.device.sustained_clock.value / 1e6,
                                  platform_.device.boost_clock.value / 1e6));
  }
  if (const auto asked = asked_on(platform_, request_)) {
    e.basis.push_back(fmt::format("workspace: {} of {} convolutions {} cuDNN {}{}",
                                  workspaces->asked, workspaces->convolutions,
                                  asked->on_card() ? "as listed by" : "asked of", asked->cudnn(),
                                  asked->on_card() ? " on this card" : ""));
  }
  if (request_.machine && request_.machine->gpu == platform_.device.id &&
      request_.machine->clock > 0) {
    e.basis.push_back(fmt::format("this card computed at {:.0f} MHz when its kernels were measured",
                                  request_.machine->clock / 1e6));
  }
  if (!e.memory.context_basis.empty()) e.basis.push_back("context: " + e.memory.context_basis);
  if (e.memory.timing_peak_bytes > e.memory.reserved_bytes) {
    e.basis.push_back(
        fmt::format("the first step holds {:.1f} MB while cuDNN's plans are timed, less where the "
                    "card is full; they are given back",
                    static_cast<double>(e.memory.timing_peak_bytes) / 1e6));
  }
  if (largest != binding) e.basis.push_back(largest_batch_note(largest, binding));
  if (e.memory.held_by_names > 0) {
    e.basis.push_back(
        fmt::format("the range has one value of {:.1f} MB more and less: how long names of the "
                    "Python code hold "
                    "values is not in the file",
                    static_cast<double>(e.memory.held_by_names) / 1e6));
  }
  e.diagnostics = model.warnings;
  for (Diagnostic& d : other_algorithms(request_, *bound, time))
    e.diagnostics.push_back(std::move(d));
  if (e.time.launches == 0) {
    e.diagnostics.push_back(
        warning("W236", "nothing runs on the device: no output is computed from an input", {},
                "export the network with outputs that depend on its inputs"));
  }
  if (e.memory.host_bytes == 0) {
    e.diagnostics.push_back(note("N519", fmt::format("host_bytes: what {} takes of the host's "
                                                     "memory is not known",
                                                     platform_.framework.id)));
  }
  return e;
}

namespace {

Result<Estimate> estimate_usual(const Request& request, const Hwdb& hwdb) {
  auto platform =
      find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front());
  if (!platform) return tl::make_unexpected(platform.error());
  auto model = compile(request, *platform);
  if (!model) return tl::make_unexpected(model.error());
  if (platform->device.is_host) return estimate_on_host(*model, *platform, request);
  auto evaluator = Evaluator::make(std::move(*platform), request);
  if (!evaluator) return tl::make_unexpected(evaluator.error());
  return evaluator->estimate(*model, model->binding);
}

// A mixture of experts is priced with even shares; that all tokens go to one expert of each layer
// is in the range.
Result<Estimate> with_all_to_one_expert(Estimate even, Request request, const Hwdb& hwdb) {
  constexpr int64_t kAllTokens = 1 << 20;  // more shares than there are experts
  request.dims[ops::kBusiestExpert] = kAllTokens;
  auto one = estimate_usual(request, hwdb);
  if (!one) return one;
  Range& range = even.memory.device_range;
  range.high = std::max(range.high, one->memory.device_range.high);
  even.memory.verdict = verdict_of(range, even.usable_bytes);
  even.basis.push_back(
      "tokens shared evenly among experts; the range holds that all go to one of each layer");
  return even;
}

Result<Estimate> estimate_mean(const Request& request, const Hwdb& hwdb) {
  std::vector<Estimate> estimates;
  for (const LengthBucket& bucket : request.lengths) {
    auto one = estimate_usual(at_bucket(request, bucket), hwdb);
    if (!one) return one;
    estimates.push_back(std::move(*one));
  }
  return mean_over(std::move(estimates), request.lengths);
}

}  // namespace

Result<Estimate> estimate(const Request& request, const Hwdb& hwdb) {
  auto usual =
      request.lengths.empty() ? estimate_usual(request, hwdb) : estimate_mean(request, hwdb);
  if (!usual) return usual;
  if (request.longest.empty() && request.lengths.empty()) {
    const bool routed = usual->input.symbols.contains(ops::kBusiestExpert) &&
                        !request.dims.contains(ops::kBusiestExpert);
    return routed ? with_all_to_one_expert(std::move(*usual), request, hwdb) : usual;
  }
  // The longest batch may take other decisions than the usual one: a step of its own.
  auto longest = estimate_usual(at_longest(request), hwdb);
  if (!longest) return longest;
  if (longest->input.symbols != usual->input.symbols)
    usual->basis.push_back(largest_batch_note(longest->input.symbols, usual->input.symbols));
  usual->memory = std::move(longest->memory);
  usual->fits = longest->fits;
  usual->kept = std::move(longest->kept);
  usual->memory_curve = std::move(longest->memory_curve);
  usual->peak_tensors = std::move(longest->peak_tensors);
  return usual;
}

}  // namespace plimsoll
