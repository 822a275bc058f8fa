// workspace_rule: which plan cuDNN would choose where no table has the answer: decision trees, one
// per pass and kind of engine, trained on cuDNN's own answers
// (tests/oracles/train_workspace_rule.py describes the file; it holds the agreement found in folds
// over networks, no layer shared).
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "estimator/library/workspace/formula.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

class WorkspaceRule {
 public:
  // E301, E306, E311, E312 for a file that is not a rule.
  static Result<WorkspaceRule> read(std::string_view json, std::string_view file_name);

  struct Guess {
    PlanForm form;
    bool preferred = false;  // a tensor-core plan that stands before the plain one
  };
  // Nothing where cuDNN has no such plan. Cost: the tree's depth.
  std::optional<Guess> plain(const WorkspaceShape& shape, Pass pass) const;
  std::optional<Guess> tensor(const WorkspaceShape& shape, Pass pass) const;

 private:
  struct Node {
    int32_t feature = -1;
    int32_t right = 0;
    int64_t value = 0;
  };
  struct Tree {
    std::vector<Node> nodes;
    std::vector<Guess> plans;
  };
  std::optional<Guess> walk(const Tree& tree, const WorkspaceShape& shape) const;

  std::array<std::array<Tree, 3>, 2> trees_;  // plain, tensor; by pass
};

}  // namespace plimsoll
