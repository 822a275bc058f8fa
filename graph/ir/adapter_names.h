// Where peft puts adapters in a family of models, by the names that people give it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

struct AdapterNames {
  std::string targets{};  // by commas, where nobody names any; empty: all linear layers
  // Names of layers that are slices of a stacked parameter, or of no layer of torch.nn: each with
  // the end of that parameter's path. Several of one parameter: all of them or none, and its
  // adapter has so many times the rank.
  std::vector<std::pair<std::string, std::string>> stacked{};
  // Modules that peft trains whole beside the adapters, and adapts not: a task's head.
  std::vector<std::string> saved{};
  // Layers whose weights other code reads: an adapter there never runs.
  std::vector<std::string> unused{};
  // "all-linear" takes the classifier too: the class has no output embeddings that peft would
  // spare.
  bool head = false;
};

}  // namespace plimsoll
