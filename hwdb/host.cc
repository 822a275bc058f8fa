#include "hwdb/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "hwdb/entry.h"

namespace plimsoll {
namespace {

constexpr Plausible kCopy{"100 MB/s", "1 TB/s"};

constexpr Plausible kLaunch{"0 us", "10 ms"};

std::optional<Loader> read_loader(Figures& figures, JsonObject& row) {
  if (!row.has("load_memory")) return std::nullopt;
  Loader loader;
  loader.memory = figures.part<Seconds>(row, "load_memory", kLaunch);
  loader.convert = figures.part<Seconds>(row, "load_convert", kLaunch);
  loader.transform = figures.part<Seconds>(row, "load_transform", kLaunch);
  loader.beside = row.optional_bool("loads_beside").value_or(false);
  return loader;
}

void read_dispatch(JsonObject& root, Host& host) {
  for (const JsonValue& value : root.optional_list("dispatch")) {
    JsonObject object(value, root.file(), root.faults());
    Figures figures(object, host.figures);
    Dispatch row;
    row.framework = object.required_string("framework");
    row.since = required_version(object, "since");
    row.per_launch = figures.part<Seconds>(object, "per_launch", kLaunch);
    figures.take_part(object, "per_forward_launch", row.per_forward_launch, kLaunch);
    figures.take_part(object, "per_operator", row.per_operator, kLaunch);
    row.per_step = figures.part<Seconds>(object, "per_step", {"0 us", "10 s"});
    row.per_forward = row.per_step;
    figures.take_part(object, "per_forward", row.per_forward, {"0 us", "10 s"});
    row.per_array = figures.part<Seconds>(object, "per_array", kLaunch);
    figures.take_part(object, "per_replica", row.per_replica, kLaunch);
    figures.take_part(object, "input_path", row.input_path, kCopy);
    row.gpu_factor = object.required_real("gpu_factor", {.low = 0.1, .high = 10});
    row.loader = read_loader(figures, object);
    row.reference = host.id == kUnknownHost;
    figures.note(
        object, fmt::format("dispatch.{}-{}", row.framework, row.since.text()),
        object.value().find("per_launch") ? fmt::format("{} us", row.per_launch.value * 1e6) : "");
    object.finish();
    host.dispatch.push_back(std::move(row));
  }
}

// Of the machine itself: what a file of one's own may say and nothing else.
void read_machine(Figures& figures, Host& host) {
  figures.take("pageable_copy", host.pageable_copy, kCopy);
  figures.take("pinned_copy", host.pinned_copy, kCopy);
  figures.take("gradient_sum", host.gradient_sum, kCopy);
  figures.take("messages", host.messages, kCopy);
  if (figures.has("cpu")) figures.text("cpu");
  figures.take("cores", host.cores, {.low = 1, .high = 4096});
  figures.take("memory", host.memory, {"1 GB", "100 TB"});
  if (figures.has("clock")) figures.quantity<Hertz>("clock", {"500 MHz", "10 GHz"});
  if (figures.has("pcie_generation")) figures.integer("pcie_generation", {.low = 1, .high = 10});
  figures.take("year", host.year, {.low = 2000, .high = 2100});
  constexpr RealRange kSpeed{.low = .05, .high = 10};
  figures.take("single_thread", host.single_thread, kSpeed);
  figures.take("per_year", host.per_year, {.low = 1, .high = 2});
}

}  // namespace

std::string_view name(LoaderKind kind) { return kLoaders[static_cast<size_t>(kind)]; }

Seconds Loader::per_sample(LoaderKind kind) const {
  switch (kind) {
    case LoaderKind::kNone:
    case LoaderKind::kFiles:
      return {};
    case LoaderKind::kMemory:
      return memory;
    case LoaderKind::kConvert:
      return convert;
    case LoaderKind::kTransform:
      return transform;
  }
  return {};
}

int64_t release_year(const ComputeCapability& of) {
  struct Row {
    ComputeCapability since;
    int64_t year;
  };
  constexpr Row kRows[] = {{{12, 0}, 2025}, {{10, 0}, 2024}, {{8, 9}, 2022},
                           {{8, 0}, 2020},  {{7, 5}, 2018},  {{7, 0}, 2017},
                           {{6, 0}, 2016},  {{5, 0}, 2015},  {{3, 0}, 2014}};
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return of >= r.since; });
  return row == std::end(kRows) ? 2010 : row->year;
}

double Host::speed(int64_t card_year) const {
  return single_thread.value_or(std::pow(per_year, static_cast<double>(card_year - year)));
}

void Host::complete(const Host& unknown) {
  if (pageable_copy.value == 0) pageable_copy = unknown.pageable_copy;
  if (pinned_copy.value == 0) pinned_copy = unknown.pinned_copy;
  if (gradient_sum.value == 0) gradient_sum = unknown.gradient_sum;
  if (messages.value == 0) messages = unknown.messages;
  if (!single_thread && year > 0) single_thread = unknown.speed(year);
  if (!single_thread) {
    per_year = unknown.per_year;
    year = unknown.year;
  }
  const size_t own = dispatch.size();
  for (Dispatch& row : dispatch) {
    const Dispatch* usual = unknown.find(row.framework, row.since);
    if (usual && !row.loader) row.loader = usual->loader;
  }
  for (const Dispatch& row : unknown.dispatch) {
    const auto end = dispatch.begin() + static_cast<ptrdiff_t>(own);
    if (std::find_if(dispatch.begin(), end, [&](const Dispatch& known) {
          return known.framework == row.framework;
        }) == end)
      dispatch.push_back(row);
  }
}

const Dispatch* Host::find(std::string_view framework, const Version& version) const {
  const Dispatch* best = nullptr;
  for (const Dispatch& row : dispatch) {
    if (row.framework != framework) continue;
    const bool fits = !(version < row.since);
    const bool best_fits = best && !(version < best->since);
    const bool better =
        !best || (fits && !best_fits) ||
        (fits == best_fits && (fits ? best->since < row.since : row.since < best->since));
    if (better) best = &row;
  }
  return best;
}

Result<Host> read_host(std::string_view text, std::string_view file, std::string_view stem) {
  return read_entry<Host>("plimsoll.host", text, file, stem, [](JsonObject& root, Host& host) {
    Figures figures(root, host.figures);
    host.name = root.required_string("name");
    read_machine(figures, host);
    read_dispatch(root, host);
  });
}

}  // namespace plimsoll
