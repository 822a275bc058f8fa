#include "estimator/app/report/transfer.h"

#include <fmt/format.h>

#include "estimator/app/report/document.h"
#include "estimator/app/report/human.h"

namespace plimsoll {

Table transfer_table(std::span<const Transfer> links, const TransferQuestion& asked,
                     bool each_row_whole) {
  Table table({{"link", {}, Column::kName},
               {"", "what", Column::kRemark},
               {"time", "time_ns"},
               {"MB/s", "megabytes_per_second"}});
  const auto add = [&](const std::string& link, std::string what, int64_t ns) {
    const double rate =
        ns > 0 ? static_cast<double>(asked.bytes) * 1e3 / static_cast<double>(ns) : 0;
    table.add({{link}, {std::move(what)}, time_cell(ns), {fmt::format("{:.0f}", rate)}});
  };
  for (const Transfer& t : links) {
    add(t.link, "to one other", t.one_ns);
    for (const SchemeTime& s : t.exchange)
      add(each_row_whole ? t.link : "", fmt::format("exchange: {}", s.scheme), s.ns);
  }
  return table;
}

std::string transfer_text(std::span<const Transfer> links, const TransferQuestion& asked,
                          const Page& page) {
  std::string text =
      fmt::format("{:.4g} MB, {} GPUs\n\n", static_cast<double>(asked.bytes) / 1e6, asked.gpus);
  text += transfer_table(links, asked, false).text(page);
  for (const Transfer& t : links) {
    if (asked.gpus <= t.measured_gpus) continue;
    text +=
        "\n" +
        wrapped(fmt::format(
                    "{} was not measured with more than {} GPUs; the bandwidth of these is assumed",
                    t.link, t.measured_gpus),
                page);
  }
  return text;
}

std::string transfer_json(std::span<const Transfer> links, const TransferQuestion& asked) {
  return result_text("plimsoll.links", TransferAnswer{asked, {links.begin(), links.end()}});
}

}  // namespace plimsoll
