// What moving bytes takes, link by link, as text and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "estimator/plan/transfer.h"
#include "estimator/report/page.h"
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

std::string transfer_text(std::span<const Transfer> links, const TransferQuestion& asked,
                          const Page& page);
std::string transfer_json(std::span<const Transfer> links, const TransferQuestion& asked);

}  // namespace plimsoll
