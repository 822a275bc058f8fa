// How weights come to the card before the first step.
#include <algorithm>

#include "estimator/memory/loading_memory.h"
#include "estimator/request/platform.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"

namespace plimsoll {
namespace {

bool loads(const SettingScope& s) {
  return s.platform.framework.python_names && !s.platform.device.is_host;
}

bool loads_otherwise(const SettingScope& s) {
  return takes_more(s.model, s.request.weight_loading.value_or(WeightLoading::kParts)) ||
         takes_more(s.model, loading_of({}, s.model.recipe));
}

}  // namespace

std::span<const SettingRow> loading_settings() {
  static const SettingRow rows[] = {
      {.name = "load",
       .group = kRunGroup,
       .shown = kDetail,
       .help = "how weights come to each GPU before the first step: its parts alone (meta device, "
               "distributed checkpoint); whole units that are sharded one after another; the whole "
               "model, sharded afterwards; with a checkpoint beside it on the GPU "
               "(torch.load(map_location='cuda')); or in fp32, converted afterwards "
               "(model.cuda().half())",
       .default_text = "units with --fsdp-version 1, else parts",
       .value = word_value<kWeightLoadings, 0, &Request::weight_loading>("HOW"),
       .axis = SweepAxis::kKernels,
       .acts = {loads, "loading is predicted for PyTorch on a GPU alone"},
       .also = {loads_otherwise, "the weights come to the GPU once, as they stay there"}},
  };
  return rows;
}

}  // namespace plimsoll
