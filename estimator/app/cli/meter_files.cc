#include "estimator/app/cli/meter_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/messages.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "hwdb/measured/meter.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kExample =
    "plimsoll validate --from summary=summary.txt --model builtin:resnet50 --batch 32 --gpu t4";

Result<MeterReading> read_one(const std::string& form, const std::string& path,
                              std::optional<int64_t> steps, const Limits& limits) {
  const std::vector<std::string> forms(kMeterForms.begin(), kMeterForms.end());
  const auto which = TRY(parse_word(setting("from"), form, forms));
  const auto source = TRY(ByteSource::open(path, limits));
  return read_meter(source, static_cast<MeterForm>(which), steps, limits);
}

}  // namespace

void add_meters(const FlagSet& app, MeterFlags& flags) {
  app.add_option("--from", flags.from,
                 fmt::format("a profiler's output for the run that the options describe; FORM: {} "
                             "(snapshot and summary are those of torch.cuda)",
                             fmt::join(kMeterForms, ", ")))
      .allow_extra_args(false)
      .type_name("FORM=FILE")
      .group(kVerbGroup);
  app.add_option("--steps", flags.steps, "training steps in the nsys or nvprof file")
      .type_name("N")
      .group(kVerbGroup);
}

Result<MeteredRun> read_meters(const MeterFlags& flags, Request& request) {
  if (request.model.empty())
    return error("E108", "which model ran? " + setting("model"), {}, kExample);
  if (!request.batch)
    return error("E108", "at which batch? " + setting("batch", "N"), {}, kExample);
  std::optional<int64_t> steps;
  if (!flags.steps.empty()) {
    const auto count = TRY(parse_count(setting("steps"), flags.steps, 1, 1'000'000'000));
    steps = count;
  }
  MeteredRun metered;
  for (const std::string& text : flags.from) {
    const auto pair = TRY(parse_assignment(setting("from"), text));
    auto reading = TRY(read_one(pair.first, pair.second, steps, request.limits));
    report(reading.notes);
    if (request.devices.empty() && !reading.device.empty()) request.devices = {reading.device};
    if (!reading.device.empty()) metered.devices.emplace_back(pair.second, reading.device);
    for (Measurement& one : reading.measured) {
      metered.run.measured.push_back(std::move(one));
      metered.files.push_back(pair.second);
    }
  }
  metered.run.kind = RunKind::kModel;
  metered.run.model =
      request.model.starts_with("builtin:") ? request.model.substr(8) : request.model;
  return metered;
}

Result<void> check_cards(const MeteredRun& run, const Device& device, const Hwdb& hwdb) {
  for (const auto& [file, name] : run.devices) {
    const std::vector<std::string> ids = hwdb.devices_called(name);
    const bool its = std::ranges::find(device.names, name) != device.names.end() ||
                     std::ranges::any_of(ids, [&](const std::string& id) {
                       return device.id == id || device.id.starts_with(id + ":");  // a part of it
                     });
    // A name that no file knows may be the card's own.
    if (its || ids.empty()) continue;
    return error(
        "E532",
        fmt::format("is of {}, and the run is on {}", shortened(name, kQuotedColumns), device.id),
        {.file = file, .node = {}}, "name the GPU of the run with " + setting("gpu", ids[0]));
  }
  return {};
}

}  // namespace plimsoll::cli
