#include "hwdb/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/json/read_fields.h"
#include "hwdb/entry.h"
#include "hwdb/file_figures.h"

namespace plimsoll {
namespace {

constexpr std::string_view kHostSchema = "plimsoll.host";

constexpr Plausible kCopy{"100 MB/s", "1 TB/s"};
constexpr Plausible kLaunch{"0 us", "10 ms"};
constexpr Plausible kStep{"0 us", "10 s"};

// All of its seconds or none.
void describe_loader(Fields& f, FileFigures& figures, Dispatch& row) {
  Loader loader;
  const std::string there =
      figures.part<Seconds>("load_memory", loader.memory, kLaunch,
                            {.meaning = "of one sample, tensors in memory", .absent_where = false});
  const auto absent = there.empty() ? std::optional(false) : std::nullopt;
  figures.part<Seconds>("load_convert", loader.convert, kLaunch,
                        {.meaning = "... images converted to tensors", .absent_where = absent});
  figures.part<Seconds>("load_transform", loader.transform, kLaunch,
                        {.meaning = "... and normalised", .absent_where = absent});
  f("loads_beside", loader.beside,
    {.meaning = "threads of the framework load while the step runs", .absent_where = false});
  if (!there.empty()) row.loader = loader;
}

void describe_costs(FileFigures& figures, Dispatch& row) {
  figures.part<Seconds>("per_launch", row.per_launch, kLaunch, {.meaning = "of one operator"});
  figures.part<Seconds>("per_forward_launch", row.per_forward_launch, kLaunch,
                        may_be_absent("where there is no backward pass"));
  figures.part<Seconds>("per_operator", row.per_operator, kLaunch,
                        may_be_absent("of an unrolled recurrent layer"));
  figures.part<Seconds>("per_step", row.per_step, kStep);
  row.per_forward = row.per_step;
  figures.part<Seconds>("per_forward", row.per_forward, kStep,
                        may_be_absent("instead of per_step where there is no backward pass"));
  figures.part<Seconds>("per_array", row.per_array, kLaunch, {.meaning = "of one parameter array"});
  figures.part<Seconds>("per_replica", row.per_replica, kLaunch,
                        may_be_absent("of one array, module or gradient and GPU of one process"));
  figures.part<BytesPerSecond>(
      "input_path", row.input_path, kCopy,
      may_be_absent("of a batch on its way to the device, where slower than the copy"));
}

void describe_dispatch(Fields& f, FileFigures& figures, const Host& host, Dispatch& row) {
  f("framework", row.framework);
  describe_version(f, "since", row.since, "first version it holds for");
  describe_costs(figures, row);
  f("gpu_factor", row.gpu_factor, {.low = 0.1, .high = 10});
  describe_loader(f, figures, row);
  row.reference = host.id == kUnknownHost;
  const std::string name = fmt::format("dispatch.{}-{}", row.framework, row.since.text());
  figures.note(name, fmt::format("{} us", row.per_launch.value * 1e6), figures.source(name));
}

// Of the machine itself: what a file of one's own may say and nothing else.
void describe_machine(FileFigures& figures, Host& host) {
  constexpr std::string_view kToDevice = "host to device";
  figures.quantity<BytesPerSecond>("pageable_copy", host.pageable_copy, kCopy,
                                   may_be_absent(kToDevice));
  figures.quantity<BytesPerSecond>("pinned_copy", host.pinned_copy, kCopy,
                                   may_be_absent(kToDevice));
  figures.quantity<BytesPerSecond>(
      "gradient_sum", host.gradient_sum, kCopy,
      may_be_absent("of gradients of several GPUs that all its threads "
                    "add"));
  figures.quantity<BytesPerSecond>("messages", host.messages, kCopy,
                                   may_be_absent("of an all-reduce among processes in its memory"));
  std::string cpu;
  figures("cpu", cpu, may_be_absent({}));
  figures("cores", host.cores, {.low = 1, .high = 4096},
          may_be_absent("of the machine: at most so many workers load"));
  figures.quantity<Bytes>("memory", host.memory, {"1 GB", "100 TB"},
                          may_be_absent("of the machine: what a run on the CPU fits in"));
  Hertz clock;
  figures.quantity<Hertz>("clock", clock, {"500 MHz", "10 GHz"},
                          may_be_absent("highest of one core"));
  int64_t generation = 0;
  figures("pcie_generation", generation, {.low = 1, .high = 10}, may_be_absent({}));
  figures(
      "year", host.year, {.low = 2000, .high = 2100},
      may_be_absent("where single_thread is not given, a thread is as fast as those of the year"));
  figures("single_thread", host.single_thread, RealRange{.low = .05, .high = 10},
          may_be_absent("speed of one thread, a Skylake-SP's at 3.7 GHz being 1"));
  figures("per_year", host.per_year, RealRange{.low = 1, .high = 2},
          may_be_absent("of the host generic: by which single threads got faster"));
}

struct HostFile {
  Host host;
};

void describe(Fields& f, HostFile& file) {
  Host& host = file.host;
  describe_identity(f, kHostSchema, host.id, host.aliases,
                    "its processor among them, as measured runs name it under cpu");
  f("name", host.name);
  FileFigures figures(f, host.figures);
  describe_machine(figures, host);
  f.list("dispatch", host.dispatch,
         [&](Dispatch& row) { describe_dispatch(f, figures, host, row); },
         {.meaning = "what was fitted to steps on this machine, for each framework",
          .absent_where = false});
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
  return read_entry<Host>(kHostSchema, text, file, stem, [](JsonObject& root, Host& host) {
    host = read_described<HostFile>(root).host;
  });
}

void describe_host_file(Fields& f) {
  HostFile any;
  f.visit(any);
}

}  // namespace plimsoll
