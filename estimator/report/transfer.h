// What moving bytes takes, link by link, as text and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "estimator/plan/transfer.h"
#include "estimator/report/page.h"

namespace plimsoll {

struct TransferQuestion {
  int64_t bytes = 0, gpus = 2;
};

std::string transfer_text(std::span<const Transfer> links, const TransferQuestion& asked,
                          const Page& page);
std::string transfer_json(std::span<const Transfer> links, const TransferQuestion& asked);

}  // namespace plimsoll
