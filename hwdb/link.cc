#include "hwdb/link.h"

#include "hwdb/entry.h"

namespace plimsoll {
namespace {

void read_points(JsonObject& root, Link& link) {
  for (const JsonValue& value : root.required_list("points")) {
    JsonObject object(value, root.file(), root.faults());
    Figures figures(object, link.figures);
    LinkPoint point;
    point.gpus = object.required_integer("gpus", {.low = 2, .high = 1 << 20});
    point.bus_bandwidth =
        figures.part<BytesPerSecond>(object, "bus_bandwidth", {"1 MB/s", "100 TB/s"});
    point.latency = figures.part<Seconds>(object, "latency", {"0 us", "1 s"});
    const JsonValue* reached = value.find("bus_bandwidth");
    figures.note(object, "bus_bandwidth." + std::to_string(point.gpus),
                 reached && reached->string() ? *reached->string() : "");
    object.finish();
    if (!link.points.empty() && link.points.back().gpus >= point.gpus) {
      object.fail("E402", "points must ascend in gpus");
    }
    link.points.push_back(point);
  }
  if (link.points.empty() && root.has("points")) root.fail("E402", "points must not be empty");
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
  return read_entry<Link>("plimsoll.link", text, file, stem, [](JsonObject& root, Link& link) {
    Figures figures(root, link.figures);
    link.name = root.required_string("name");
    link.kind = root.required_choice("kind", {"pcie", "nvlink", "network"});
    const auto port = root.optional_choice("port_of", {"gpu", "machine"});
    link.port_of_gpu = port && *port == "gpu";
    link.rate = figures.quantity<BytesPerSecond>("rate", {"1 MB/s", "100 TB/s"});
    link.channels = figures.integer("channels", {.low = 1, .high = 64});
    read_points(root, link);
  });
}

}  // namespace plimsoll
