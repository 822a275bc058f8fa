// gpus, links, hosts, frameworks: what the database holds, with sources.
#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "estimator/app/cli/local_gpu.h"
#include "estimator/app/cli/measure_host.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/output_file.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/explain/transfer.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/lists.h"
#include "estimator/app/report/spelling.h"
#include "estimator/app/report/table.h"
#include "estimator/app/report/transfer.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/json/writer.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {
namespace {

struct ListFlags {
  std::string id, hwdb;
  OutputFlags output;
};

std::string figures_text(const std::string& id, const std::vector<FigureNote>& figures,
                         const OutputFlags& output) {
  constexpr size_t kValues = 32;  // their column
  const Page page = page_of(output);
  std::string text = escaped_format("{}\n", id);
  for (const FigureNote& f : figures)
    text +=
        wrapped(escaped_format("  {:<29} {:<18}  {}", f.name, f.value, f.source), page, kValues);
  return text;
}

template <class Entry>
int show(const Result<Entry>& entry, const OutputFlags& output) {
  if (!entry) return report(entry.error());
  report(entry->warnings);
  if (output.table()) {
    Table table({{"figure", {}, Column::kName},
                 {"value", {}, Column::kName},
                 {"source", {}, Column::kRemark}});
    for (const FigureNote& f : entry->figures) table.add({{f.name}, {f.value}, {f.source}});
    return print_table(table, output);
  }
  if (!output.json) return print(figures_text(entry->id, entry->figures, output));
  ListedEntry listed{entry->id, entry->aliases, entry->figures};
  return print(described_text([&](Fields& f) { f.visit(listed); }));
}

int list_ids(const std::vector<std::string>& ids, const OutputFlags& output) {
  if (output.json) return print(described_text([&](Fields& f) { f.visit(unchanged(ids)); }));
  std::string text;
  for (const std::string& id : ids) text += escaped_format("{}\n", id);
  if (!output.table()) return print(text);
  Table table({{"id", {}, Column::kName}});
  for (const std::string& id : ids) table.add({{id}});
  return print_table(table, output);
}

TableCell rate_cell(const BytesPerSecond& rate) {
  return {fmt::format("{:.1f} GB/s", rate.value / 1e9), fmt::format("{:.0f}", rate.value)};
}

std::vector<TableCell> cells_of(const Link& link) {
  return {{link.id}, rate_cell(link.rate), {link.name}};
}

std::vector<TableCell> cells_of(const Host& host) { return {{host.id}, {host.name}}; }

// A line per id with what it stands for. What cannot be read is told and left out.
template <class Find>
int list_entries(const std::vector<std::string>& ids, const Find& find, Table table,
                 const OutputFlags& output) {
  if (output.json) return list_ids(ids, output);
  for (const std::string& id : ids) {
    const auto entry = find(id);
    if (entry)
      table.add(cells_of(*entry));
    else
      report(entry.error());
  }
  return print_table(table, output);
}

int list_links(const Hwdb& hwdb, const OutputFlags& output) {
  return list_entries(
      hwdb.link_ids(), [&](const std::string& id) { return hwdb.link(id); },
      Table({{"id", {}, Column::kRemark},
             {"one direction", "bytes_per_second"},
             {"name", {}, Column::kName}}),
      output);
}

int list_hosts(const Hwdb& hwdb, const OutputFlags& output) {
  return list_entries(
      hwdb.host_ids(), [&](const std::string& id) { return hwdb.host(id); },
      Table({{"id", {}, Column::kRemark}, {"name", {}, Column::kName}}), output);
}

bool has_code(const Diagnostics& diagnostics, std::string_view code) {
  return std::ranges::any_of(diagnostics, [&](const Diagnostic& d) { return d.code == code; });
}

// The generation that a reader looks under: "ampere" of "ampere-ga10x".
std::string_view generation(const Device& device) {
  return std::string_view(device.architecture).substr(0, device.architecture.find('-'));
}

// Newest generations first, as device.cc lists them; the toy last.
constexpr std::array<std::string_view, 10> kGenerations = {
    "blackwell", "hopper", "ada",     "ampere", "turing",
    "volta",     "pascal", "maxwell", "kepler", "toy"};

std::vector<TableCell> device_cells(const Device& d) {
  const Peak* fp32 = d.peak("fp32");
  const double rate = fp32 ? fp32->rate.value : 0;
  const int64_t memory = d.memory_reported.value;
  return {
      {fmt::format("{}.{}", d.compute_capability.major, d.compute_capability.minor)},
      {std::to_string(d.sms)},
      {fmt::format("{:.1f} GiB", static_cast<double>(memory) / (1 << 30)), std::to_string(memory)},
      {fmt::format("{:.0f} GB/s", d.bandwidth.value / 1e9),
       fmt::format("{:.0f}", d.bandwidth.value)},
      {fmt::format("{:.1f} TFLOP/s", rate / 1e12), fmt::format("{:.0f}", rate)},
      {d.mig.empty() ? "" : "MIG"}};
}

// In text a generation is a heading, in other forms a column.
Table device_table(const std::vector<Device>& devices, bool headed) {
  std::vector<Column> columns = {{"id", {}, Column::kName},
                                 {"cc", "compute_capability"},
                                 {"SMs", "sms"},
                                 {"memory", "memory_bytes"},
                                 {"bandwidth", "bandwidth_bytes_per_second"},
                                 {"fp32", "fp32_flops"},
                                 {"", "mig", Column::kRemark}};
  if (!headed) columns.insert(columns.begin(), {"generation", {}, Column::kName});
  Table table(std::move(columns));
  for (const std::string_view wanted : kGenerations) {
    if (headed) table.add({{std::string(wanted)}, {}, {}, {}, {}, {}, {}});
    for (const Device& d : devices) {
      if (generation(d) != wanted) continue;
      std::vector<TableCell> cells = device_cells(d);
      cells.insert(cells.begin(), {headed ? "  " + d.id : d.id});
      if (!headed) cells.insert(cells.begin(), {std::string(wanted)});
      table.add(std::move(cells));
    }
  }
  return table;
}

int list_devices(const Hwdb& hwdb, const OutputFlags& output) {
  Diagnostics warnings;
  const std::vector<Device> devices = hwdb.devices(warnings);
  report(warnings);
  return print_table(
      device_table(devices, output.table() == nullptr), output,
      "\n" + wrapped("also: names that nvidia-smi prints, MIG slices as a100:3g.20gb, a device "
                     "file, 'local', or 'cpu' for memory on the host",
                     page_of(output), 0));
}

// A line `"key": ...` of a device file with another value.
void replace_line(std::string& text, const std::string& key, const std::string& value) {
  const size_t at = text.find("\n  \"" + key + "\": ");
  if (at == text.npos) return;
  const size_t begin = at + key.size() + 7, end = text.find('\n', begin);
  text.replace(begin, end - begin, value + ",");
}

std::string quoted(const std::string& text) {
  JsonWriter out;
  out.string(text);
  return out.take();
}

std::string figure(const std::string& value) {
  return fmt::format(R"({{"value": {}, "source": "nvidia-smi on this machine"}})", quoted(value));
}

// The file of a card of the database. Of this machine's card what the driver says of it is in
// there: a file for a card that has none.
int show_file(const Hwdb& hwdb, const Device& device) {
  if (device.is_host) return report(error("E140", "the host has no device file").value());
  const std::string id = device.id.substr(0, device.id.find(':'));
  auto text = hwdb.read("devices/" + id + ".json");
  if (!text) return report(text.error());
  report(device.warnings);
  if (has_code(device.warnings, "W404")) {
    const std::string memory = fmt::format("{} MiB", device.memory.value >> 20);
    replace_line(*text, "id", "\"my-gpu\"");
    replace_line(*text, "aliases", "[]");
    replace_line(*text, "names", fmt::format("[{}]", quoted(device.name)));
    replace_line(*text, "name", figure(device.name));
    replace_line(*text, "memory", figure(memory));
    replace_line(*text, "memory_reported", figure(memory));
  }
  return print(*text);
}

struct TransferFlags {
  std::string other, bytes, gpus;
};

int show_transfer(const Hwdb& hwdb, const ListFlags& list, const TransferFlags& flags) {
  if (list.id.empty() || flags.bytes.empty()) {
    return report(error("E108", "over which link, and how much?", {},
                        "plimsoll links pcie-3-x16 --bytes 250MB --gpus 2")
                      .value());
  }
  TransferQuestion asked;
  const auto bytes = parse_bytes("--bytes", flags.bytes);
  if (!bytes) return report(bytes.error());
  asked.bytes = *bytes;
  if (!flags.gpus.empty()) {
    const auto gpus = parse_count("--gpus", flags.gpus, 2, 65536);
    if (!gpus) return report(gpus.error());
    asked.gpus = *gpus;
  }
  const auto host = hwdb.host(std::string(kUnknownHost));
  if (!host) return report(host.error());
  std::vector<Transfer> links;
  for (const std::string& id : {list.id, flags.other}) {
    if (id.empty()) continue;
    const auto link = hwdb.link(id);
    if (!link) return report(link.error());
    links.push_back(transfer_over(*link, *host, asked.bytes, asked.gpus));
  }
  if (list.output.table()) return print_table(transfer_table(links, asked, true), list.output);
  return print(list.output.json ? transfer_json(links, asked)
                                : transfer_text(links, asked, page_of(list.output)));
}

template <class Run>
Verb make_list(const FlagSet& root, const char* name, const char* help, Run run) {
  auto flags = std::make_shared<ListFlags>();
  FlagSet app = root.add_subcommand(name, help);
  app.add_option("id", flags->id, "show one, each figure with its source");
  app.add_option("--hwdb", flags->hwdb,
                 "folder with files of GPUs, links and hosts; a file replaces the built-in file "
                 "with the same name")
      .type_name("FOLDER");
  add_list_output(app, flags->output, "the list");
  return {app, [flags, run] {
            const auto good = check_output(flags->output);
            if (!good) return report(good.error());
            report(*good);
            auto hwdb = Hwdb::open(flags->hwdb);
            return hwdb ? run(*hwdb, *flags) : report(hwdb.error());
          }};
}

}  // namespace

