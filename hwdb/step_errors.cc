#include "hwdb/step_errors.h"

#include "graph/base/try.h"
#include "graph/json/read_object.h"

namespace plimsoll {
namespace {

constexpr std::string_view kStepErrorsFile = "step_errors.json";

struct Term {
  std::string_view name;
  double StepErrors::*member;
};

constexpr Term kTerms[] = {
    {"step", &StepErrors::step},
    {"inference", &StepErrors::inference},
    {"architecture", &StepErrors::architecture},
    {"transferred", &StepErrors::transferred},
    {"half", &StepErrors::half},
    {"fp64", &StepErrors::fp64},
    {"assumed", &StepErrors::assumed},
    {"host", &StepErrors::host},
    {"copy", &StepErrors::copy},
    {"rated_host", &StepErrors::rated_host},
    {"unknown_host", &StepErrors::unknown_host},
    {"loader", &StepErrors::loader},
    {"files", &StepErrors::files},
    {"unknown_copy", &StepErrors::unknown_copy},
    {"exchange", &StepErrors::exchange},
    {"all_reduce", &StepErrors::all_reduce},
    {"layer", &StepErrors::layer},
};

}  // namespace

Result<StepErrors> read_step_errors(std::string_view text, std::string_view file) {
  return read_object(text, file, [](JsonObject& root) {
    root.schema("plimsoll.step-errors", 1);
    root.required_string("source");
    StepErrors errors;
    for (const Term& term : kTerms) {
      errors.*term.member = root.required_real(term.name, {.low = 0, .high = 5});
    }
    return errors;
  });
}

Result<StepErrors> open_step_errors(const Hwdb& hwdb) {
  const auto text = TRY(hwdb.read(kStepErrorsFile));
  return read_step_errors(text, kStepErrorsFile);
}

}  // namespace plimsoll
