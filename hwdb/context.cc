#include "hwdb/context.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

std::string_view adverb(ModuleLoading loading) {
  return loading == ModuleLoading::kLazy ? "lazily" : "eagerly";
}

// The first row for one device, architecture or "any" that `wanted` takes.
template <class Wanted>
const ContextRow* find(const std::vector<ContextRow>& rows, std::string_view scope,
                       const Version& cuda, Wanted wanted) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ContextRow& row) {
    return row.architecture == scope && row.holds_for(cuda) && wanted(row);
  });
  return found == rows.end() ? nullptr : &*found;
}

const ContextRow* as_wanted(const std::vector<ContextRow>& rows, const ContextQuestion& q,
                            ModuleLoading wanted) {
  for (const std::string_view scope : {q.device, q.architecture, std::string_view("any")}) {
    const auto* row =
        find(rows, scope, q.cuda, [&](const ContextRow& r) { return r.loading == wanted; });
    if (!row && wanted == ModuleLoading::kEager)
      row = find(rows, scope, q.cuda, [](const ContextRow& r) { return !r.loading; });
    if (row) return row;
  }
  return nullptr;
}

const ContextRow& as_usual(const std::vector<ContextRow>& rows, const ContextQuestion& q) {
  for (const std::string_view scope : {q.device, q.architecture, std::string_view("any")}) {
    const auto* row = find(rows, scope, q.cuda, [](const ContextRow& r) { return !r.loading; });
    if (!row) row = find(rows, scope, q.cuda, [&](const auto& r) { return r.loading == q.usual; });
    if (row) return *row;
  }
  return rows.back();
}

std::string why_usual(const std::optional<ModuleLoading>& loading,
                      const std::vector<ContextRow>& rows, const Version& cuda) {
  if (loading) {
    return fmt::format("modules are loaded {}, the default with CUDA {}", adverb(*loading),
                       cuda.text());
  }
  const bool both = std::any_of(rows.begin(), rows.end(), [&](const ContextRow& row) {
    return row.loading == ModuleLoading::kLazy && row.holds_for(cuda);
  });
  return fmt::format("loading of modules not stated by its source{}",
                     both ? "; the range has both forms" : "");
}

}  // namespace

std::string_view name(ModuleLoading loading) {
  return loading == ModuleLoading::kLazy ? "lazy" : "eager";
}

std::optional<ModuleLoading> parse_module_loading(std::string_view word) {
  for (const ModuleLoading loading : {ModuleLoading::kLazy, ModuleLoading::kEager}) {
    if (word == name(loading)) return loading;
  }
  return std::nullopt;
}

bool can_load_lazily(const Version& cuda) { return !(cuda < Version{{11, 7}}); }
bool loads_lazily_by_default(const Version& cuda) { return !(cuda < Version{{12, 2}}); }

ContextChoice choose_context(const std::vector<ContextRow>& rows, const ContextQuestion& question) {
  const auto answer = [](const ContextRow& row, std::optional<ModuleLoading> loading,
                         const std::string& why) {
    return ContextChoice{&row, loading, fmt::format("row {}: {}", row.architecture, why)};
  };
  if (!question.asked && !question.cuda_given) {
    const ContextRow& row = as_usual(rows, question);
    const bool eager = question.usual == ModuleLoading::kEager;
    const auto loading = eager ? question.usual : row.loading;
    return answer(row, loading, why_usual(loading, rows, question.cuda));
  }
  const ModuleLoading wanted = question.asked.value_or(question.usual);
  const std::string by =
      question.asked ? "as asked" : "the default with CUDA " + question.cuda.text();
  if (const ContextRow* row = as_wanted(rows, question, wanted)) {
    return answer(*row, wanted,
                  fmt::format("modules are loaded {}, {}{}", adverb(wanted), by,
                              row->loading ? "" : "; its source does not state it"));
  }
  const ContextRow& row = as_usual(rows, question);
  return answer(row, row.loading,
                fmt::format("no row has modules loaded {}, {}; its source {}", adverb(wanted), by,
                            row.loading ? fmt::format("has them loaded {}", adverb(*row.loading))
                                        : std::string("does not state the loading")));
}

}  // namespace plimsoll