Verb make_gpus(const FlagSet& root) {
  auto file = std::make_shared<bool>(false);
  Verb verb = make_list(
      root, "gpus", "Lists the known GPUs, or shows one with the source of each figure.",
      [file](Hwdb& hwdb, const ListFlags& f) {
        if (f.id.empty() && *file)
          return report(
              error("E108", "--file needs a GPU id", {}, "plimsoll gpus tesla-t4 --file").value());
        if (f.id.empty())
          return f.output.json ? list_ids(hwdb.device_ids(), f.output)
                               : list_devices(hwdb, f.output);
        std::vector<std::string> named = {f.id};
        if (auto found = find_local_gpu(hwdb, named, "plimsoll gpus tesla-t4"); !found)
          return report(found.error());
        const auto device = hwdb.device(f.id);
        return *file && device ? show_file(hwdb, *device) : show(device, f.output);
      });
  verb.app.add_flag("--file", *file,
                    "print this GPU's data as a JSON file, a template for another GPU");
  return verb;
}

Verb make_links(const FlagSet& root) {
  auto flags = std::make_shared<TransferFlags>();
  Verb verb = make_list(
      root, "links",
      "Lists links between GPUs and machines, or the time that --bytes take over them.",
      [flags](const Hwdb& hwdb, const ListFlags& f) {
        if (!flags->bytes.empty() || !flags->gpus.empty() || !flags->other.empty())
          return show_transfer(hwdb, f, *flags);
        return f.id.empty() ? list_links(hwdb, f.output) : show(hwdb.link(f.id), f.output);
      });
  verb.app.add_option("other", flags->other, "another link, to compare");
  verb.app.add_option("--bytes", flags->bytes, "bytes to move, e.g. 250MB").type_name("SIZE");
  verb.app.add_option("--gpus", flags->gpus, "GPUs that exchange the bytes [2]").type_name("N");
  return verb;
}

