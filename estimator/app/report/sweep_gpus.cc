#include "estimator/app/report/sweep_gpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/report/human.h"
#include "estimator/app/report/table.h"

namespace plimsoll {
namespace {

constexpr double kHourNs = 3600e9;

int64_t count_of(const SweepGpu& gpu, Verdict verdict) {
  return gpu.by_verdict[static_cast<size_t>(verdict)];
}

// Nothing where one has none.
template <class Member>
std::optional<double> sum_of(const std::vector<SweepGpu>& gpus, Member member) {
  double sum = 0;
  for (const SweepGpu& gpu : gpus) {
    if (!(gpu.*member)) return std::nullopt;
    sum += *(gpu.*member);
  }
  return sum;
}

TableCell figure_cell(const std::optional<double>& value) {
  return value ? TableCell{human_number(*value), fmt::format("{}", *value)} : TableCell{"-", ""};
}

}  // namespace

void describe(Fields& f, SweepGpu& gpu) {
  f("device_id", gpu.device_id);
  f("fits", gpu.by_verdict[static_cast<size_t>(Verdict::kFits)], "configurations by verdict");
  f("may_fit", gpu.by_verdict[static_cast<size_t>(Verdict::kMayFit)]);
  f("does_not_fit", gpu.by_verdict[static_cast<size_t>(Verdict::kDoesNotFit)]);
  f("failed", gpu.failed);
  f("gpu_hours", gpu.gpu_hours,
    {.meaning = "of those that fit, for one pass over the data or through all epochs; null where "
                "the number of samples is unknown",
     .low = 0});
  f("price", gpu.price, {.meaning = "of these hours", .absent_where = !gpu.price, .low = 0});
}

void SweepGpus::add(const SweepPoint& point, int64_t gpus) {
  SweepGpu& gpu = gpus_[point.device_id];
  gpu.device_id = point.device_id;
  if (point.failure) {
    ++gpu.failed;
    return;
  }
  ++gpu.by_verdict[static_cast<size_t>(point.verdict)];
  if (!point.fits) return;
  if (!point.run_ns) gpu.gpu_hours.reset();
  if (gpu.gpu_hours)
    *gpu.gpu_hours += static_cast<double>(*point.run_ns) / kHourNs * static_cast<double>(gpus);
}

std::vector<SweepGpu> SweepGpus::all() const {
  std::vector<SweepGpu> all;
  for (const auto& [id, counted] : gpus_) {
    SweepGpu gpu = counted;
    const auto price = prices_.find(id);
    if (price != prices_.end() && gpu.gpu_hours) gpu.price = *gpu.gpu_hours * price->second;
    all.push_back(std::move(gpu));
  }
  return all;
}

std::string to_text(const std::vector<SweepGpu>& gpus, const Page& page) {
  const bool priced = std::ranges::any_of(gpus, [](const auto& g) { return g.price.has_value(); });
  if (gpus.size() < 2 && !priced) return "";
  Table table({{"gpu", {}, Column::kName},
               {"fit", "fits"},
               {"may fit", "may_fit"},
               {"do not", "does_not_fit"},
               {"no answer", "failed", Column::kFigure, 2},
               {"GPU hours", "gpu_hours", Column::kFigure, 1},
               {"price", {}, Column::kFigure, 1}});
  for (const SweepGpu& gpu : gpus) {
    table.add({{gpu.device_id},
               count_cell(count_of(gpu, Verdict::kFits)),
               count_cell(count_of(gpu, Verdict::kMayFit)),
               count_cell(count_of(gpu, Verdict::kDoesNotFit)),
               count_cell(gpu.failed),
               figure_cell(gpu.gpu_hours),
               priced ? figure_cell(gpu.price) : TableCell{}});
  }
  std::string text = "\n" + table.text(page, 2);
  const auto hours = sum_of(gpus, &SweepGpu::gpu_hours);
  if (!hours) return text;
  const auto price = sum_of(gpus, &SweepGpu::price);
  text += fmt::format("  total: {} GPU hours{}\n", human_number(*hours),
                      price ? fmt::format(", price {}", human_number(*price)) : "");
  return text +
         "  GPU hours are hours times GPUs, summed over the configurations that fit.\n"
         "  Each runs for one epoch, or for --epochs.\n";
}

}  // namespace plimsoll
