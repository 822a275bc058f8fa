#include "estimator/cli/verb.h"

namespace plimsoll::cli {
namespace {

constexpr VerbRow kVerbs[] = {
    {"estimate", make_estimate},
    {"max-batch", make_max_batch},
    {"sweep", make_sweep},
    {"validate", make_validate},
    {"compare", make_compare},
    {"check", make_check},
    {"workspace", make_workspace},
    {"gpus", make_gpus},
    {"links", make_links},
    {"hosts", make_hosts},
    {"frameworks", make_frameworks},
    {"models", make_models},
    {"ops", make_ops},
    {"explain", make_explain},
    {"schema", make_schema},
    {"completion", make_completion},
    {"version", make_version},
};

}  // namespace

std::span<const VerbRow> all_verbs() { return kVerbs; }

}  // namespace plimsoll::cli
