// What moving bytes takes, link by link, as text and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "estimator/app/explain/transfer.h"
#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct TransferQuestion {
  int64_t bytes = 0, gpus = 2;
};

struct TransferAnswer {
  TransferQuestion question;
  std::vector<Transfer> links;
};
inline void describe(Fields& f, TransferAnswer& a) {
  f("bytes", a.question.bytes);
  f("gpus", a.question.gpus);
  f("links", a.links);
}

// `each_row_whole`: every row names its link, as programs read it.
Table transfer_table(std::span<const Transfer> links, const TransferQuestion& asked,
                     bool each_row_whole);
std::string transfer_text(std::span<const Transfer> links, const TransferQuestion& asked,
                          const Page& page);
std::string transfer_json(std::span<const Transfer> links, const TransferQuestion& asked);

}  // namespace plimsoll
