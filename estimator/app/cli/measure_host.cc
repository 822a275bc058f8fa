#include "estimator/app/cli/measure_host.h"

#include <fmt/format.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "graph/base/text.h"
#include "graph/json/writer.h"

namespace plimsoll::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto begun = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

// The least of several: what else runs on a machine only adds.
double least_seconds(int times, const std::function<void()>& work) {
  double least = seconds_of(work);
  for (int i = 1; i < times; ++i) least = std::min(least, seconds_of(work));
  return least;
}

// What a framework does to call an operator, as to work: its name is looked up, its result's shape
// and its record are allocated, it is called through a table, and what is old is let go of.
class Dispatcher {
 public:
  Dispatcher() {
    for (int i = 0; i < kOperators; ++i) table_.emplace(fmt::format("aten::operator_{}", i), i);
    for (const auto& [name, at] : table_) names_.push_back(name);
    std::ranges::sort(names_);
  }

  // The sum keeps all of it from being optimized away.
  int64_t calls(int64_t count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int at = table_.find(names_[static_cast<size_t>(i * kStride % kOperators)])->second;
      auto call = std::make_unique<Call>();
      call->shape.assign({i, at, 64, 64});
      call->run = [at](int64_t rows) { return rows % (at + 2); };
      std::unique_ptr<Call>& old = alive_[static_cast<size_t>(i) % alive_.size()];
      if (old) sum += old->run(old->shape[0]);
      old = std::move(call);
    }
    return sum;
  }

 private:
  struct Call {
    std::vector<int64_t> shape;
    std::function<int64_t(int64_t)> run;
  };
  static constexpr int kOperators = 256, kStride = 97;

  std::unordered_map<std::string, int> table_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Call>> alive_ = std::vector<std::unique_ptr<Call>>(512);
};

volatile int64_t sink = 0;

// Of slices of about a quarter of a millisecond, which another program rarely interrupts, the time
// that one in ten is below.
double seconds_per_call() {
  constexpr int64_t kCalls = 4000, kSlices = 2000;
  Dispatcher dispatcher;
  sink = sink + dispatcher.calls(kCalls * kSlices / 4);  // warms caches and the clock
  std::vector<double> slices;
  for (int64_t i = 0; i < kSlices; ++i)
    slices.push_back(seconds_of([&] { sink = sink + dispatcher.calls(kCalls); }));
  std::ranges::sort(slices);
  return slices[slices.size() / 10] / static_cast<double>(kCalls);
}

constexpr size_t kFloats = 8 << 20;  // 32 MiB: beyond caches that a core has to itself

// A gradient added to a sum, by each thread a part: bytes of the gradient per second.
double sum_rate(int64_t threads) {
  std::vector<float> sum(kFloats, 1), gradient(kFloats, 2);
  const auto add = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) sum[i] += gradient[i];
  };
  const size_t part = kFloats / static_cast<size_t>(threads);
  const double seconds = least_seconds(5, [&] {
    std::vector<std::jthread> pool;
    for (size_t t = 0; t < static_cast<size_t>(threads); ++t)
      pool.emplace_back([&, t] { add(t * part, (t + 1) * part); });
  });
  sink = sink + static_cast<int64_t>(sum[kFloats / 2]);
  return static_cast<double>(kFloats * sizeof(float)) / seconds;
}

// A message is copied into shared memory, copied out and added: by one thread.
double message_rate() {
  std::vector<float> from(kFloats, 1), shared(kFloats), to(kFloats), sum(kFloats, 1);
  const double seconds = least_seconds(5, [&] {
    std::memcpy(shared.data(), from.data(), kFloats * sizeof(float));
    std::memcpy(to.data(), shared.data(), kFloats * sizeof(float));
    for (size_t i = 0; i < kFloats; ++i) sum[i] += to[i];
  });
  sink = sink + static_cast<int64_t>(sum[kFloats / 2]);
  return static_cast<double>(kFloats * sizeof(float)) / seconds;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon != line.npos && line.starts_with("model name"))
      return std::string(trimmed(std::string_view(line).substr(colon + 1)));
  }
  return {};
}

int64_t threads_allowed() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return std::max(1U, std::thread::hardware_concurrency());
}

// Of a call above on a Skylake at 3.7 GHz: 54.9 ns on a Golden Cove (Xeon, model 207; gcc, -O2) at
// 3.0 GHz by a chain of multiplications, three clocks each, and 1.4 times Skylake's instructions a
// clock (hwdb/cpus.json).
constexpr double kReferenceCall = 54.9e-9 * 1.4 * 3.0 / 3.7;

// {"value": ..., "source": ...}
template <class Write>
void figure(JsonWriter& out, std::string_view key, Write write) {
  out.key(key).begin_object().key("value");
  write(out);
  out.key("source").string("plimsoll hosts --measure, on this machine").end_object();
}

void text_figure(JsonWriter& out, std::string_view key, const std::string& value) {
  figure(out, key, [&](JsonWriter& to) { to.string(value); });
}

std::string gigabytes(double bytes_per_second) {
  return fmt::format("{:.2f} GB/s", bytes_per_second / 1e9);
}

}  // namespace

MeasuredHost measure_host() {
  MeasuredHost host;
  host.cpu = cpu_name();
  host.cores = threads_allowed();
  host.memory_bytes = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  host.single_thread = kReferenceCall / seconds_per_call();
  host.sum_bytes_per_second = sum_rate(host.cores);
  host.message_bytes_per_second = message_rate();
  return host;
}

std::string host_file(const MeasuredHost& host) {
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object();
  out.key("schema").string("plimsoll.host");
  out.key("version").integer(1);
  out.key("id").string("this-machine");
  out.key("aliases").begin_array().end_array();
  out.key("name").string(host.cpu.empty() ? "this machine" : host.cpu);
  if (!host.cpu.empty()) text_figure(out, "cpu", host.cpu);
  figure(out, "cores", [&](JsonWriter& to) { to.integer(host.cores); });
  text_figure(out, "memory", fmt::format("{} MiB", host.memory_bytes >> 20));
  constexpr double kHundredths = 100;
  figure(out, "single_thread", [&](JsonWriter& to) {
    to.real(std::round(host.single_thread * kHundredths) / kHundredths);
  });
  text_figure(out, "gradient_sum", gigabytes(host.sum_bytes_per_second));
  text_figure(out, "messages", gigabytes(host.message_bytes_per_second));
  out.end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll::cli