namespace {

struct MeasureFlags {
  std::string file;
  bool force = false;
};

int write_host(const MeasureFlags& flags, const ListFlags& list) {
  if (!list.id.empty() || list.output.json || list.output.table())
    return report(error("E114",
                        fmt::format("{} measures this machine into a file: nothing is listed",
                                    spelled(setting("measure"))),
                        {}, "without it, hosts are listed or shown")
                      .value());
  auto file = OutputFile::open(flags.file, flags.force);
  if (!file) return report(file.error());
  const MeasuredHost host = measure_host();
  const std::string text = host_file(host);
  if (auto written = file->write(text); !written) return report(written.error());
  return print(fmt::format(
      "{}: {} threads, each {:.2f} times as fast as one of a 3.7 GHz Skylake-SP; use it with "
      "{}\n",
      shortened(flags.file, kQuotedColumns), host.cores, host.single_thread,
      spelled(setting("host", "FILE"))));
}

}  // namespace

Verb make_hosts(const FlagSet& root) {
  auto flags = std::make_shared<MeasureFlags>();
  Verb verb = make_list(
      root, "hosts",
      "Lists the known machines (CPU and memory), or shows one. --host takes their ids.",
      [flags](const Hwdb& hwdb, const ListFlags& f) {
        if (!flags->file.empty()) return write_host(*flags, f);
        return f.id.empty() ? list_hosts(hwdb, f.output) : show(hwdb.host(f.id), f.output);
      });
  verb.app.add_option("--measure", flags->file, "measure this machine, and write FILE for --host")
      .type_name("FILE");
  verb.app.add_flag("--force", flags->force, "overwrite the file of --measure");
  return verb;
}

Verb make_frameworks(const FlagSet& root) {
  return make_list(root, "frameworks",
                   "Lists the frameworks whose behaviour is modelled, or shows one.",
                   [](const Hwdb& hwdb, const ListFlags& f) {
                     return f.id.empty() ? list_ids(hwdb.framework_ids(), f.output)
                                         : show(hwdb.framework(f.id), f.output);
                   });
}

}  // namespace plimsoll::cli
