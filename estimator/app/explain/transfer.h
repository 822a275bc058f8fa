// What moving bytes takes over a link: from one GPU to another, and as gradients of several.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/json/fields.h"
#include "hwdb/host.h"
#include "hwdb/link.h"

namespace plimsoll {

struct SchemeTime {
  std::string_view scheme;  // of exchange_schemes()
  int64_t ns = 0;
};

inline void describe(Fields& f, SchemeTime& s) {
  f("scheme", s.scheme);
  f("ns", s.ns);
}

struct Transfer {
  std::string link;
  int64_t one_ns = 0;
  std::vector<SchemeTime> exchange;  // of gradients of all; a network has the ring alone
  int64_t measured_gpus = 0;
};

inline void describe(Fields& f, Transfer& t) {
  f("id", t.link);
  f("transfer_ns", t.one_ns, "to one other GPU or machine");
  f("measured_gpus", t.measured_gpus, "the most that the link has data for");
  f("exchange", t.exchange);
}

// `gpus` > 1; on a network, machines.
Transfer transfer_over(const Link& link, const Host& host, int64_t bytes, int64_t gpus);

}  // namespace plimsoll
