// Golden cases whose figure is not PyTorch's, by name with both: tests/golden/differences.json.
// What gets better, worse or other is a line of its diff; with PLIMSOLL_DIFFERENCES=write it is
// written anew.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/golden_memory.h"

namespace plimsoll::test {

// A case a line.
inline void write_differences(const nlohmann::json& all) {
  std::ofstream file(golden_path("differences.json"));
  file << "{\n\"units\": \"bytes: [Plimsoll's, PyTorch's]\"";
  for (const auto& [section, cases] : all.items()) {
    if (!cases.is_object()) continue;
    file << ",\n" << nlohmann::json(section).dump() << ": {";
    const char* before = "\n";
    for (const auto& [name, figures] : cases.items()) {
      file << before << "  " << nlohmann::json(name).dump() << ": " << figures.dump();
      before = ",\n";
    }
    file << "}";
  }
  file << "\n}\n";
}

inline void check_differences(const std::string& section, const Errors& errors) {
  nlohmann::json all = read_golden("differences.json");
  const nlohmann::json found = errors.differences();
  const char* const mode = std::getenv("PLIMSOLL_DIFFERENCES");
  if (mode && std::string(mode) == "write") {
    if (!all.is_object()) all = nlohmann::json::object();
    all[section] = found;
    write_differences(all);
    return;
  }
  REQUIRE_MESSAGE(all.contains(section), section, " is not in tests/golden/differences.json");
  for (const auto& [name, figures] : found.items()) {
    const bool known = all[section].contains(name) && all[section][name] == figures;
    const std::string told = fmt::format("{}: {} is now {}", section, name, figures.dump());
    CHECK_MESSAGE(known, told);
  }
  for (const auto& [name, figures] : all[section].items()) {
    const bool differs = found.contains(name);
    const std::string told = fmt::format("{}: {} is PyTorch's now: take it out", section, name);
    CHECK_MESSAGE(differs, told);
  }
}

}  // namespace plimsoll::test
