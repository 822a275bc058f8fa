#include "estimator/time/exchange.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <vector>

#include "estimator/request/request.h"

namespace plimsoll {
namespace {

double at_rate(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

// The latency of a link is that of a ring of nothing, 2 (n - 1) hops.
double hop(double n, const LinkRates& link) { return link.latency / (2 * (n - 1)); }

double ring(double bytes, double n, const ExchangeRates& r) {
  return collective_seconds(CollectiveKind::kAllReduce, bytes, static_cast<int64_t>(n), r.link);
}

double tree(double bytes, double n, const ExchangeRates& r) {
  return 2 * std::ceil(std::log2(n)) * hop(n, r.link) +
         at_rate(2 * (n - 1) / n * bytes, r.link.bandwidth);
}

double one_by_one(double transfers, double bytes, double n, const LinkRates& link) {
  return transfers * (at_rate(bytes, link.bandwidth) + hop(n, link));
}

double sequential(double bytes, double n, const ExchangeRates& r) {
  return one_by_one(2 * (n - 1), bytes, n, r.link);
}

double logarithmic(double bytes, double n, const ExchangeRates& r) {
  return one_by_one(2 * std::ceil(std::log2(n)), bytes, n, r.link);
}

double parameter_server(double bytes, double n, const ExchangeRates& r) {
  return at_rate(2 * bytes, r.copy) + at_rate((n - 1) * bytes, r.host_sum);
}

double through_host(double bytes, double n, const ExchangeRates& r) {
  return at_rate(2 * bytes, r.copy) + at_rate(2 * (n - 1) / n * bytes, r.messages);
}

// torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py, fp16_compress_hook: gradients are
// cast, divided where they lie and put back; `bytes` are those of single precision.
double ring_in_16_bits(double bytes, double n, const ExchangeRates& r) {
  constexpr double kPasses = 1.5 + 1 + 1.5;
  return ring(bytes / 2, n, r) + at_rate(kPasses * bytes, r.card_memory);
}

// torch/nn/parallel/data_parallel.py: a step sends parameters from the first GPU to all others and
// gathers their gradients there, each time once around (torch/csrc/cuda/comm.cpp: by NCCL).
double replicated(double bytes, double /*n*/, const ExchangeRates& r) {
  return at_rate(2 * bytes, r.link.in_one_direction());
}

// Microsoft/CNTK, Source/Math/MatrixQuantizerGPU.cu: gradient and residual are read, the residual
// is written; the same where it is put back. A column of bits has two numbers in single precision,
// small beside it.
double one_bit(double bytes, double n, const ExchangeRates& r) {
  constexpr double kBits = 32, kPasses = 6;
  return through_host(bytes / kBits, n, r) + at_rate(kPasses * bytes, r.card_memory);
}

constexpr std::array kSchemes = {
    ExchangeScheme{"ring", "an all-reduce around a ring, as NCCL's", ring, false, true},
    ExchangeScheme{"tree", "an all-reduce by two binary trees, as NCCL's", tree, false, true},
    ExchangeScheme{"sequential", "one GPU gathers and sends, one after the other", sequential},
    ExchangeScheme{"logarithmic", "pairs of GPUs, then pairs of those", logarithmic},
    ExchangeScheme{"device", "each GPU serves its share of the arrays", ring},
    ExchangeScheme{"parameter-server", "the host holds the parameters", parameter_server},
    ExchangeScheme{"cpu", "an all-reduce in the host's memory", through_host},
    ExchangeScheme{"one-bit", "as cpu, by one bit for each number", one_bit},
    ExchangeScheme{"fp16", "as ring, gradients cast to 16 bits for it", ring_in_16_bits, false,
                   true},
    ExchangeScheme{kSplitLayers, "as ring; fully connected layers are split over the GPUs", ring,
                   false, true},
    ExchangeScheme{kDataParallel, "one process scatters, replicates and gathers", replicated,
                   true}};

}  // namespace

std::span<const ExchangeScheme> exchange_schemes() { return kSchemes; }

const ExchangeScheme* find_exchange_scheme(std::string_view name) {
  const auto* row = std::ranges::find(kSchemes, name, &ExchangeScheme::name);
  return row == kSchemes.end() ? nullptr : row;
}

double exchange_seconds(const ExchangeScheme& scheme, double bytes, const ExchangeGroup& group,
                        const ExchangeRates& rates) {
  const double within =
      group.per_node > 1 ? scheme.seconds(bytes, static_cast<double>(group.per_node), rates) : 0;
  return within + collective_seconds(CollectiveKind::kAllReduce, bytes, group.nodes, rates.network);
}

namespace {

// Beside the kernels of a step a collective gets on so much slower: assumed, as nobody has measured
// both together.
constexpr double kConcurrent = .5;

// Of a pipeline's stages two have a weight both, the first and the last: in machines that differ
// where stages are in several.
ExchangeGroup two_of(const ExchangeGroup& stages) {
  return stages.nodes > 1 ? ExchangeGroup{.per_node = 1, .nodes = 2}
                          : ExchangeGroup{.per_node = std::min<int64_t>(2, stages.per_node)};
}

// The collectives along one axis, or of one kind with the host; all in seconds of exchange.
struct Queue {
  double issued = 0, done = 0;
  double multiprocessors = 0;  // that the last of them takes: a share of the card's

