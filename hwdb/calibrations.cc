#include <charconv>
#include <map>
#include <mutex>

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

}  // namespace

struct Calibrations::Shelf {
  std::mutex reading;
  std::vector<int> capabilities;
  std::map<int, std::unique_ptr<const Calibration>> read;  // null: cannot be read
};

Calibrations Calibrations::shipped() {
  Calibrations calibrations;
  for (const std::string& name : hwdb_files().names(kPrefix)) {
    calibrations.shelf_->capabilities.push_back(capability_in(name));
  }
  return calibrations;
}

Calibrations::Calibrations(std::vector<Calibration> read) : shelf_(std::make_shared<Shelf>()) {
  for (Calibration& calibration : read) {
    const int capability = capability_in(calibration.id);
    shelf_->read[capability] = std::make_unique<const Calibration>(std::move(calibration));
  }
  for (const auto& entry : shelf_->read) shelf_->capabilities.push_back(entry.first);
}

const std::vector<int>& Calibrations::capabilities() const { return shelf_->capabilities; }

const Calibration* Calibrations::of(int compute_capability) const {
  const std::lock_guard<std::mutex> lock(shelf_->reading);
  auto at = shelf_->read.find(compute_capability);
  if (at == shelf_->read.end()) {
    const std::string name = std::string(kPrefix) + std::to_string(compute_capability) + ".json";
    const auto text = hwdb_files().read(name);
    auto calibration = text ? parse_calibration(*text, name) : tl::unexpected(text.error());
    at = shelf_->read.emplace(compute_capability, nullptr).first;
    if (calibration) at->second = std::make_unique<const Calibration>(std::move(*calibration));
  }
  return at->second.get();
}

}  // namespace plimsoll
