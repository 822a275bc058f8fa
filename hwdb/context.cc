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
    if (!row) row = find(rows, scope, q.cuda, [](const ContextRow&) { return true; });
    if (row) return *row;
  }
  return rows.back();
}

// Libraries have kernels of their own for the tensor cores of each: Volta's first, Turing's alike,
// Ada's as Ampere's. Cards before Pascal lack some of those for plain cores.
int64_t tensor_core_generation(const ComputeCapability& of) {
  if (of.major < 5) return -1;
  if (of.major < 7) return 0;
  return of.major == 7 ? 1 : of.major == 8 ? 2 : of.major == 9 ? 3 : 4;
}

// CUDA C++ Programming Guide, compute capabilities: resident threads of a multiprocessor.
int64_t resident_threads(const ComputeCapability& of) {
  if (of == ComputeCapability{7, 5}) return 1024;
  const bool small = (of.major == 8 && of.minor != 0) || of.major == 12;
  return small ? 1536 : 2048;
}

}  // namespace

std::string_view name(ModuleLoading loading) {
  return loading == ModuleLoading::kLazy ? "lazy" : "eager";
}

bool can_load_lazily(const Version& cuda) { return !(cuda < Version{{11, 7}}); }
bool loads_lazily_by_default(const Version& cuda) { return !(cuda < Version{{12, 2}}); }

int64_t driver_bytes(const ContextRow& row, const Device& device) {
  return row.per_thread.value * resident_threads(device.compute_capability) * device.sms;
}

int64_t card_bytes(const ContextRow& row, const Device& device, bool trains) {
  const ComputeCapability& of = device.compute_capability;
  const int64_t handle = of.major >= 9 ? row.handle_hopper.value : row.handle.value;
  return driver_bytes(row, device) + tensor_core_generation(of) * row.per_generation.value +
         (trains ? 2 : 1) * handle;
}

ContextChoice choose_context(const std::vector<ContextRow>& rows, const ContextQuestion& question) {
  const auto answer = [](const ContextRow& row, std::optional<ModuleLoading> loading,
                         const std::string& why) {
    const bool any = row.architecture == "any";
    return ContextChoice{&row, loading, any ? why : why + "; measured on " + row.architecture};
  };
  const ModuleLoading wanted = question.asked.value_or(question.usual);
  const std::string by =
      question.asked ? "as requested" : "the default with CUDA " + question.cuda.text();
  if (const ContextRow* row = as_wanted(rows, question, wanted)) {
    return answer(*row, wanted, fmt::format("modules are loaded {}, {}", adverb(wanted), by));
  }
  const ContextRow& row = as_usual(rows, question);
  return answer(
      row, row.loading,
      fmt::format(
          "the context was not measured with modules loaded {}, {}; the measurement in use {}",
          adverb(wanted), by,
          row.loading ? fmt::format("had them loaded {}", adverb(*row.loading))
                      : std::string("does not state the loading")));
}

}  // namespace plimsoll