  void go_on(double seconds) { done = std::min(issued, done + seconds); }
};
// By axis; behind them those of the host, by kind.
constexpr size_t kQueues = kAxisCount + 3;
using Queues = std::array<Queue, kQueues>;

size_t queue_of(const ExchangePoint& point) {
  if (!is_of_host(point.kind)) return static_cast<size_t>(point.axis);
  return kAxisCount + static_cast<size_t>(point.kind) -
         static_cast<size_t>(CollectiveKind::kToHost);
}

// By how much `seconds` of work take longer beside the collectives that go on: on 24 of an H100's
// 132 multiprocessors by a fifth while they last. Characterizing Compute-Communication Overlap in
// GPU-Accelerated Distributed Deep Learning (arXiv:2507.03114) measured 18.9 % in the mean and 40 %
// at most, on four A100s and four H100s.
struct Slowdown {
  double seconds = 0;
  size_t axis = 0;  // along which collectives cost it
};
Slowdown slowed_by(const Queues& queues, double seconds) {
  Slowdown most;
  for (size_t axis = 0; axis < kAxisCount; ++axis) {
    const Queue& queue = queues[axis];
    const double busy = (queue.issued - queue.done) / kConcurrent;  // until it is empty
    const double whole = seconds / (1 - queue.multiprocessors);     // of work that is beside it
    const double longer = std::min(busy, whole) * queue.multiprocessors;
    if (longer > most.seconds) most = {longer, axis};
  }
  return most;
}

// Notes when each collective runs: of an axis one after the other, from its issue on.
class CourseRecorder {
 public:
  explicit CourseRecorder(ExchangeCourse* course) : course_(course) {}

  void issue(size_t axis, size_t point, double end) {
    if (!course_) return;
    pending_[axis].push_back({course_->spans.size(), end});
    course_->spans.push_back({.point = point, .begin = now_, .end = now_});
  }
  // The step goes on by so many seconds, in which queues have come from `before` to `after`.
  void go_on(double seconds, const Queues& before, const Queues& after) {
    if (!course_) return;
    for (size_t axis = 0; axis < kQueues; ++axis) {
      const double from = before[axis].done, made = after[axis].done - from;
      auto& pending = pending_[axis];
      while (!pending.empty() && pending.front().end <= after[axis].done) {
        const double part = made > 0 ? std::clamp((pending.front().end - from) / made, 0., 1.) : 0;
        finish(axis, now_ + part * seconds);
      }
    }
    now_ += seconds;
  }
  // What the work before a point takes longer beside the collective that runs along an axis.
  void slow(size_t point, size_t axis, double seconds) {
    if (!course_ || pending_[axis].empty()) return;
    course_->waits[point] += seconds;
    course_->spans[pending_[axis].front().span].waited += seconds;
  }
  void wait(size_t point, size_t issued_by, double seconds) {
    if (!course_) return;
    course_->waits[point] += seconds;
    course_->spans[issued_by].waited += seconds;
  }
  // What nothing awaits ends beside what follows the step's last point.
  void finish_all(const Queues& queues) {
    if (!course_) return;
    for (size_t axis = 0; axis < kQueues; ++axis) {
      const double done = queues[axis].done;
      while (!pending_[axis].empty()) finish(axis, now_ + pending_[axis].front().end - done);
    }
  }

