#include <fmt/format.h>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/report/human.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestLink = 60;

std::string sent(int64_t bytes, const std::string& over) {
  return over.empty() ? std::string() : human_bytes(bytes);
}

void add_axis_table(Markup& out, const StepLanes& lanes) {
  HtmlTable table(out, "Exchanges of one GPU in a step, by axis",
                  {{"axis"},
                   {"GPUs", true},
                   {"in a machine", true},
                   {"exchanges", true},
                   {"link"},
                   {"sent", true},
                   {"network"},
                   {"sent", true},
                   {"time", true},
                   {"waited for", true}});
  for (const AxisLane& l : lanes.axes) {
    table.row().cell(l.axis).count(l.ranks).count(l.per_node).count(l.collectives);
    table.cell(shortened(l.link, kLongestLink));
    table.cell(sent(l.link_bytes, l.link), static_cast<double>(l.link_bytes));
    table.cell(shortened(l.network, kLongestLink));
    table.cell(sent(l.network_bytes, l.network), static_cast<double>(l.network_bytes));
    table.time(l.busy_ns).time(l.waited_ns);
  }
  table.end();
}

void add_span_rows(HtmlTable& table, const std::string& lane, const std::vector<LaneSpan>& spans) {
  for (const LaneSpan& s : spans) {
    table.row().cell(lane).cell(s.what).count(s.count);
    table.time(s.begin_ns).time(s.end_ns).time(s.busy_ns);
  }
}

void add_span_table(Markup& out, const StepLanes& lanes) {
  out.open("details").element("summary", "the figures of these charts");
  HtmlTable table(
      out, "What runs when; what is too short to show is together with its neighbours",
      {{"lane"}, {"what"}, {"count", true}, {"begins", true}, {"ends", true}, {"busy", true}});
  add_span_rows(table, "GPU", lanes.gpu);
  for (const AxisLane& l : lanes.axes)
    add_span_rows(table, fmt::format("{}, {} GPUs", l.axis, l.ranks), l.spans);
  for (const StageLane& l : lanes.stages)
    add_span_rows(table, fmt::format("stage {}", l.stage), l.spans);
  table.end();
  out.close();
}

}  // namespace

void write_lane_section(Markup& out, const std::optional<StepLanes>& step) {
  if (!step) return;
  const StepLanes& lanes = *step;
  open_section(out, "lanes", "One step on several GPUs",
               "The first lane is the slowest GPU: it waits where the lane is empty. Below it are "
               "the exchanges along each axis. Passes that are alike are drawn once, as one pass "
               "with the time of all of them.");
  write_chart(out, "lanes");
  if (!lanes.axes.empty()) add_axis_table(out, lanes);
  if (!lanes.stages.empty()) {
    out.element(
        "p",
        "The stages of the pipeline. All but the slowest are drawn alike. A stage waits for "
        "others where its lane is empty: the bubble.");
    write_chart(out, "stages");
  }
  add_span_table(out, lanes);
  out.close();
}

}  // namespace plimsoll
