// gpus, links, hosts, frameworks: what the database holds, with sources.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

#include "estimator/cli/local_gpu.h"
#include "estimator/cli/output.h"
#include "estimator/cli/verb.h"
#include "estimator/plan/transfer.h"
#include "estimator/report/document.h"
#include "estimator/report/lists.h"
#include "estimator/report/table.h"
#include "estimator/report/transfer.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/json/writer.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {
namespace {

struct ListFlags {
  std::string id, hwdb;
  bool json = false;
};

std::string figures_text(const std::string& id, const std::vector<FigureNote>& figures) {
  constexpr size_t kValues = 32;  // their column
  const Page page = page_of({});
  std::string text = escaped_format("{}\n", id);
  for (const FigureNote& f : figures)
    text +=
        wrapped(escaped_format("  {:<29} {:<18}  {}", f.name, f.value, f.source), page, kValues);
  return text;
}

template <class Entry>
int show(const Result<Entry>& entry, bool json) {
  if (!entry) return report(entry.error());
  report(entry->warnings);
  if (!json) return print(figures_text(entry->id, entry->figures));
  ListedEntry listed{entry->id, entry->aliases, entry->figures};
  return print(described_text([&](Fields& f) { f.visit(listed); }));
}

int list_ids(const std::vector<std::string>& ids, bool json) {
  if (!json) {
    std::string text;
    for (const std::string& id : ids) text += escaped_format("{}\n", id);
    return print(text);
  }
  return print(described_text([&](Fields& f) { f.visit(unchanged(ids)); }));
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

int list_devices(const Hwdb& hwdb) {
  Diagnostics warnings;
  const std::vector<Device> devices = hwdb.devices(warnings);
  const Page page = page_of({});
  Table table({{"id", {}, Column::kName},
               {"cc"},
               {"SMs"},
               {"memory"},
               {"bandwidth"},
               {"fp32"},
               {"", {}, Column::kRemark}});
  for (const std::string_view wanted : kGenerations) {
    table.add({{std::string(wanted)}, {}, {}, {}, {}, {}, {}});
    for (const Device& d : devices) {
      if (generation(d) != wanted) continue;
      const Peak* fp32 = d.peak("fp32");
      table.add(
          {{"  " + d.id},
           {fmt::format("{}.{}", d.compute_capability.major, d.compute_capability.minor)},
           {std::to_string(d.sms)},
           {fmt::format("{:.1f} GiB", static_cast<double>(d.memory_reported.value) / (1 << 30))},
           {fmt::format("{:.0f} GB/s", d.bandwidth.value / 1e9)},
           {fmt::format("{:.1f} TFLOP/s", fp32 ? fp32->rate.value / 1e12 : 0.0)},
           {d.mig.empty() ? "" : "MIG"}});
    }
  }
  const std::string text =
      table.text(page) + "\n" +
      wrapped(
          "names as nvidia-smi prints them go too, parts as a100:3g.20gb, a device file, "
          "'local', or 'cpu': the host itself, its memory alone",
          page, 0);
  report(warnings);
  return print(text);
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
  return print(list.json ? transfer_json(links, asked) : transfer_text(links, asked, page_of({})));
}

template <class Run>
Verb make_list(CLI::App& root, const char* name, const char* help, Run run) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* app = root.add_subcommand(name, help);
  app->add_option("id", flags->id, "show one, each figure with its source");
  app->add_option("--hwdb", flags->hwdb, "folder whose files replace the built-in data");
  app->add_flag("--json", flags->json, "as JSON");
  return {app, [flags, run] {
            auto hwdb = Hwdb::open(flags->hwdb);
            return hwdb ? run(*hwdb, *flags) : report(hwdb.error());
          }};
}

}  // namespace

Verb make_gpus(CLI::App& root) {
  auto file = std::make_shared<bool>(false);
  Verb verb =
      make_list(root, "gpus", "the GPUs it knows, or one with its sources",
                [file](Hwdb& hwdb, const ListFlags& f) {
                  if (f.id.empty() && *file)
                    return report(error("E108", "which GPU? --file writes one's", {},
                                        "plimsoll gpus tesla-t4 --file")
                                      .value());
                  if (f.id.empty())
                    return f.json ? list_ids(hwdb.device_ids(), true) : list_devices(hwdb);
                  std::vector<std::string> named = {f.id};
                  if (auto found = find_local_gpu(hwdb, named, "plimsoll gpus tesla-t4"); !found)
                    return report(found.error());
                  const auto device = hwdb.device(f.id);
                  return *file && device ? show_file(hwdb, *device) : show(device, f.json);
                });
  verb.app->add_flag("--file", *file, "the one's device file, to begin one of your own with");
  return verb;
}

Verb make_links(CLI::App& root) {
  auto flags = std::make_shared<TransferFlags>();
  Verb verb = make_list(
      root, "links", "what joins GPUs and machines, and what moving --bytes over it takes",
      [flags](const Hwdb& hwdb, const ListFlags& f) {
        if (!flags->bytes.empty() || !flags->gpus.empty() || !flags->other.empty())
          return show_transfer(hwdb, f, *flags);
        return f.id.empty() ? list_ids(hwdb.link_ids(), f.json) : show(hwdb.link(f.id), f.json);
      });
  verb.app->add_option("other", flags->other, "another, beside it");
  verb.app->add_option("--bytes", flags->bytes, "what is moved, e.g. 250MB")->type_name("SIZE");
  verb.app->add_option("--gpus", flags->gpus, "that exchange it; 2")->type_name("N");
  return verb;
}

Verb make_hosts(CLI::App& root) {
  return make_list(
      root, "hosts", "machines around a GPU, for --host", [](const Hwdb& hwdb, const ListFlags& f) {
        return f.id.empty() ? list_ids(hwdb.host_ids(), f.json) : show(hwdb.host(f.id), f.json);
      });
}

Verb make_frameworks(CLI::App& root) {
  return make_list(root, "frameworks", "the frameworks whose habits it knows",
                   [](const Hwdb& hwdb, const ListFlags& f) {
                     return f.id.empty() ? list_ids(hwdb.framework_ids(), f.json)
                                         : show(hwdb.framework(f.id), f.json);
                   });
}

}  // namespace plimsoll::cli
