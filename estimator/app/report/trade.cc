#include "estimator/app/report/trade.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/report/advice.h"
#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/human.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

template <class Trade>
std::string question(const Trade& trade, std::string_view batch_of) {
  return escaped_format("{}, batch {}{}, on {}\n\n",
                        shortened(trade.notes.request.model, kQuotedColumns), trade.batch, batch_of,
                        trade.device_id);
}

}  // namespace

Table to_table(const WorkspaceTrade& trade) {
  Table table({{"workspace limit", "limit_bytes"},
               {"step", "step_ns"},
               {"peak", "device_bytes"},
               {"workspace", "workspace_bytes"},
               {"verdict", {}, Column::kRemark}});
  for (const WorkspaceKnee& k : trade.limits) {
    table.add({bytes_cell(k.limit_bytes), time_cell(k.step_ns), bytes_cell(k.device_bytes),
               bytes_cell(k.workspace_bytes), verdict_cell(k.verdict)});
  }
  return table;
}

std::string to_text(const WorkspaceTrade& trade, const Page& page) {
  return question(trade, "") + to_table(trade).text(page) + assumed_paragraph(trade.notes, page);
}

std::string to_json(const WorkspaceTrade& trade) {
  return answer_text("plimsoll.workspace-limits", trade);
}

Table to_table(const ScalingTrade& trade) {
  Table table({{"GPUs", "gpus"},
               {"step", "step_ns"},
               {"throughput", "samples_per_second"},
               {"of ideal", "efficiency"},
               {"waits for exchange", "communication_ns"},
               {"", "remark", Column::kRemark}});
  for (const ScalingPoint& p : trade.points) {
    table.add({count_cell(p.gpus),
               time_cell(p.step_ns),
               number_cell(p.samples_per_second),
               share_cell(p.efficiency),
               time_cell(p.communication_ns),
               {p.exchange_leads ? "exchange leads" : ""}});
  }
  return table;
}

std::string to_text(const ScalingTrade& trade, const Page& page) {
  std::string text = question(trade, " per GPU") + to_table(trade).text(page);
  const auto first = std::ranges::find(trade.points, true, &ScalingPoint::beyond_link_data);
  if (first != trade.points.end()) {
    text += "\n" + wrapped(fmt::format("The link was not measured with {} GPUs or more. The "
                                       "bandwidth of fewer GPUs is assumed.",
                                       first->gpus),
                           page);
  }
  return text + assumed_paragraph(trade.notes, page);
}

std::string to_json(const ScalingTrade& trade) { return answer_text("plimsoll.scaling", trade); }

}  // namespace plimsoll
