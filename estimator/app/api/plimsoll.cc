#include "estimator/app/api/plimsoll.h"

#include <fmt/format.h>

#include <exception>
#include <new>

#include "estimator/answer/on_host.h"
#include "estimator/app/cli/command.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/interrupt.h"
#include "estimator/app/cli/messages.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/report/json.h"
#include "estimator/app/report/text.h"
#include "estimator/app/report/version.h"
#include "estimator/app/trainer_files/apply_trainer_files.h"
#include "estimator/estimator.h"
#include "estimator/settings/given_settings.h"
#include "graph/base/cancel.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "graph/json/object.h"

namespace plimsoll::api {
namespace {

Severity severity_of(plimsoll::Severity severity) {
  switch (severity) {
    case plimsoll::Severity::kNote:
      return Severity::kNote;
    case plimsoll::Severity::kWarning:
      return Severity::kWarning;
    case plimsoll::Severity::kError:
      break;
  }
  return Severity::kError;
}

Verdict verdict_of(plimsoll::Verdict verdict) {
  switch (verdict) {
    case plimsoll::Verdict::kFits:
      return Verdict::kFits;
    case plimsoll::Verdict::kMayFit:
      return Verdict::kMayFit;
    case plimsoll::Verdict::kDoesNotFit:
      break;
  }
  return Verdict::kDoesNotFit;
}

template <class Told>
void tell(Told& told, const Diagnostics& said) {
  for (const Diagnostic& as_said : said) {
    const Diagnostic d = spelled(as_said, plimsoll::Spelling::kPair);
    told.messages.push_back({severity_of(d.severity), d.code, to_text(d), to_json(d)});
  }
}

template <class Told>
Told refusal(Told told, const Diagnostics& faults) {
  tell(told, faults);
  told.status = exit_status(faults);
  return told;
}

// Whatever is thrown, as what is told of it.
template <class Told, class Ask>
Told guarded(Ask ask) {
  try {
    return ask();
  } catch (const std::bad_alloc&) {
    return refusal(Told(), error("E801", "out of memory").value());
  } catch (const std::exception& e) {
    return refusal(Told(), error("E901", fmt::format("a bug of ours: {}", e.what())).value());
  }
}

Result<void> set_flag(GivenSettings& into, const std::string& name, const std::string& value) {
  const SettingRow* row = find_setting(name);
  if (!row) {
    std::vector<std::string> names;
    for (const SettingRow& flag : settings()) names.emplace_back(flag.name);
    const std::string near = nearest(name, names);
    return error("E101", fmt::format("unknown option '{}'{}", shortened(name, kQuotedColumns),
                                     near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  if (row->value.form == SettingValue::Form::kSwitch && !value.empty())
    return error("E103", fmt::format("option '{}' takes no value", row->name));
  into.add(*row, value);
  return {};
}

// `notes`: of files of training programs.
Result<Request> request_of(const std::string& model, const Flags& flags, Diagnostics& notes) {
  GivenSettings shared;
  shared.model = model;
  for (const auto& [name, value] : flags) {
    TRY(set_flag(shared, name, value));
  }
  auto files = TRY(apply_trainer_files(shared));
  auto request = to_request(shared);
  if (!request) return request;
  notes = cli::as_strict(std::move(files.diagnostics), request->strict);
  if (has_error(notes)) return tl::make_unexpected(notes);
  request->defaults = std::move(files.used);
  request->by_default = std::move(files.names);
  request->minimum = true;
  if (request->model.empty())
    return error("E108", "which model? name a file, hf:NAME or builtin:NAME");
  if (request->devices.empty())
    return error("E109", "which GPU? name one: {\"gpu\", \"rtx-4090\"}");
  if (request->devices.size() > 1) return error("E114", "'gpu' is given more than once");
  return request;
}

void fill(Answer& answer, const Estimate& e) {
  answer.verdict = verdict_of(e.memory.verdict);
  answer.device_bytes = e.memory.device_bytes;
  answer.usable_bytes = e.usable_bytes;
  answer.device_range = {e.memory.device_range.low, e.memory.device_range.high};
  answer.step_ns = e.time.step_ns;
  answer.step_range = {e.time.step_range_ns.low, e.time.step_range_ns.high};
  answer.samples_per_second = e.time.samples_per_second;
  answer.json = to_json(e);
}

Answer answer_to(const std::string& model, const Flags& flags) {
  Answer answer;
  Diagnostics of_files;
  auto request = request_of(model, flags, of_files);
  if (!request) return refusal(std::move(answer), request.error());
  tell(answer, of_files);
  auto hwdb = Hwdb::open(request->hwdb_directory);
  if (!hwdb) return refusal(std::move(answer), hwdb.error());
  tell(answer, hwdb->own_faults());
  if (is_host_device(request->devices.front()))
    return refusal(std::move(answer), of_memory_alone().value());
  auto estimated = plimsoll::estimate(*request, *hwdb);
  if (!estimated) return refusal(std::move(answer), cli::in_model(estimated.error(), model));
  const Diagnostics said =
      cli::as_strict(cli::in_model(estimated->diagnostics, model), request->strict);
  if (exit_status(said) != 0) return refusal(std::move(answer), said);
  tell(answer, said);
  fill(answer, *estimated);
  answer.status = estimated->fits ? 0 : 1;
  return answer;
}

}  // namespace

Answer estimate(const std::string& model, const Flags& flags) {
  return guarded<Answer>([&] { return answer_to(model, flags); });
}

Said run(const std::vector<std::string>& arguments, Spelling spelling) {
  return guarded<Said>([&] {
    const cli::Interrupts interrupts;
    cli::Listener listener(spelling == Spelling::kKeywords ? plimsoll::Spelling::kKeyword
                                                           : plimsoll::Spelling::kFlag);
    Said said;
    try {
      const CancelWhen cancel(cli::interrupted);
      said.status = cli::run_command(arguments);
    } catch (const Cancelled&) {  // interrupted
    }
    if (cli::interrupted()) said.status = cli::kInterrupted;
    tell(said, listener.diagnostics);
    said.output = std::move(listener.output);
    return said;
  });
}

Flags defaults() {
  Flags flags;
  const auto all = cli::with_defaults({});
  if (!all) return flags;
  for (const auto& [row, text, by_default] : all->flags.all()) flags.emplace_back(row->name, text);
  return flags;
}

std::string version() { return std::string(kVersion); }

}  // namespace plimsoll::api
