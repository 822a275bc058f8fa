#include "estimator/app/report/trade.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/human.h"

namespace plimsoll {

std::string to_text(const WorkspaceTrade& trade, const Page& page) {
  Table table({{"workspace limit"}, {"step"}, {"peak"}, {"workspace"}, {"", {}, Column::kRemark}});
  for (const WorkspaceKnee& k : trade.limits) {
    table.add({bytes_cell(k.limit_bytes),
               time_cell(k.step_ns),
               bytes_cell(k.device_bytes),
               bytes_cell(k.workspace_bytes),
               {std::string(name(k.verdict))}});
  }
  return table.text(page);
}

std::string to_json(const WorkspaceTrade& trade) {
  return answer_text("plimsoll.workspace-limits", trade);
}

std::string to_text(const ScalingTrade& trade, const Page& page) {
  Table table({{"GPUs"},
               {"step"},
               {"per second"},
               {"of ideal"},
               {"waits for exchange"},
               {"", {}, Column::kRemark}});
  for (const ScalingPoint& p : trade.points) {
    table.add({count_cell(p.gpus),
               time_cell(p.step_ns),
               number_cell(p.samples_per_second),
               share_cell(p.efficiency),
               time_cell(p.communication_ns),
               {p.exchange_leads ? "exchange leads" : ""}});
  }
  std::string text = table.text(page);
  const auto first = std::ranges::find(trade.points, true, &ScalingPoint::beyond_link_data);
  if (first != trade.points.end()) {
    text += "\n" + wrapped(fmt::format("the link was not measured with {} GPUs or more; the "
                                       "bandwidth of fewer GPUs is assumed",
                                       first->gpus),
                           page);
  }
  return text;
}

std::string to_json(const ScalingTrade& trade) { return answer_text("plimsoll.scaling", trade); }

}  // namespace plimsoll
