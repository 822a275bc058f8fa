// Plans swept by the program, and the lines of its answers.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {

inline const std::string kSmallPlan = R"(
model: builtin:squeezenet1_0
parameters:
  batch_size: {values: [8, 64]}
  learning_rate: [0.1, 0.01, 0.001]
  optimizer: [sgd, adam]
  gpu: [tesla-t4, p4000]
  momentum: {min: 0.5, max: 0.9, distribution: uniform}
)";

// `plan` as a file p.yaml in a folder of its own, swept from there.
inline Ran swept(const std::string& plan, std::vector<std::string> flags = {}) {
  const Scratch scratch;
  scratch.write("p.yaml", plan);
  flags.insert(flags.begin(), {"sweep", "p.yaml"});
  return run_plimsoll(std::move(flags), {.folder = scratch.path("")});
}

inline std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace plimsoll::test
