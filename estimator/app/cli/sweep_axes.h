// What the parameters of a sweep's plan change: flags of the command, sizes of the model, or
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/app/cli/read_request.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/report/sweep.h"
#include "estimator/app/sweep/sweep.h"
#include "estimator/app/sweep/sweep_plan.h"
#include "estimator/model/request_names.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {

// The flag that a parameter of a plan is: plans of other tools write flags with underlines, and the
// batch as `batch_size` or `per_device_train_batch_size`.
std::string flag_of(std::string name);

struct SweptModel {
  std::string name;  // as the command line has it
  ModelNames names;
};

class SweepAxes {
 public:
  // `base`: the command's own flags. `models`: one, or those of the plan's parameter "model" by its
  // values. `plan` outlives this. E114 for a parameter that is a flag too, E164 for one that not
  // all models have, and at their places what to_request() and hwdb say of values.
  static Result<SweepAxes> make(const SweepPlan& plan, const SharedFlags& base,
                                std::vector<SweptModel> models, const Hwdb& hwdb);

  // In the order that sweep() works best with.
  const std::vector<Request>& variants() const { return variants_; }
  const std::vector<SizeAxis>& sizes() const { return sizes_; }
  // Parameters that change nothing, each told.
  const Diagnostics& notes() const { return notes_; }

  // The configurations that a point answers: one for each value of the parameters that change
  // nothing.
  std::vector<SweptConfiguration> at(const SweepPoint& point) const;

 private:
  struct Axis {
    size_t parameter;  // of the plan
    SweepAxis kind = SweepAxis::kOuter;
    const SettingRow* setting = nullptr;  // null: the model, or a parameter of its own
    bool of_models = false;
  };

  SweepAxes(const SweepPlan& plan, std::vector<SweptModel> models)
      : plan_(&plan), models_(std::move(models)) {}
  Result<void> add(size_t parameter, const SharedFlags& base);
  Result<void> check_models(const SweepParameter& parameter) const;
  Result<void> add_size(size_t parameter, std::string symbol);
  Result<void> check_values(const Axis& axis, const SharedFlags& base, const Hwdb& hwdb) const;
  Result<void> add_variants(const SharedFlags& base);
  size_t count(const Axis& axis) const { return plan_->parameters[axis.parameter].values.size(); }

  const SweepPlan* plan_;
  std::vector<SweptModel> models_;
  std::vector<Axis> variant_axes_;  // outer ones first, then GPUs, then recipes
  std::vector<size_t> size_parameters_, inert_parameters_;
  std::vector<Request> variants_;
  std::vector<SizeAxis> sizes_;
  Diagnostics notes_;
};

}  // namespace plimsoll::cli
