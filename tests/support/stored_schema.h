// Schemas of what programs write that `plimsoll` does not hold: they are stored beside those that
// it reads, and PLIMSOLL_SCHEMAS=write stores them anew.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace plimsoll::test {

inline void check_stored_schema(const std::string& name, const std::string& text) {
  const std::string path =
      std::string(PLIMSOLL_SOURCE_DIR) + "/estimator/schemas/" + name + ".schema.json";
  const char* const mode = std::getenv("PLIMSOLL_SCHEMAS");
  if (mode && std::string_view(mode) == "write") std::ofstream(path) << text;
  std::ifstream in(path);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == text);
}

}  // namespace plimsoll::test
