#include "estimator/app/validate/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hwdb/measured/meter.h"

namespace plimsoll {
namespace {

constexpr double kNanosecondsPerMs = 1e6;
constexpr double kPercent = 100;
constexpr double kMiB = 1048576.0;
constexpr std::string_view kPersistent = "persistent_bytes";

using Value = std::optional<double>;
using Interval = std::optional<std::pair<double, double>>;

double real(int64_t value) { return static_cast<double>(value); }

Interval scaled(Range range, double unit) {
  return std::pair(real(range.low) / unit, real(range.high) / unit);
}

Interval no_range(const Answer&) { return std::nullopt; }

// Bytes in the unit that a name ends in: MiB of "_mb", unless the record says that these are
// millions.
double unit_of(const MeasuredRun& run, std::string_view name) {
  if (name.ends_with("_bytes")) return 1;
  if (name.ends_with("_gb")) return 1e9;
  if (name.ends_with("_gib")) return kMiB * 1024;
  for (const char* decimal : {"10^6", "1e6", "times 1000", "rounded"}) {
    if (run.unit.find(decimal) != std::string::npos) return 1e6;
  }
  return kMiB;
}

// What the process holds once a forward pass kept all that a backward pass would need. The last
// pass's result, and all that it keeps alive, dies when the next one takes its name.
int64_t after_forward(const MemoryEstimate& m) {
  constexpr int64_t kPassesHeld = 2;
  return m.context_bytes + m.parameter_bytes + m.buffer_bytes +
         kPassesHeld * (m.input_bytes + m.saved_bytes) + m.workspace_bytes;
}

// What a process takes whose framework was told to take no more than it comes to need.
GrownMemory told_to_grow(const MemoryEstimate& m) {
  return m.grown.value_or(GrownMemory{m.device_bytes, m.device_range});
}

MeasuredQuantity process_memory(const MeasuredRun& run, MeasuredQuantity q) {
  const double unit = unit_of(run, q.name);
  if (run.retains_activations.value_or(false) && run.mode == "inference") {
    q.predict = [unit](const Answer& a) { return Value(real(after_forward(a.memory)) / unit); };
    q.range = [unit](const Answer& a) {
      const GrownMemory grown = told_to_grow(a.memory);
      const int64_t more = after_forward(a.memory) - grown.bytes;
      const Range& range = grown.range;
      return scaled({range.low + more, range.high + more}, unit);
    };
    return q;
  }
  // DLInfBench-like runs let the allocator grow; else such a framework's figure is the card's.
  const bool card = run.meter == "card";
  const auto all = [card](const Answer& a) { return card && a.memory.taken_bytes > 0; };
  q.predict = [unit, all](const Answer& a) {
    return real(all(a) ? a.memory.taken_bytes : told_to_grow(a.memory).bytes) / unit;
  };
  q.range = [unit, all](const Answer& a) {
    return all(a) ? no_range(a) : scaled(told_to_grow(a.memory).range, unit);
  };
  return q;
}

MeasuredQuantity tensor_memory(const MeasuredRun& run, MeasuredQuantity q) {
  const double unit = unit_of(run, q.name);
  const bool first = run.meter == "every_step";  // with the one in which plans are timed
  q.predict = [unit, first](const Answer& a) {
    const MemoryEstimate& m = a.memory;
    return real(std::max(m.steady_allocated_bytes, first ? m.timing_peak_bytes : 0)) / unit;
  };
  q.range = [unit](const Answer& a) {
    return a.memory.steady_range ? scaled(*a.memory.steady_range, unit) : std::nullopt;
  };
  return q;
}

MeasuredQuantity segments(const MeasuredRun& run, MeasuredQuantity q) {
  const double unit = unit_of(run, q.name);
  q.predict = [unit](const Answer& a) {
    const MemoryEstimate& m = a.memory;
    return Value(real(m.grown ? m.grown->bytes - m.context_bytes : m.reserved_bytes) / unit);
  };
  q.range = no_range;
  return q;
}

// What tensors hold between steps; a counter of the allocator shows libraries' buffers too.
MeasuredQuantity kept_memory(const MeasuredRun& run, MeasuredQuantity q) {
  const double unit = unit_of(run, q.name);
  const bool counted = q.name != kPersistent;
  q.of_mean = q.name.find("_mean_") != std::string::npos;
  q.predict = [unit, counted](const Answer& a) {
    const MemoryEstimate& m = a.memory;
    return Value(real(m.persistent_bytes + (counted ? m.library_bytes + a.output_bytes : 0)) /
                 unit);
  };
  return q;
}

MeasuredQuantity host_memory(const MeasuredRun& run, MeasuredQuantity q) {
  const double unit = unit_of(run, q.name);
  q.missing = "the host memory of this framework is unknown";
  q.of_card = false;
  q.predict = [unit](const Answer& a) {
    return a.memory.host_bytes > 0 ? Value(real(a.memory.host_bytes) / unit) : Value();
  };
  q.range = [unit](const Answer& a) { return scaled(a.memory.host_range, unit); };
  return q;
}

// What optnet's countUsedMemory adds up: storages that modules hold, and parameters with their
// gradients, which modules are made with; sharing drops these in evaluation.
using StorageKind = double (*)(const Answer&, bool gradients);

double outputs(const Answer& a, bool) { return a.memory.modules->outputs; }
double gradient_inputs(const Answer& a, bool) { return a.memory.modules->gradients; }
double module_buffers(const Answer& a, bool) { return a.memory.modules->buffers; }
double parameters(const Answer& a, bool gradients) {
  return real(a.memory.parameter_bytes) * (gradients ? 2 : 1);
}
double all_storages(const Answer& a, bool gradients) {
  const ModuleStorages& m = *a.memory.modules;
  return m.outputs + m.gradients + m.buffers + parameters(a, gradients);
}

MeasuredQuantity module_memory(const MeasuredRun& run, MeasuredQuantity q, StorageKind kind) {
  const double unit = unit_of(run, q.name);
  const bool gradients = run.mode != "inference" || !run.shares_storages();
  q.of_card = false;
  q.missing = "this framework keeps no memory per module";
  q.predict = [=](const Answer& a) {
    return a.memory.modules ? Value(kind(a, gradients) / unit) : Value();
  };
  return q;
}

std::optional<StorageKind> storage_kind(std::string_view name) {
  struct Row {
    std::string_view name;
    StorageKind kind;
  };
  constexpr Row kRows[] = {{"total_mb", all_storages},
                           {"outputs_mb", outputs},
                           {"grad_inputs_mb", gradient_inputs},
                           {"internal_buffers_mb", module_buffers},
                           {"parameters_and_gradients_mb", parameters}};
  const auto row = std::ranges::find(kRows, name, &Row::name);
  return row == std::end(kRows) ? std::nullopt : std::optional(row->kind);
}

MeasuredQuantity timed(MeasuredQuantity q, int64_t TimeEstimate::*member) {
  q.of_mean = true;
  q.predict = [member](const Answer& a) { return real(a.time.*member) / kNanosecondsPerMs; };
  q.range = no_range;
  if (member == &TimeEstimate::step_ns) {
    q.range = [](const Answer& a) { return scaled(a.time.step_range_ns, kNanosecondsPerMs); };
  }
  return q;
}

// TBD's profilers (section III-D, Fig. 9) label what each allocation site of a framework takes:
// weights, their gradients, workspace, what is allocated while training (the optimizer's state),
// and feature maps: all that lies in the pool of the graph's own arrays, their gradients among it.
double feature_map_percent(const MemoryEstimate& m) {
  const auto most = [&](Role role) { return m.max_by_role[static_cast<size_t>(role)]; };
  const int64_t others = most(Role::kParameter) + most(Role::kBuffer) + most(Role::kGradient) +
                         most(Role::kOptimizerState) + most(Role::kWorkspace);
  const int64_t maps = m.activations_peak_bytes;
  return maps > 0 ? 100 * real(maps) / real(maps + others) : 0;
}

// Per cent of the GPU's time in classes whose kernels a profiler shows by this name.
Value share_of_kernel(const Answer& a, std::string_view kernel) {
  Value sum;
  for (const ClassShare& c : a.time.by_class) {
    if (!c.library_kernel.empty() && bare_kernel_name(c.library_kernel) == kernel)
      sum = sum.value_or(0) + kPercent * c.share;
  }
  return sum;
}

MeasuredQuantity kernel_share(const std::string& kernel, double measured) {
  MeasuredQuantity q;
  q.name = std::string(kKernelShare) + kernel;
  q.measured = measured;
  q.range = no_range;
  q.missing = "the kernel's name matches no class of kernels of the step";
  q.predict = [kernel](const Answer& a) { return share_of_kernel(a, kernel); };
  return q;
}

// A line of a profiler's table, as TBD's have them (Zhu et al., IISWC 2018, tables V and VI): its
// share. How busy its units were is no share of the peak: batch norms have 42 to 46 % there.
std::optional<MeasuredQuantity> kernel_line(const MeasuredRun& run) {
  const auto share = run.value("duration_pct");
  if (!share) return std::nullopt;
  return kernel_share(std::string(bare_kernel_name(run.kernel)), *share);
}

enum class Counter : uint8_t { kAllocated, kReserved, kProcess, kUnsaid };

// Whose figure a measurement of memory is: by its name without the unit, else by what the record
// says of it: "torch max_memory_reserved, worst rank".
std::optional<Counter> counter_of(const MeasuredRun& run, std::string_view name) {
  const std::string_view stem = name.substr(0, name.rfind('_'));
  if (stem == "peak_reserved") return Counter::kReserved;
  if (stem == "peak_allocated" || stem == "train_memory") return Counter::kAllocated;
  if (stem == "nvidia_smi" || stem == "device_used")
    return run.meter == "tensors" ? Counter::kAllocated : Counter::kProcess;
  if (stem != "peak_memory") return std::nullopt;
  const auto names = [&](std::string_view word) {
    return run.memory_counter.find(word) != std::string::npos;
  };
  const bool reserved = names("reserved"), allocated = names("allocated");
  if (reserved != allocated) return reserved ? Counter::kReserved : Counter::kAllocated;
  if (names("nvidia-smi") && !reserved) return Counter::kProcess;
  if (run.meter == "process") return Counter::kProcess;
  return run.meter == "tensors" ? Counter::kAllocated : Counter::kUnsaid;
}

MeasuredQuantity memory(const MeasuredRun& run, MeasuredQuantity q, Counter counter) {
  if (counter == Counter::kReserved) return segments(run, std::move(q));
  if (counter == Counter::kAllocated) return tensor_memory(run, std::move(q));
  if (counter == Counter::kProcess) return process_memory(run, std::move(q));
  q.missing = "memory_counter must be allocated, reserved or nvidia-smi";
  q.predict = [](const Answer&) { return Value(); };
  return q;
}

bool is_kept_memory(std::string_view name) {
  return name == kPersistent || name.starts_with("allocated_after_");
}

std::optional<MeasuredQuantity> of_name(const MeasuredRun& run, const Measurement& m) {
  if (m.name.starts_with(kKernelShare))
    return kernel_share(m.name.substr(kKernelShare.size()), m.value);
  MeasuredQuantity q;
  q.name = m.name;
  q.measured = m.value;
  q.range = no_range;
  if (m.name == "total_ms") return timed(std::move(q), &TimeEstimate::step_ns);
  if (m.name == "forward_ms") return timed(std::move(q), &TimeEstimate::forward_ns);
  if (m.name == "backward_ms") return timed(std::move(q), &TimeEstimate::backward_ns);
  if (m.name == "gpu_ms") return timed(std::move(q), &TimeEstimate::gpu_ns);
  if (const auto counter = counter_of(run, m.name)) return memory(run, std::move(q), *counter);
  if (m.name == "host_mb") return host_memory(run, std::move(q));
  if (is_kept_memory(m.name)) return kept_memory(run, std::move(q));
  if (const auto kind = storage_kind(m.name)) return module_memory(run, std::move(q), *kind);
  return std::nullopt;
}

MeasuredQuantity fits(double measured) {
  MeasuredQuantity q;
  q.name = "fits";
  q.measured = measured;
  q.predict = [](const Answer& a) { return Value(a.fits ? 1 : 0); };
  q.range = [](const Answer& a) {
    const Verdict verdict = a.memory.verdict;
    return Interval(std::pair(verdict == Verdict::kFits ? 1.0 : 0.0,
                              verdict == Verdict::kDoesNotFit ? 0.0 : 1.0));
  };
  return q;
}

// Of all GPUs together. A rate of what the model's samples are not made of has no prediction.
std::optional<MeasuredQuantity> throughput(const MeasuredRun& run) {
  const auto measured = run.value("value");
  const std::string_view what = std::string_view(run.unit).substr(0, run.unit.find('/'));
  constexpr std::array<std::string_view, 3> kSamples = {"images", "sequences", "samples"};
  if (!measured || std::ranges::find(kSamples, what) == kSamples.end()) return std::nullopt;
  MeasuredQuantity q;
  q.name = run.quantity;
  q.measured = *measured;
  q.predict = [](const Answer& a) { return Value(a.time.samples_per_second); };
  q.range = [](const Answer& a) {
    const auto rate = [&](int64_t ns) {
      return a.time.samples_per_second * real(a.time.step_ns) / real(ns);
    };
    return Interval(std::pair(rate(a.time.step_range_ns.high), rate(a.time.step_range_ns.low)));
  };
  return q;
}

std::optional<MeasuredQuantity> fact(const MeasuredRun& run) {
  if (run.quantity == "throughput") return throughput(run);
  if (run.quantity == "fits") return fits(1);
  if (run.quantity == "kernel_share_and_fp32_utilisation") return kernel_line(run);
  const auto value = run.value("value");
  if (!value) return std::nullopt;
  MeasuredQuantity q;
  q.name = run.quantity;
  q.measured = *value;
  q.range = no_range;
  if (q.name == "gpu_compute_utilisation_pct") {
    q.predict = [](const Answer& a) { return Value(100 * a.time.gpu_busy); };
  } else if (q.name == "fp32_utilisation_pct") {
    q.predict = [](const Answer& a) { return Value(100 * a.time.fp32_utilisation); };
  } else if (q.name == "feature_map_fraction_of_memory_pct") {
    q.predict = [](const Answer& a) { return Value(feature_map_percent(a.memory)); };
  } else {
    return std::nullopt;
  }
  return q;
}

}  // namespace

std::vector<MeasuredQuantity> quantities_of(const MeasuredRun& run) {
  if (run.ended_out_of_memory()) return {fits(0)};
  std::vector<MeasuredQuantity> list;
  for (const Measurement& m : run.measured) {
    if (auto q = of_name(run, m)) list.push_back(std::move(*q));
  }
  if (!list.empty()) return list;
  if (run.ran) return {fits(*run.ran ? 1 : 0)};
  if (auto q = fact(run)) return {std::move(*q)};
  return {};
}

std::string unit_word(const MeasuredRun& run, std::string_view quantity) {
  if (quantity.ends_with("_ms")) return "ms";
  if (quantity.ends_with("_pct") || quantity.starts_with(kKernelShare)) return "%";
  if (quantity == "throughput") return run.unit;
  const bool bytes = quantity.ends_with("_bytes") || quantity.ends_with("_mb") ||
                     quantity.ends_with("_gb") || quantity.ends_with("_gib");
  if (!bytes) return {};
  const double unit = unit_of(run, quantity);
  return unit == 1 ? "B" : unit == 1e6 ? "MB" : unit == 1e9 ? "GB" : unit == kMiB ? "MiB" : "GiB";
}

std::string no_prediction(const MeasuredRun& run) {
  struct Reason {
    std::string_view quantity, why;
  };
  constexpr Reason kReasons[] = {
      {"specification", "a specification, not a run"},
      {"total_memory_visible", "a specification, not a run"},
      {"dataset_size", "a size of data, not a run"},
      {"parameters", "counted, not measured"},
      {"analytic_flop", "counted, not measured"},
      {"qualitative", "words, no figure"},
      {"strong_scaling", "needs the run it is compared with"},
  };
  for (const auto& [quantity, why] : kReasons) {
    if (run.quantity == quantity) return std::string(why);
  }
  if (!run.quantity.empty()) return fmt::format("quantity '{}' is not predicted", run.quantity);
  return "the record has no quantity that is predicted";
}

}  // namespace plimsoll
