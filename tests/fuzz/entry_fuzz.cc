// Any text, as a file of the hardware database. What is accepted must hold the figures that
// predictions divide by; what is refused must say why.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hwdb/calibration.h"
#include "hwdb/device.h"
#include "hwdb/framework.h"
#include "hwdb/host.h"
#include "hwdb/link.h"
#include "hwdb/measured/source.h"
#include "hwdb/step_errors.h"

using namespace plimsoll;

namespace {

// `sound` of what was read.
template <class Entry, class Sound>
void check(const Result<Entry>& entry, Sound sound) {
  if (entry ? !sound(*entry) : entry.error().empty()) __builtin_trap();
}

constexpr auto kAny = [](const auto&) { return true; };

// The "id" that the text names, which a file's name must repeat.
std::string_view id_of(std::string_view text) {
  const size_t key = text.find("\"id\": \"");
  if (key == text.npos) return {};
  const std::string_view rest = text.substr(key + 7);
  return rest.substr(0, rest.find('"'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view id = id_of(text);
  check(read_device(text, "fuzz.json", id), [](const Device& device) {
    return device.sms > 0 && device.bandwidth.value > 0 && device.max_clock.value > 0 &&
           device.memory_reported.value > 0;
  });
  check(read_link(text, "fuzz.json", id),
        [](const Link& link) { return link.rate.value > 0 && !link.points.empty(); });
  check(read_host(text, "fuzz.json", id), kAny);
  check(read_framework(text, "fuzz.json", id), [](const FrameworkProfile& framework) {
    const auto row = [&](std::optional<ModuleLoading> asked) {
      return choose_context(framework.context, {.device = "h100-sxm-80gb",
                                                .architecture = "hopper",
                                                .cuda = framework.cuda,
                                                .asked = asked})
          .row;
    };
    const auto ordered = [](const ContextRow* r) { return r->low <= r->high; };
    return ordered(row(std::nullopt)) && ordered(row(ModuleLoading::kEager)) &&
           ordered(row(ModuleLoading::kLazy));
  });
  check(read_sources(text, "fuzz.json"), kAny);
  check(read_step_errors(text, "fuzz.json"), kAny);
  check(parse_calibration(text, "fuzz.json"), [](const Calibration& calibration) {
    return parse_calibration(write_calibration(calibration), "again.json").has_value();
  });
  return 0;
}
