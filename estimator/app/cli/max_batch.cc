#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/page_file.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/html/max_batch_page.h"
#include "estimator/app/report/largest_batch.h"
#include "estimator/app/search/batch_advice.h"
#include "estimator/app/search/largest_batch.h"
#include "estimator/model/model_source.h"
#include "estimator/model/request_names.h"
#include "estimator/settings/ineffective_settings.h"
#include "estimator/settings/values.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

struct MaxBatchFlags {
  SharedFlags shared;
  OutputFlags output;
  PageFlags page;
  bool basis = false;
};

Result<BatchSearch> search_of(const SharedFlags& flags) {
  BatchSearch search;
  if (const std::string* text = value_of(flags, "vary")) search.vary = *text;
  if (search.vary == "sequences") search.vary = "batch";  // as servers call its samples
  // Networks halve images some five times.
  constexpr int64_t kOfImages = 32;
  if (search.vary == "image") search.multiple = kOfImages;
  const auto count = [&](const char* name, int64_t& into) -> Result<void> {
    const std::string* text = value_of(flags, name);
    if (!text) return {};
    auto value = TRY(parse_count(std::string("--") + name, *text, 1, int64_t{1} << 30));
    into = value;
    return {};
  };
  TRY(count("multiple", search.multiple));
  TRY(count("max", search.max));
  if (const std::string* text = value_of(flags, "confidence")) {
    auto value = TRY(parse_real(setting("confidence"), *text, .5, .99));
    search.confidence = value;
  }
  return search;
}

std::string answer_of(const LargestBatch& largest, const OutputFlags& output, bool basis) {
  if (output.json) return to_json(largest);
  if (const TableForm* form = output.table()) return (round_table(largest).*form->write)();
  return to_text(largest, page_of(output), output.quiet, basis);
}

// A size that the search varies and that is given all the same: where it begins.
Diagnostics varied_twice(Request& request, const std::string& vary, std::string_view verb) {
  const auto at = request.dims.find(vary);
  const bool twice = vary == "batch" && request.batch;  // where the two may contradict each other
  if (at == request.dims.end() || twice) return {};
  Diagnostics said = {
      warning("W516", fmt::format("{} has no effect on {}: the search varies it",
                                  setting_entry("dim", vary, std::to_string(at->second)), verb))};
  if (vary == "batch") {
    request.batch = at->second;
    request.dims.erase(at);
  }
  return said;
}

// A model that cannot be read is told of by the search.
Result<void> check_varied(const Request& request, const std::string& vary) {
  if (vary == "batch" || vary == "image") return {};
  const auto model = load_model_inputs(request);
  return model ? check_dimension(*model, vary, "vary") : Result<void>();
}

int run_max_batch(const MaxBatchFlags& flags) {
  auto search = search_of(flags.shared);
  if (!search) return report(search.error());
  std::vector<NamedFile> read;
  auto request = request_with_defaults(flags.shared, {search->vary}, &read);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "max-batch");
  if (!hwdb) return report(hwdb.error());
  auto notes = check_output(flags.output);
  if (!notes) return report(notes.error());
  for (const auto& [name, values] : flags.shared.verb_values) {
    if (!values.empty()) request->given.insert(name);
  }
  const char* const verb = search->vary == "batch" ? "max-batch" : "max-batch --vary";
  std::ranges::move(ineffective_settings(verb, *request), std::back_inserter(*notes));
  std::ranges::move(varied_twice(*request, search->vary, verb), std::back_inserter(*notes));
  if (const int fault = report(as_strict(*notes, request->strict)); fault != 0) return fault;
  if (auto has = check_varied(*request, search->vary); !has)
    return report(in_model(has.error(), request->model));
  std::optional<OutputFile> page;
  if (const int fault = open_page(flags.page, page, read); fault != 0) return fault;
  if (page) {
    search->rounds = 40;  // all of them
    search->parts = true;
  }
  auto largest = largest_batch(*request, *hwdb, *search);
  if (!largest) return report(in_model(largest.error(), request->model));
  const int status =
      report(as_strict(in_model(largest->notes.diagnostics, request->model), request->strict));
  if (status != 0) return status;
  if (!flags.output.quiet && !flags.output.table()) advise_batches(*request, *hwdb, *largest);
  if (page) {
    const int fault = write_page(*page, max_batch_page(*largest, request->model, command_line()));
    if (fault != 0) return fault;
  }
  return print(answer_of(*largest, flags.output, flags.basis), largest->answer.safe > 0 ? 0 : 1);
}

}  // namespace

Verb make_max_batch(const FlagSet& root) {
  auto flags = std::make_shared<MaxBatchFlags>();
  FlagSet app = root.add_subcommand("max-batch",
                                    "The largest batch (or sequence, or image) that fits safely, "
                                    "and sizes that may fit. Exit status 1 if none fits.");
  add_shared(app, flags->shared);
  add_value(app, flags->shared, "vary", "image, sequence or another dimension [batch]", "WHAT",
            kVerbGroup);
  add_value(app, flags->shared, "multiple", "only multiples of N [1; 32 with --vary image]", "N",
            kVerbGroup);
  add_value(app, flags->shared, "max", "upper limit of the search", "N", kVerbGroup);
  add_value(app, flags->shared, "confidence", "chance that memory stays in its range [0.95]",
            "SHARE", kVerbGroup);
  add_output(app, flags->output, "print the result as JSON", "round sizes");
  app.add_flag("--basis", flags->basis, "where the figures come from, and the defaults in use")
      .group(rarely(kOutputGroup));
  add_page(app, flags->page);
  return {app, [flags] { return run_max_batch(*flags); }};
}

}  // namespace plimsoll::cli
