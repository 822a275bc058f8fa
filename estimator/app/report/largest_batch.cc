#include "estimator/app/report/largest_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/app/report/advice.h"
#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/spelling.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

std::string safe_batches(const LargestBatch& largest) {
  const MaxBatchAnswer& a = largest.answer;
  const std::string what =
      largest.vary == "batch" ? "" : escaped_format("{} ", shortened(largest.vary, 20));
  std::string text =
      a.safe > 0 ? fmt::format("SAFE {}{}", what, a.safe) : std::string("NOTHING FITS SAFELY");
  if (a.last_may_fit > a.safe) {
    text += a.first_may_fit == a.last_may_fit
                ? fmt::format("       may fit: {}", a.last_may_fit)
                : fmt::format("       may fit: {}-{}", a.first_may_fit, a.last_may_fit);
    if (a.last_may_fit < a.searched_to)
      text += fmt::format("      does not fit: {} and up", a.last_may_fit + 1);
  }
  if (a.last_may_fit == a.searched_to)
    text += fmt::format("      not tried: above {} (--max)", a.searched_to);
  if (largest.batch > 0) text += fmt::format("\n       at batch {}", largest.batch);
  return text + "\n";
}

double fastest(const LargestBatch& largest) {
  double best = 0;
  for (const RoundBatch& r : largest.rounds) best = std::max(best, r.samples_per_second);
  return best;
}

}  // namespace

Table round_table(const LargestBatch& largest) {
  const std::string& vary = largest.vary;
  const bool of_batch = vary == "batch";
  Table table({{vary},
               {"peak", "device_bytes"},
               {"of GPU", "share_of_usable"},
               {"low end", "device_bytes_low", Column::kFigure, 2},
               {"high end", "device_bytes_high", Column::kFigure, 1},
               {"step", "step_ns"},
               {largest.sample_unit + "/s", "samples_per_second"},
               {"of highest", "share_of_best", Column::kFigure, 1},
               {"", "verdict", Column::kRemark}});
  const double best = fastest(largest);
  for (const RoundBatch& r : largest.rounds) {
    const BatchPoint& m = r.memory;
    const bool safe = m.batch <= largest.answer.safe;
    table.add({count_cell(m.batch),
               bytes_cell(m.device_bytes),
               share_cell(share_of(m.device_bytes, largest.usable_bytes)),
               bytes_cell(m.low),
               bytes_cell(m.high),
               time_cell(r.step_ns),
               number_cell(r.samples_per_second),
               of_batch ? share_cell(r.samples_per_second / best) : TableCell{},
               {!safe                            ? "may fit"
                : m.batch == largest.answer.safe ? "safe"
                                                 : "",
                safe ? "fits" : "may_fit"}},
              safe ? Tone::kPlain : Tone::kDoubtful);
  }
  return table;
}