 private:
  struct Pending {
    size_t span = 0;
    double end = 0;  // in seconds of its queue
  };

  void finish(size_t axis, double at) {
    auto& pending = pending_[axis];
    course_->spans[pending.front().span].end = at;
    pending.pop_front();
    if (pending.empty()) return;
    double& next = course_->spans[pending.front().span].begin;
    next = std::max(next, at);
  }

  ExchangeCourse* course_;
  std::array<std::deque<Pending>, kQueues> pending_;
  double now_ = 0;
};

}  // namespace

// Gradients are summed as the scheme has it; what goes one way goes around a ring.
double collective_seconds(const ExchangePoint& point, const ExchangeScheme& scheme,
                          const GroupExchange& among) {
  const auto bytes = static_cast<double>(point.bytes);
  const ExchangeRates& rates = among.rates;
  if (is_of_host(point.kind))
    return at_rate(bytes, point.kind == CollectiveKind::kOnHost ? rates.host_memory : rates.copy);
  const bool tied = point.axis == Axis::kStage && point.kind == CollectiveKind::kAllReduce;
  const ExchangeGroup group = tied ? two_of(among.group) : among.group;
  if (point.kind == CollectiveKind::kAllReduce)
    return exchange_seconds(scheme, bytes, group, rates);
  return collective_seconds(point.kind, bytes, group.per_node, rates.link) +
         collective_seconds(point.kind, bytes, group.nodes, rates.network);
}

ExchangeGroup group_along(Axis axis, const Mesh& mesh, int64_t per_node) {
  const int64_t extent = mesh.extent(axis);
  const int64_t within = std::clamp<int64_t>(per_node / mesh.stride(axis), 1, extent);
  return {.per_node = within, .nodes = extent / within};
}

ExchangeWaits exposed_exchange(const ExchangeScheme& scheme, std::span<const ExchangePoint> points,
                               std::span<const double> work, const ExchangeByAxis& axes,
                               double slower, ExchangeCourse* course) {
  struct Begun {
    double end = 0;   // in seconds of its queue
    size_t span = 0;  // in the order in which they are begun
  };
  if (course) *course = {.spans = {}, .waits = std::vector<double>(points.size())};
  CourseRecorder recorder(course);
  Queues queues;
  ExchangeWaits waited;
  std::vector<Begun> begun;  // by collective
  size_t count = 0;
  const auto go_on = [&](double seconds, double of_queues) {
    const Queues before = queues;
    for (size_t i = 0; i < queues.size(); ++i)
      queues[i].go_on(i < kAxisCount ? of_queues : seconds);
    recorder.go_on(seconds, before, queues);
  };
  for (size_t i = 0; i < points.size(); ++i) {
    const ExchangePoint& point = points[i];
    const size_t axis = queue_of(point);
    if (i < work.size()) {
      const auto [longer, along] = slowed_by(queues, work[i]);
      const double all = longer * static_cast<double>(point.times);
      waited.exchange += all;
      recorder.slow(i, along, all);
      go_on(work[i] + all, kConcurrent * (work[i] + longer));
    }
    if (!point.awaited) {
      if (scheme.by_kernels && axis < kAxisCount)
        queues[axis].multiprocessors = axes[point.group()].rates.multiprocessors;
      queues[axis].issued += slower * collective_seconds(point, scheme, axes[point.group()]);
      begun.resize(std::max(begun.size(), point.collective + 1));
      begun[point.collective] = {queues[axis].issued, count++};
      recorder.issue(axis, i, queues[axis].issued);
      continue;
    }
    const Begun& awaited = begun[point.collective];
    const double wait = std::max(0.0, awaited.end - queues[axis].done) /
                        static_cast<double>(axes[point.group()].pieces);
    const double all = wait * static_cast<double>(point.times);
    (axis < kAxisCount ? waited.exchange : waited.host) += all;
    recorder.wait(i, awaited.span, all);
    go_on(all, wait);
  }
  recorder.finish_all(queues);
  return waited;
}

}  // namespace plimsoll
