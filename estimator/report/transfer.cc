#include "estimator/report/transfer.h"

#include <fmt/format.h>

#include "estimator/report/document.h"
#include "estimator/report/human.h"

namespace plimsoll {

std::string transfer_text(std::span<const Transfer> links, const TransferQuestion& asked,
                          const Page& page) {
  std::string text =
      fmt::format("{:.4g} MB, {} GPUs\n\n", static_cast<double>(asked.bytes) / 1e6, asked.gpus);
  Table table({{"link", {}, Column::kName}, {"", {}, Column::kRemark}, {"time"}, {"MB/s"}});
  const auto add = [&](const std::string& link, std::string what, int64_t ns) {
    const double rate =
        ns > 0 ? static_cast<double>(asked.bytes) * 1e3 / static_cast<double>(ns) : 0;
    table.add({{link}, {std::move(what)}, time_cell(ns), {fmt::format("{:.0f}", rate)}});
  };
  for (const Transfer& t : links) {
    add(t.link, "to one other", t.one_ns);
    for (const SchemeTime& s : t.exchange) add("", fmt::format("exchange: {}", s.scheme), s.ns);
  }
  text += table.text(page);
  for (const Transfer& t : links) {
    if (asked.gpus <= t.measured_gpus) continue;
    text += "\n" + wrapped(fmt::format("{}: of more than {} GPUs nothing is known; they are taken "
                                       "to share it as these do",
                                       t.link, t.measured_gpus),
                           page);
  }
  return text;
}

std::string transfer_json(std::span<const Transfer> links, const TransferQuestion& asked) {
  return result_text("plimsoll.links", TransferAnswer{asked, {links.begin(), links.end()}});
}

}  // namespace plimsoll
