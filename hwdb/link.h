// Link: how GPUs, or machines, are joined, from one file hwdb/links/ID.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/units.h"
#include "hwdb/figure_note.h"

namespace plimsoll {

// What an all-reduce over so many GPUs was seen to reach.
struct LinkPoint {
  int64_t gpus = 2;
  BytesPerSecond bus_bandwidth;  // B of t = latency + 2 (n-1)/n * bytes / B
  Seconds latency;
};

struct Link {
  std::string id;
  std::vector<std::string> aliases;
  std::string name;
  std::string kind;     // "pcie", "nvlink", "network"
  BytesPerSecond rate;  // nominal, one direction: of a GPU's slot, of all its NVLinks, of a port
  // Reached where all bytes go the same way; nothing: as in an all-reduce, which sends both ways.
  std::optional<BytesPerSecond> one_way;
  bool port_of_gpu = false;       // of a network: each GPU has one, else all of a machine share it
  int64_t channels = 0;           // that NCCL opens between GPUs joined by it
  std::vector<LinkPoint> points;  // ascending in gpus, at least one
  std::vector<FigureNote> figures;
  Diagnostics warnings;

  // For n GPUs: the point of the largest number of GPUs that is not above n, else the first.
  const LinkPoint& point(int64_t gpus) const;
};

// E3xx and E4xx as read_device.
Result<Link> read_link(std::string_view text, std::string_view file, std::string_view stem);

// What a link file may hold, of no values: for its schema.
void describe_link_file(Fields& f);

}  // namespace plimsoll
