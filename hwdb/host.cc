#include "hwdb/host.h"

#include <fmt/format.h>

#include "hwdb/entry.h"

namespace plimsoll {
namespace {

constexpr Plausible kCopy{"100 MB/s", "1 TB/s"};

Version read_version(JsonObject& object, std::string_view key) {
  const std::string text = object.required_string(key);
  const auto version = parse_version(text);
  if (!version && !text.empty()) object.fail("E401", fmt::format("{} is not a version", key));
  return version.value_or(Version{});
}

void read_dispatch(JsonObject& root, Host& host) {
  for (const JsonValue& value : root.required_list("dispatch")) {
    JsonObject object(value, root.file(), root.faults());
    Figures figures(object, host.figures);
    Dispatch row;
    row.framework = object.required_string("framework");
    row.since = read_version(object, "since");
    constexpr Plausible kLaunch{"0 us", "10 ms"};
    row.per_launch = figures.part<Seconds>(object, "per_launch", kLaunch);
    row.per_launch_low = figures.part<Seconds>(object, "per_launch_low", kLaunch);
    row.per_launch_high = figures.part<Seconds>(object, "per_launch_high", kLaunch);
    if (object.has("per_launch_older"))
      row.per_launch_older = figures.part<Seconds>(object, "per_launch_older", kLaunch);
    if (object.has("per_forward_launch"))
      row.per_forward_launch = figures.part<Seconds>(object, "per_forward_launch", kLaunch);
    if (object.has("per_operator"))
      row.per_operator = figures.part<Seconds>(object, "per_operator", kLaunch);
    row.per_step = figures.part<Seconds>(object, "per_step", {"0 us", "10 s"});
    row.per_forward = object.has("per_forward")
                          ? figures.part<Seconds>(object, "per_forward", {"0 us", "10 s"})
                          : row.per_step;
    row.per_array = figures.part<Seconds>(object, "per_array", kLaunch);
    if (object.has("per_replica"))
      row.per_replica = figures.part<Seconds>(object, "per_replica", kLaunch);
    if (object.has("input_path"))
      row.input_path = figures.part<BytesPerSecond>(object, "input_path", kCopy);
    row.gpu_factor = object.required_real("gpu_factor", {.low = 0.1, .high = 10});
    if (row.per_launch < row.per_launch_low || row.per_launch_high < row.per_launch) {
      object.fail("E402", "per_launch is outside per_launch_low to per_launch_high");
    }
    const JsonValue* source = value.find("source");
    row.assumed = source && source->string() && source->string()->starts_with("assumed");
    figures.note(
        object, fmt::format("dispatch.{}-{}", row.framework, row.since.text()),
        object.value().find("per_launch") ? fmt::format("{} us", row.per_launch.value * 1e6) : "");
    object.finish();
    host.dispatch.push_back(std::move(row));
  }
}

}  // namespace

const Dispatch* Host::find(std::string_view framework, const Version& version) const {
  const Dispatch* best = nullptr;
  for (const Dispatch& row : dispatch) {
    if (row.framework != framework) continue;
    const bool fits = !(version < row.since);
    const bool best_fits = best && !(version < best->since);
    const bool better =
        !best || (fits && !best_fits) ||
        (fits == best_fits && (fits ? best->since < row.since : row.since < best->since));
    if (better) best = &row;
  }
  return best;
}

Result<Host> read_host(std::string_view text, std::string_view file, std::string_view stem) {
  return read_entry<Host>("plimsoll.host", text, file, stem, [](JsonObject& root, Host& host) {
    Figures figures(root, host.figures);
    host.name = root.required_string("name");
    host.pageable_copy = figures.quantity<BytesPerSecond>("pageable_copy", kCopy);
    host.pinned_copy = figures.quantity<BytesPerSecond>("pinned_copy", kCopy);
    read_dispatch(root, host);
  });
}

}  // namespace plimsoll
