#include "estimator/answer/on_host.h"

#include <fmt/format.h>

#include "estimator/answer/effects.h"
#include "estimator/answer/layers.h"
#include "estimator/answer/platform_notes.h"
#include "estimator/memory/memory_plan.h"
#include "estimator/model/valid_step.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

void judge(Estimate& e, const Platform& platform) {
  e.on_host = true;
  e.device_id = platform.device.id;
  e.device_name = platform.device.name;
  e.device_memory_bytes = platform.memory_bytes;
  e.usable_bytes = platform.usable_bytes;
  e.fits = e.judged() && e.memory.device_bytes <= e.usable_bytes;
}

void tell_unknown(Estimate& e, const Platform& platform) {
  e.diagnostics.push_back(
      note("N528", "time and library workspace are not predicted for a run on the host"));
  if (e.memory.host_bytes == 0) {
    e.diagnostics.push_back(
        note("N519", fmt::format("host_bytes: the memory of {} on the host without tensors is "
                                 "unknown; device_bytes does not include it",
                                 platform.framework.id)));
  }
  if (!e.judged()) {
    e.diagnostics.push_back(note(
        "N529",
        e.device_memory_bytes == 0
            ? fmt::format("verdict: the memory size of the host {} is unknown", platform.host.id)
            : "verdict: part of the memory of the process is unknown",
        {}, e.device_memory_bytes == 0 ? setting("mem", "SIZE") + " sets it" : ""));
  }
}

}  // namespace

tl::unexpected<Diagnostics> of_memory_alone() {
  return error("E116", setting("gpu", kHostDevice) + ": only memory is predicted on the host", {},
               "use 'plimsoll estimate' with one batch");
}

Result<Estimate> estimate_on_host(const CompiledModel& model, const Platform& platform,
                                  const Behaviour& behaviour, const Request& request) {
  const auto usual = TRY(bind_where_valid(model, model.binding));
  // Layers of the usual batch, memory of the longest, as on a card.
  const Binding largest = largest_batch(model, model.binding);
  const auto bound = TRY(bind_where_valid(model, largest));
  WorkspacePlan none;
  none.uses.resize(bound.kernels.size());
  none.basis = "none";
  const MemoryQuestion of{model, bound, largest, platform, behaviour, request, none};
  auto memory = TRY(plan_device(of, request.minimum));
  plan_memory(of, memory);
  const int64_t granule = behaviour.allocator.rounding;
  Estimate e;
  e.input = model.facts;
  e.input.batch = batch_at(model, model.binding);
  e.input.symbols = model.binding;
  e.memory = std::move(memory);
  e.time.sample_unit = model.meta.sample_unit;
  e.layers = layers_of(model, usual, model.binding, granule,
                       std::vector<KernelPrice>(usual.kernels.size()));
  e.kept = kept_of(model, bound, granule);
  e.recognised = model.recognised;
  e.precision = model.recipe.precision;
  judge(e, platform);
  e.basis.push_back(settings_text(model, platform, request.layout, e.input.batch));
  if (!request.defaults.empty()) e.basis.push_back("defaults: " + request.defaults);
  e.basis.insert(e.basis.end(), model.basis.begin(), model.basis.end());
  if (e.memory.context_bytes > 0) {
    e.basis.emplace_back(
        "process: libraries as with a GPU, the low end without them; data set and loaders");
  }
  if (largest != model.binding) e.basis.push_back(largest_batch_note(largest, model.binding));
  e.diagnostics = warnings_of(request, platform, model);
  tell_unknown(e, platform);
  return e;
}

}  // namespace plimsoll