// What each sample adds, where memory is a straight line through the outermost batches.
namespace {

// What a sample adds, by the outermost of the batches.
std::string growth(const LargestBatch& largest) {
  if (largest.rounds.size() < 2 || largest.vary != "batch") return "";
  const BatchPoint& few = largest.rounds.front().memory;
  const BatchPoint& many = largest.rounds.back().memory;
  if (many.device_bytes <= few.device_bytes) return "";
  return fmt::format(
      "each further sample adds {}\n",
      human_bytes((many.device_bytes - few.device_bytes) / (many.batch - few.batch)));
}

// Why the next size is not safe.
std::string next_text(const LargestBatch& largest, const Page& page) {
  const auto next = std::ranges::find_if(largest.answer.points, [&](const BatchPoint& p) {
    return p.batch > largest.answer.safe && p.high > largest.usable_bytes;
  });
  if (largest.answer.safe == 0 || next == largest.answer.points.end()) return "";
  return wrapped(
      escaped_format("{} {} may need {} more than the GPU has", shortened(largest.vary, 20),
                     next->batch, human_bytes(next->high - largest.usable_bytes)),
      page);
}

// Whose batch it is, where there are several GPUs.
std::string of_each_gpu(const LargestBatch& largest, const Page& page) {
  const Request& request = largest.notes.request;
  if (request.gpu_count <= 1 || largest.vary != "batch") return "";
  const auto is_shared = [&](Axis axis) {
    return request.parallel.axes[static_cast<size_t>(axis)] > 1;
  };
  const bool shares =
      std::ranges::any_of(std::array{Axis::kTensor, Axis::kContext, Axis::kStage}, is_shared);
  return wrapped(
      fmt::format("the batch is that of each GPU{}; the throughput is that of all {} GPUs",
                  shares ? " or group that shares samples" : "", request.gpu_count),
      page);
}

std::string as_fast_hint(const LargestBatch& largest, const Page& page) {
  if (largest.as_fast == 0 || largest.as_fast == largest.answer.safe) return "";
  const auto at = std::ranges::find_if(
      largest.rounds, [&](const RoundBatch& r) { return r.memory.batch == largest.as_fast; });
  return wrapped(
      fmt::format("hint: batch {} has {:.0f} % of the highest {}/s and leaves {} free",
                  largest.as_fast, 100 * at->samples_per_second / fastest(largest),
                  largest.sample_unit, human_bytes(largest.usable_bytes - at->memory.device_bytes)),
      page);
}

// Memory grows with the batch but for the allocator's segments.
std::string first_dip(const LargestBatch& largest, const Page& page) {
  const std::vector<BatchPoint>& points = largest.answer.points;
  for (size_t i = 1; i < points.size(); ++i) {
    if (points[i].device_bytes >= points[i - 1].device_bytes) continue;
    return wrapped(fmt::format("{} {} needs less memory than a smaller one: the allocator reserves "
                               "segments of several sizes",
                               largest.vary, points[i].batch),
                   page);
  }
  return "";
}

}  // namespace

Table batch_remedy_table(const LargestBatch& largest) {
  Table table({{"what would help", "flags", Column::kFlags},
               {"batch", "safe"},
               {fmt::format("peak at {}", largest.search.multiple), "device_bytes"},
               {"step", "step_ns"},
               {"", "verdict", Column::kRemark}});
  for (const auto& [remedy, safe] : largest.advice) {
    table.add({{spelled(remedy.settings)},
               safe > 0 ? count_cell(safe) : TableCell{},
               bytes_cell(remedy.device_bytes),
               time_cell(remedy.step_ns),
               verdict_cell(remedy.verdict)},
              tone_of(remedy.verdict));
  }
  return table;
}

namespace {

// What the smallest batch needs, and what lets it fit.
std::string advice_text(const LargestBatch& largest, const Page& page) {
  const std::vector<BatchPoint>& points = largest.answer.points;
  std::string text;
  if (!points.empty() && largest.vary == "batch")
    text = fmt::format("       batch {} needs {} of {}\n", points.front().batch,
                       human_bytes(points.front().device_bytes), human_bytes(largest.usable_bytes));
  if (largest.advice.empty()) return text;
  return text + "\n" + batch_remedy_table(largest).text(page, 2);
}

}  // namespace

std::string to_text(const LargestBatch& largest, const Page& page, bool quiet, bool basis) {
  std::string text = safe_batches(largest);
  if (quiet) return text;
  if (largest.answer.safe == 0) text += advice_text(largest, page);
  if (largest.rounds.empty())
    return largest.advice.empty() ? text : text + assumed_paragraph(largest.notes, page);
  text += "\n" + round_table(largest).text(page) + "\n" + next_text(largest, page) +
          growth(largest) + of_each_gpu(largest, page) + as_fast_hint(largest, page) +
          first_dip(largest, page) + assumed_paragraph(largest.notes, page);
  return basis ? text + basis_text(largest.notes, page) : text;
}

std::string to_json(const LargestBatch& largest) {
  return answer_text("plimsoll.max-batch", largest);
}

}  // namespace plimsoll
