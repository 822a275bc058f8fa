#include "hwdb/link.h"

#include <utility>

#include "graph/json/read_fields.h"
#include "hwdb/entry.h"
#include "hwdb/file_figures.h"

namespace plimsoll {
namespace {

constexpr std::string_view kLinkSchema = "plimsoll.link";
constexpr std::string_view kKinds[] = {"pcie", "nvlink", "network"};
constexpr std::string_view kPorts[] = {"gpu", "machine"};
constexpr Plausible kRate{"1 MB/s", "100 TB/s"};

void describe_point(Fields& f, FileFigures& figures, LinkPoint& point) {
  f("gpus", point.gpus, {.low = 2, .high = 1 << 20});
  const std::string reached = figures.part<BytesPerSecond>(
      "bus_bandwidth", point.bus_bandwidth, kRate,
      {.meaning = "B of t = latency + 2 (n-1)/n bytes / B, of an all-reduce over n GPUs"});
  figures.part<Seconds>("latency", point.latency, {"0 us", "1 s"});
  const std::string name = "bus_bandwidth." + std::to_string(point.gpus);
  figures.note(name, reached, figures.source("bus_bandwidth"));
}

struct LinkFile {
  Link link;
};

void describe(Fields& f, LinkFile& file) {
  Link& link = file.link;
  describe_identity(f, kLinkSchema, link.id, link.aliases);
  FileFigures figures(f, link.figures);
  f("name", link.name);
  f("kind", link.kind, {.words = kKinds});
  std::string port{kPorts[link.port_of_gpu ? 0 : 1]};
  f("port_of", port,
    {.meaning = "whose each port of a network is; of the machine where not given",
     .absent_where = false,
     .words = kPorts});
  link.port_of_gpu = port == kPorts[0];
  figures.quantity<BytesPerSecond>(
      "rate", link.rate, kRate,
      {.meaning = "nominal, one direction: of a GPU's slot, of all its NVLinks, of a port"});
  figures.quantity<BytesPerSecond>(
      "one_way", link.one_way, kRate,
      may_be_absent("reached where all bytes go the same way; as bus_bandwidth where not given"));
  figures("channels", link.channels, {.low = 1, .high = 64},
          {.meaning = "that NCCL opens between GPUs joined by it"});
  f.list("points", link.points, [&](LinkPoint& point) { describe_point(f, figures, point); },
         {.meaning = "measured all-reduces, ascending in gpus", .least = 1});
}

// What no figure says by itself.
void check_points(JsonObject& root, const Link& link) {
  const JsonValue& written = *root.value().find("points");
  if (link.points.empty()) root.fail("E402", "points must not be empty", written);
  for (size_t i = 1; i < link.points.size(); ++i) {
    if (link.points[i].gpus <= link.points[i - 1].gpus)
      root.fail("E402", "points must ascend in gpus", (*written.list())[i]);
  }
}

}  // namespace

const LinkPoint& Link::point(int64_t gpus) const {
  const LinkPoint* found = &points.front();
  for (const LinkPoint& candidate : points) {
    if (candidate.gpus <= gpus) found = &candidate;
  }
  return *found;
}

Result<Link> read_link(std::string_view text, std::string_view file, std::string_view stem) {
  return read_entry<Link>(kLinkSchema, text, file, stem, [](JsonObject& root, Link& link) {
    link = read_described<LinkFile>(root).link;
    if (!has_error(root.faults())) check_points(root, link);
  });
}

void describe_link_file(Fields& f) {
  LinkFile any;
  f.visit(any);
}

}  // namespace plimsoll
