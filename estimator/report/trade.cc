#include "estimator/report/trade.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/report/human.h"
#include "estimator/report/version.h"

namespace plimsoll {

std::string to_text(std::span<const WorkspaceKnee> knees, const Page& page) {
  Table table({{"workspace limit"}, {"step"}, {"peak"}, {"workspace"}, {"", {}, Column::kRemark}});
  for (const WorkspaceKnee& k : knees) {
    table.add({bytes_cell(k.limit_bytes),
               time_cell(k.step_ns),
               bytes_cell(k.device_bytes),
               bytes_cell(k.workspace_bytes),
               {std::string(name(k.verdict))}});
  }
  return table.text(page);
}

std::string to_json(std::span<const WorkspaceKnee> knees) {
  JsonWriter out = begin_document("plimsoll.workspace-limits");
  out.key("result").begin_object().key("knees").objects(knees, [&](const WorkspaceKnee& k) {
    out.key("limit_bytes").integer(k.limit_bytes);
    out.key("step_ns").integer(k.step_ns);
    out.key("device_bytes").integer(k.device_bytes);
    out.key("workspace_bytes").integer(k.workspace_bytes);
    out.key("verdict").string(name(k.verdict));
  });
  out.end_object().end_object();
  return out.take() + "\n";
}

std::string to_text(std::span<const ScalingPoint> points, const Page& page) {
  Table table({{"GPUs"},
               {"step"},
               {"per second"},
               {"of ideal"},
               {"waits for exchange"},
               {"", {}, Column::kRemark}});
  for (const ScalingPoint& p : points) {
    table.add({count_cell(p.gpus),
               time_cell(p.step_ns),
               number_cell(p.samples_per_second),
               share_cell(p.efficiency),
               time_cell(p.communication_ns),
               {p.exchange_leads ? "exchange leads" : ""}});
  }
  std::string text = table.text(page);
  const auto first = std::ranges::find(points, true, &ScalingPoint::beyond_link_data);
  if (first != points.end()) {
    text += "\n" + wrapped(fmt::format("from {} GPUs on nobody measured the link: they are taken "
                                       "to share it as fewer do",
                                       first->gpus),
                           page);
  }
  return text;
}

std::string to_json(std::span<const ScalingPoint> points) {
  JsonWriter out = begin_document("plimsoll.scaling");
  out.key("result").begin_object().key("points").objects(points, [&](const ScalingPoint& p) {
    out.key("gpus").integer(p.gpus);
    out.key("step_ns").integer(p.step_ns);
    out.key("communication_ns").integer(p.communication_ns);
    out.key("samples_per_second").real(p.samples_per_second);
    out.key("efficiency").real(p.efficiency);
    out.key("exchange_leads").boolean(p.exchange_leads);
    out.key("beyond_link_data").boolean(p.beyond_link_data);
  });
  out.end_object().end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll
