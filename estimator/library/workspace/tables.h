// workspace: the scratch memory a framework gives a cuDNN convolution, and why.
//
//   auto tables = WorkspaceTables::load(Hwdb(), {.capability = 61, .cudnn = {9, 10}});
//   WorkspaceChoice choice = *tables->choose(problem, Pass::kForward, DType::kFloat32, {});
//   choice.plan.bytes; choice.plan.algorithm; choice.basis;
//
// In order of trust: all that the user's cuDNN answered when it was asked (asked); cuDNN's first
// plans for this very problem, as they were kept (table); its plan for the layer at
// the nearest batch, or the plan a rule trained on its answers guesses, with the exact formula
// (rule); bounds where no formula is known (interval). For cuDNN 5 to 8, which cannot be asked:
// formulas of the literature, see legacy.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estimator/library/workspace/asked.h"
#include "estimator/library/workspace/choice.h"
#include "estimator/library/workspace/rule.h"
#include "estimator/library/workspace/table.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct WorkspacePolicy {
  ScratchRule rule = ScratchRule::kAten;
  bool tensor_cores = true;  // for fp32: TF32 is allowed (torch.backends.cudnn.allow_tf32)
  bool benchmark = false;    // the fastest plan, not the first
  std::optional<int64_t> limit = std::nullopt;  // bytes at most
  // "fft": of that algorithm, where it can do the problem; "im2col": columns of one image. Empty:
  // the library's choice.
  std::string forced = {};
};

// A roofline that reproduces which plans PyTorch's benchmark kept on A100 (memory of 189 timm
// runs): copies at 0.5 TB/s, 15 TFLOP/s plain (1.5 times that for Winograd), 100 TFLOP/s on tensor
// cores, which grouped convolutions cannot use well.
double plan_seconds(const ConvPlan& plan, const WorkspaceShape& shape, Pass pass, DType dtype);

struct WorkspaceKey {
  int capability = 61;  // 10 * major + minor
  int cudnn_major = 9, cudnn_minor = 10;
  DType dtype = DType::kFloat32;
  bool channels_last = false;
};

// Tables and rules of one compute capability, type and layout. Immutable.
class WorkspaceTables {
 public:
  // Reads workspaces/ of `hwdb` (any that are missing are done without). 5.2 stands for all
  // Maxwell and Pascal cards, which answer alike; so does it for older ones, which cuDNN 9 does not
  // know. E301 for a damaged table. `asked`, where there is any, stands before all of them.
  static Result<WorkspaceTables> load(const Hwdb& hwdb, const WorkspaceKey& key,
                                      std::shared_ptr<const AskedWorkspaces> asked = nullptr);

  // E232 for a problem too large, or of a kind that has no 2-D form and no bounds; those of
  // WorkspaceRule, which is read when a layer first stands in no table.
  Result<WorkspaceChoice> choose(const ConvProblem<int64_t>& problem, Pass pass,
                                 const WorkspacePolicy& policy) const;

 private:
  Result<KnownPlans> known(const WorkspaceShape& shape, Pass pass, WorkspaceBasis& basis) const;

  // What there is to choose from, in cuDNN's order; `choice` gets the basis and the largest.
  Result<std::vector<ConvPlan>> listed(const WorkspaceShape& shape, Pass pass, bool tensor_allowed,
                                       WorkspaceChoice& choice) const;
  std::optional<WorkspaceChoice> unasked(const WorkspaceShape& shape, Pass pass,
                                         const WorkspacePolicy& policy) const;
  WorkspaceChoice without_scratch(WorkspaceChoice choice, const WorkspaceShape& shape,
                                  std::optional<int64_t> limit) const;

  WorkspaceKey key_;
  std::shared_ptr<const AskedWorkspaces> asked_;
  std::shared_ptr<const LayerList> layers_;
  std::shared_ptr<const WorkspaceTable> table_;
  struct Rule;
  std::shared_ptr<Rule> rule_;
};

}  // namespace plimsoll
