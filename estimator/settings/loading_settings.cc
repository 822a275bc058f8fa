// How weights come to the card before the first step.
#include <algorithm>

#include "estimator/model/loaded_weights.h"
#include "estimator/request/platform.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"

namespace plimsoll {
namespace {

bool loads(const SettingScope& s) {
  return s.platform.framework.python_names && !s.platform.device.is_host;
}

bool loads_otherwise(const SettingScope& s) {
  return loads_more(s.model, s.request.weight_loading.value_or(WeightLoading::kParts)) ||
         loads_more(s.model, loading_of({}, s.model.recipe));
}

}  // namespace

std::span<const SettingRow> loading_settings() {
  static const SettingRow rows[] = {
      {.name = "load",
       .group = kRunGroup,
       .shown = kDetail,
       .help =
           "how weights come to each GPU before the first step: parts (only its part: meta "
           "device, distributed checkpoint), units (one whole unit after another, then sharded), "
           "broadcast (the same, from rank 0: sync_module_states), "
           "whole (the whole model, then sharded), checkpoint (whole, and the checkpoint on the "
           "GPU too: torch.load(map_location='cuda')) or fp32 (whole in fp32, then converted: "
           "model.cuda().half())",
       .default_text = "units with --fsdp-version 1, else parts",
       .value = word_value<kWeightLoadings, 0, &Request::weight_loading>("HOW"),
       .axis = SweepAxis::kKernels,
       .acts = {loads, "loading is predicted only for PyTorch on a GPU"},
       .also = {loads_otherwise, "the weights come to the GPU once, as they stay there"}},
  };
  return rows;
}

}  // namespace plimsoll
