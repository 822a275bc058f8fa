#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "graph/base/mutex.h"
#include "graph/base/try.h"
#include "hwdb/calibration.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

constexpr std::string_view kPrefix = "calibrations/sm_";

// 61 of "...sm_61..."; 0 where there is no number.
int capability_in(std::string_view name) {
  const size_t at = name.rfind("sm_");
  int capability = 0;
  if (at != std::string_view::npos)
    std::from_chars(name.data() + at + 3, name.data() + name.size(), capability);
  return capability;
}

Result<Calibration> read_calibration(const Hwdb& hwdb, const std::string& name) {
  const auto text = hwdb.read(name);
  return text ? parse_calibration(*text, name) : tl::unexpected(text.error());
}

}  // namespace

struct Calibrations::Cache {
  Hwdb hwdb;
  Mutex reading;
  std::vector<int> capabilities;
  std::map<int, std::unique_ptr<const Calibration>> read;  // null: cannot be read
};

// Once a process: a sweep asks for them with every recipe.
Calibrations Calibrations::shipped() {
  static const Calibrations built_in = *cached({});
  return built_in;
}

Result<Calibrations> Calibrations::open(const Hwdb& hwdb) {
  return hwdb.built_in() ? shipped() : cached(hwdb);
}

Result<Calibrations> Calibrations::cached(const Hwdb& hwdb) {
  Calibrations calibrations;
  calibrations.cache_->hwdb = hwdb;
  for (const std::string& name : hwdb.names(kPrefix)) {
    calibrations.cache_->capabilities.push_back(capability_in(name));
    if (!hwdb.overridden(name)) continue;
    TRY(read_calibration(hwdb, name));
  }
  return calibrations;
}

Calibrations::Calibrations(std::vector<Calibration> read) : cache_(std::make_shared<Cache>()) {
  for (Calibration& calibration : read) {
    const int capability = capability_in(calibration.id);
    cache_->read[capability] = std::make_unique<const Calibration>(std::move(calibration));
  }
  for (const auto& entry : cache_->read) cache_->capabilities.push_back(entry.first);
}

const std::vector<int>& Calibrations::capabilities() const { return cache_->capabilities; }

const Calibration* Calibrations::of(int compute_capability) const {
  const std::lock_guard<Mutex> lock(cache_->reading);
  auto at = cache_->read.find(compute_capability);
  if (at == cache_->read.end()) {
    const std::string name = std::string(kPrefix) + std::to_string(compute_capability) + ".json";
    auto calibration = read_calibration(cache_->hwdb, name);
    at = cache_->read.emplace(compute_capability, nullptr).first;
    if (calibration) at->second = std::make_unique<const Calibration>(std::move(*calibration));
  }
  return at->second.get();
}

}  // namespace plimsoll
