#include "estimator/estimator.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "estimator/answer/assumptions.h"
#include "estimator/answer/basis.h"
#include "estimator/answer/detail.h"
#include "estimator/answer/layers.h"
#include "estimator/answer/mean.h"
#include "estimator/answer/on_host.h"
#include "estimator/answer/parallel.h"
#include "estimator/answer/platform_notes.h"
#include "estimator/library/behaviour.h"
#include "estimator/library/conv_choice.h"
#include "estimator/memory/memory_plan.h"
#include "estimator/memory/replay_input.h"
#include "estimator/model/model_source.h"
#include "estimator/model/valid_step.h"
#include "estimator/request/find_platform.h"
#include "estimator/request/lengths.h"
#include "estimator/request/policy.h"
#include "estimator/time/time_plan.h"
#include "graph/ops/op_row.h"
#include "graph/ops/routing.h"

namespace plimsoll {
namespace {

int library_number(const Version& version) {
  const auto part = [&](size_t i) { return i < version.numbers.size() ? version.numbers[i] : 0; };
  return part(0) * 100 + part(1);
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

TimeOptions time_options(const Platform& platform, const KernelRequest& asked, const Recipe& recipe,
                         AlgorithmPolicy policy) {
  TimeOptions options;
  options.library.cudnn = library_number(platform.cudnn);
  options.policy = policy;
  const bool last = asked.layout == Layout::kNative ? platform.framework.channels_last
                                                    : asked.layout == Layout::kChannelsLast;
  const bool converted = turns_half(platform, recipe);
  options.layout = last || converted ? Layout::kChannelsLast : Layout::kChannelsFirst;
  if (last && !converted) {
    options.norm_factor = platform.framework.channels_last_norm;
    options.concat_factor = platform.framework.channels_last_concat;
  }
  options.max_pool_backward = platform.framework.max_pool_backward;
  options.bias_factor = platform.framework.bias_factor;
  options.relu_factor = platform.framework.relu_factor;
  options.separate_batch_norm = platform.framework.separate_batch_norm;
  options.persistent_norm = has_persistent_norm(platform.framework, platform.cudnn, recipe);
  options.recurrent = recurrent_habits(platform.framework, platform.cudnn);
  options.bf16_library_since = static_cast<int>(platform.framework.bf16_library_since);
  if (platform.machine) options.machine = platform.machine->factors;
  if (asked.conv_algorithm) options.forced = asked.conv_algorithm->algorithm;
  return options;
}

}  // namespace

Result<CompiledModel> compile(const Request& request, const Platform& platform) {
  auto model = load_model(request);
  if (!model) return tl::make_unexpected(model.error());
  return compile(std::move(*model), request, recipe_for(platform, request.recipe),
                 policy_for(platform, request));
}

Evaluator::Evaluator(Platform platform, const Request& request, TimeContext context)
    : platform_(std::move(platform)), request_(request), context_(std::move(context)) {}

Result<Evaluator> Evaluator::make(Platform platform, const Request& request) {
  if (platform.device.is_host) return of_memory_alone();
  auto calibrations = Calibrations::open(platform.hwdb);
  if (!calibrations) return tl::make_unexpected(calibrations.error());
  ConvOffers offers{
      WorkspaceTableCache(platform.hwdb, platform.device, platform.cudnn, platform.asked),
      library_behaviour(platform.framework, request, request.recipe.precision->tf32)};
  TimeOptions options = time_options(platform, request, request.recipe, offers.behaviour.algorithm);
  TimeContext context(rates_of(platform.device), std::move(*calibrations), std::move(options),
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

void set_device(Estimate& e, const Platform& platform) {
  e.device_id = platform.device.id;
  e.device_name = platform.device.name;
  e.device_memory_bytes = platform.memory_bytes;
  e.usable_bytes = platform.usable_bytes;
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

Result<OperatingPoint> Evaluator::point_of(const CompiledModel& model, const BoundStep& bound,
                                           const Binding& binding, const TimeContext& context,
                                           LastReplay* last) const {
  auto workspaces = plan_workspaces(bound, platform_.device, context);
  if (!workspaces) return tl::make_unexpected(workspaces.error());
  auto device =
      plan_device(model, bound, binding, platform_, request_, *workspaces, request_.minimum, last);
  if (!device) return tl::make_unexpected(device.error());
  return OperatingPoint{std::move(*workspaces), std::move(*device)};
}

Result<OperatingPoint> Evaluator::operating_point(const CompiledModel& model,
                                                  const BoundStep& bound, const Binding& binding,
                                                  LastReplay* last) const {
  auto point = point_of(model, bound, binding, context_, last);
  const auto fits = [&](const OperatingPoint& p) {
    return p.device.memory.device_bytes <= platform_.usable_bytes;
  };
  if (!point || fits(*point) || !point->workspaces.gives_way) return point;
  // The sizes that algorithms need, of which the largest is too large; 0 may be among them.
  const std::vector<int64_t> sizes = point->workspaces.offered;
  std::optional<OperatingPoint> best;
  size_t low = 0, high = sizes.size();
  while (low < high) {
    const size_t middle = best ? (low + high) / 2 : 0;
    auto tried = point_of(model, bound, binding, within(context_, sizes[middle]), nullptr);
    if (!tried) return tried;
    if (!fits(*tried)) {
      if (!best) return point;
      high = middle;
      continue;
    }
    best = std::move(*tried);
    best->workspaces.free_bytes = sizes[middle];
    low = middle + 1;
  }
  return best ? std::move(*best) : std::move(point);
}

TimeContext Evaluator::context(const OperatingPoint& point) const {
  const auto& free = point.workspaces.free_bytes;
  return free ? within(context_, *free) : context_.with(context_.options(), context_.offers());
}

Result<OperatingPoint> Evaluator::device(const CompiledModel& model, StepBinder& step,
                                         const Binding& binding, LastReplay* last) const {
  const Binding largest = largest_batch(model, binding);
  if (!guards_hold(model.step, largest)) return other_decisions(model, largest);
  const auto bound = step(largest);
  if (!bound) return too_large(model, largest, bound.error());
  return operating_point(model, **bound, largest, last);
}

Result<Estimate> Evaluator::estimate(const CompiledModel& model, const Binding& binding) const {
  auto bound = bind_where_valid(model, binding);
  if (!bound) return tl::make_unexpected(bound.error());
  TimePlan time = plan_time(model, *bound, binding, platform_, context_, request_);
  if (!countable(time.estimate)) return too_long(platform_.device);
  const Binding largest = largest_batch(model, binding);
  auto longest = bind_where_valid(model, largest);
  if (!longest) return tl::make_unexpected(longest.error());
  const auto point = operating_point(model, *longest, largest);
  if (!point) return tl::make_unexpected(point.error());
  const WorkspacePlan& workspaces = point->workspaces;
  if (workspaces.free_bytes)
    time = plan_time(model, *bound, binding, platform_, context(*point), request_);
  const int64_t granule = granule_of(platform_.framework);
  Estimate e;
  // A table is of one size: layers as time is, memory and what is beside it where it is read.
  const auto at_binding =
      largest == binding ? workspaces : plan_workspaces(*bound, platform_.device, context(*point));
  if (!at_binding) return tl::make_unexpected(at_binding.error());
  set_workspaces(time, *at_binding);
  e.layers = layers_of(model, *bound, granule, time.prices);
  bound = std::move(longest);
  set_workspaces(time, workspaces);
  e.memory = plan_memory(model, *bound, largest, platform_, request_, workspaces, point->device,
                         request_.minimum);
  e.input = model.facts;
  e.input.batch = batch_at(model, binding);
  e.input.symbols = binding;
  e.parallel = parallel_answer(model, request_.given.contains("rank"));
  set_device(e, platform_);
  set_rates(e, *bound, context_.rates());
  e.time = time.estimate;
  e.fits = e.memory.device_bytes <= e.usable_bytes;
  e.kept = kept_of(model, *bound, granule);
  if (request_.trace || request_.detail) {
    const auto storages = storages_of(model, *bound, platform_.framework);
    if (request_.trace) e.trace = trace_of(model, *bound, time.prices, granule, storages);
    if (request_.detail) add_detail(e, model, *bound, time.prices, granule, storages);
  }
  e.recognised = model.recognised;
  e.request = request_;
  const AnswerParts parts{request_, platform_, model, binding, largest, *bound, workspaces, time};
  e.assumed = assumptions_of({request_, platform_, model}, e.input);
  e.basis = basis_of(parts, e);
  e.diagnostics = diagnostics_of(parts, e);
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

// Of a pipeline the memory of the stage that needs most, and the time of the slowest.
Result<Estimate> estimate_stages(Request request, const Hwdb& hwdb) {
  const auto plan = plan_on(request.parallel, request.gpu_count);
  if (!plan || request.given.contains("rank")) return estimate_usual(request, hwdb);
  std::optional<Estimate> worst;
  TimeEstimate slowest;
  for (const int64_t rank : ranks_of_stages(plan->mesh)) {
    request.parallel.rank = rank;
    auto one = estimate_usual(request, hwdb);
    if (!one) return one;
    if (one->time.step_ns > slowest.step_ns) slowest = one->time;
    if (!worst || one->memory.device_bytes > worst->memory.device_bytes) worst = std::move(*one);
  }
  worst->time = std::move(slowest);
  return std::move(*worst);
}

// A mixture of experts is priced with even shares; that all tokens go to one expert of each layer
// is in the range.
Result<Estimate> with_all_to_one_expert(Estimate even, Request request, const Hwdb& hwdb) {
  constexpr int64_t kAllTokens = 1 << 20;  // more shares than there are experts
  request.dims[ops::kBusiestExpert] = kAllTokens;
  auto one = estimate_stages(request, hwdb);
  if (!one) return one;
  Range& range = even.memory.device_range;
  range.high = std::max(range.high, one->memory.device_range.high);
  even.memory.verdict = verdict_of(range, even.usable_bytes);
  even.basis.push_back(
      "tokens shared evenly among experts; the range holds that all go to one of each layer");
  return even;
}

// Of the cache in the step's buffers.
int64_t cache_bytes(const CompiledModel& model, const BoundStep& bound) {
  int64_t sum = 0;
  for (size_t id = 0; id < model.step.buffers.size(); ++id) {
    const Buffer& buffer = model.step.buffers[id];
    const bool attends =
        buffer.node != kNoNode && has(model.graph.nodes[buffer.node], OpRow::kAttends);
    if (buffer.resident && buffer.role == Role::kBuffer && attends) sum += bound.buffer_bytes[id];
  }
  return sum;
}

Result<int64_t> cache_at(const Request& request, const Hwdb& hwdb) {
  auto platform =
      find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front());
  if (!platform) return tl::make_unexpected(platform.error());
  const auto model = compile(request, *platform);
  if (!model) return tl::make_unexpected(model.error());
  const auto bound = bind_step(model->step, model->binding);
  if (!bound) return tl::make_unexpected(bound.error());
  return cache_bytes(*model, *bound);
}

constexpr const char* kSequence = "sequence";

// Once over all positions; and one more token of each sequence: a step over one position, which
// reads what the cache holds.
Result<Estimate> estimate_serving(Request request, const Hwdb& hwdb) {
  auto all_positions = estimate_stages(request, hwdb);
  if (!all_positions || !all_positions->input.symbols.contains(kSequence)) return all_positions;
  Estimate& prefill = *all_positions;
  const auto all = cache_at(request, hwdb);
  if (!all) return tl::make_unexpected(all.error());
  const int64_t batch = prefill.input.batch;
  request.dims[kSequence] = 1;
  const auto decode = estimate_stages(request, hwdb);
  if (!decode) return decode;
  const auto each = cache_at(request, hwdb);
  if (!each) return tl::make_unexpected(each.error());
  ServeEstimate serve;
  serve.kv_bytes = *all;
  serve.kv_bytes_per_token = *each / std::max<int64_t>(batch, 1);
  const int64_t left = prefill.usable_bytes - (prefill.memory.device_bytes - *all);
  if (serve.kv_bytes_per_token > 0 && left > 0)
    serve.tokens_that_fit = left / serve.kv_bytes_per_token;
  serve.prefill_ns = prefill.time.step_ns;
  serve.decode_ns = decode->time.step_ns;
  if (prefill.bandwidth_bytes_per_second)
    serve.decode_ns +=
        static_cast<int64_t>(1e9 * static_cast<double>(*all) / *prefill.bandwidth_bytes_per_second);
  prefill.serve = serve;
  prefill.basis.push_back(
      "serve: transformers' cache, of keys and values of every position; the prefill of all "
      "sequences at once, with scores of the last position alone; a token reads the whole cache");
  return all_positions;
}

Result<Estimate> estimate_mean(const Request& request, const Hwdb& hwdb) {
  std::vector<Estimate> estimates;
  for (const LengthBucket& bucket : request.lengths) {
    auto one = estimate_stages(at_bucket(request, bucket), hwdb);
    if (!one) return one;
    estimates.push_back(std::move(*one));
  }
  return mean_over(std::move(estimates), request.lengths);
}

}  // namespace

namespace {

Result<Estimate> estimate_all_lengths(const Request& request, const Hwdb& hwdb) {
  auto usual = request.recipe.serve      ? estimate_serving(request, hwdb)
               : request.lengths.empty() ? estimate_stages(request, hwdb)
                                         : estimate_mean(request, hwdb);
  if (!usual) return usual;
  if (request.longest.empty() && request.lengths.empty()) {
    const bool routed = usual->input.symbols.contains(ops::kBusiestExpert) &&
                        !request.dims.contains(ops::kBusiestExpert);
    return routed ? with_all_to_one_expert(std::move(*usual), request, hwdb) : usual;
  }
  // The longest batch may take other decisions than the usual one: a step of its own.
  auto longest = estimate_stages(at_longest(request), hwdb);
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

}  // namespace

Result<Estimate> estimate(const Request& request, const Hwdb& hwdb) {
  auto answer = estimate_all_lengths(request, hwdb);
  if (!answer) return answer;
  answer->request = request;  // of a bucket or of the longest until here
  if (!request.batch && answer->input.batch > 0) answer->request.batch = answer->input.batch;
  return answer;
}

}  // namespace plimsoll
