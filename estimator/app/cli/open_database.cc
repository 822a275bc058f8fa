#include "estimator/app/cli/open_database.h"

#include <fmt/format.h>

#include "estimator/app/cli/local_gpu.h"
#include "estimator/app/cli/messages.h"
#include "estimator/model/model_source.h"
#include "graph/base/setting.h"

namespace plimsoll::cli {

Result<Hwdb> open_database(Request& request, std::string_view verb, Gpus gpus) {
  const std::string example =
      fmt::format("for example: plimsoll {} builtin:resnet50 --gpu quadro-p4000", verb);
  if (request.model.empty())
    return error("E108", "which model? name a file, hf:NAME or builtin:NAME", {}, example);
  if (gpus == Gpus::kOne && request.devices.size() > 1) {
    return error("E114", setting("gpu") + " is given more than once", {},
                 fmt::format("'plimsoll compare' takes several; '{}' sets how many share the work",
                             setting("gpus", "N")));
  }
  if (!request.defaults.empty()) report({note("N523", "defaults: " + request.defaults)});
  auto hwdb = Hwdb::open(request.hwdb_directory);
  if (!hwdb) return hwdb;
  report(hwdb->own_faults());
  if (auto found = find_local_gpu(*hwdb, request.devices, example); !found) {
    // The model stands before the card: what is wrong with it is said first.
    auto faults = load_model_inputs(request);
    Diagnostics said = faults ? Diagnostics() : in_model(faults.error(), request.model);
    said.insert(said.end(), found.error().begin(), found.error().end());
    return tl::make_unexpected(std::move(said));
  }
  return hwdb;
}

Diagnostics in_model(Diagnostics diagnostics, const std::string& model) {
  for (Diagnostic& d : diagnostics) {
    const bool about_it =
        d.code.starts_with("E2") || d.code.starts_with("W2") || d.code.starts_with("E8");
    if (d.place.file.empty() && about_it) d.place.file = model;
  }
  return diagnostics;
}

Diagnostics as_strict(Diagnostics diagnostics, bool strict) {
  for (Diagnostic& d : diagnostics) {
    if (!strict || d.severity != Severity::kWarning) continue;
    d.severity = Severity::kError;
    if (d.help.empty()) d.help = setting("strict") + " makes this warning an error";
  }
  return diagnostics;
}

}  // namespace plimsoll::cli
