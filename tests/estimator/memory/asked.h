// cuDNN's answers kept for tests: tests/golden/workspaces/*.txt.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "estimator/library/workspace/formula.h"

namespace plimsoll::test {

struct GoldenPlan {
  int engine = 0, tile = -1;
  bool tensor_core = false;
  int64_t bytes = 0;
};

struct Asked {
  std::string text;
  ConvProblem<int64_t> problem;
  Pass pass = Pass::kForward;
  std::vector<GoldenPlan> plans;  // in cuDNN's order
};

inline std::vector<Asked> read_asked(int capability) {
  const auto path = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/golden/workspaces" /
                    ("cudnn-9.10-sm" + std::to_string(capability) + "-fp32-nchw.txt");
  std::ifstream file(path);
  std::vector<Asked> all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream in(line);
    Asked asked{.text = line, .problem = {}, .plans = {}};
    std::string pass, word;
    ConvProblem<int64_t>& c = asked.problem;
    in >> pass >> c.n >> c.c >> c.in[1] >> c.in[2] >> c.k >> c.filter[1] >> c.filter[2] >>
        c.pad[1] >> c.pad[2] >> c.stride[1] >> c.stride[2] >> c.dilation[1] >> c.dilation[2] >>
        c.groups >> word;
    asked.pass = pass == "fprop"   ? Pass::kForward
                 : pass == "dgrad" ? Pass::kBackwardData
                                   : Pass::kBackwardWeights;
    for (size_t i = 1; i < 3; ++i) {
      c.out[i] = (c.in[i] + 2 * c.pad[i] - c.dilation[i] * (c.filter[i] - 1) - 1) / c.stride[i] + 1;
    }
    while (in >> word) {
      GoldenPlan plan;
      char colon = 0;
      std::string tile;
      std::istringstream token(word);
      token >> plan.engine;
      if (token.peek() == 't') plan.tensor_core = token.get() == 't';
      while (token.peek() == 'w') token.get();
      token >> colon >> plan.bytes >> colon >> tile;
      if (tile != "-") plan.tile = std::stoi(tile);
      asked.plans.push_back(plan);
    }
    all.push_back(asked);
  }
  return all;
}

}  // namespace plimsoll::test
