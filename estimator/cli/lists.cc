// gpus, links, frameworks: what the database holds, with sources.
#include <fmt/format.h>

#include "estimator/cli/verb.h"
#include "graph/config/json_writer.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {
namespace {

struct ListFlags {
  std::string id, hwdb;
  bool json = false;
};

std::string figures_text(const std::string& id, const std::vector<FigureNote>& figures) {
  std::string text = id + "\n";
  for (const FigureNote& f : figures)
    text += fmt::format("  {:<29} {:<26}  {}\n", f.name, f.value, f.source);
  return text;
}

std::string figures_json(const std::string& id, const std::vector<std::string>& aliases,
                         const std::vector<FigureNote>& figures) {
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object();
  out.key("id").string(id);
  out.key("aliases").begin_array();
  for (const std::string& a : aliases) out.string(a);
  out.end_array();
  out.key("figures").begin_array();
  for (const FigureNote& f : figures) {
    out.begin_object();
    out.key("key").string(f.name);
    out.key("value").string(f.value);
    out.key("source").string(f.source);
    out.end_object();
  }
  out.end_array().end_object();
  return out.take() + "\n";
}

template <class Entry>
int show(const Result<Entry>& entry, bool json) {
  if (!entry) return report(entry.error());
  report(entry->warnings);
  return print(json ? figures_json(entry->id, entry->aliases, entry->figures)
                    : figures_text(entry->id, entry->figures));
}

int list_ids(const std::vector<std::string>& ids, bool json) {
  if (!json) {
    std::string text;
    for (const std::string& id : ids) text += id + "\n";
    return print(text);
  }
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_array();
  for (const std::string& id : ids) out.string(id);
  out.end_array();
  return print(out.take() + "\n");
}

int list_devices(const Hwdb& hwdb) {
  Diagnostics warnings;
  std::string text = fmt::format("{:<22}{:<34}{:>4} {:>6} {:>12} {:>12} {:>12}\n", "id", "name",
                                 "cc", "SMs", "memory", "bandwidth", "fp32");
  for (const Device& d : hwdb.devices(warnings)) {
    const Peak* fp32 = d.peak("fp32");
    text += fmt::format("{:<22}{:<34}{:>2}.{} {:>6} {:>8} MiB {:>7.0f} GB/s {:>5.1f} TFLOP/s\n",
                        d.id, d.name, d.compute_capability.major, d.compute_capability.minor, d.sms,
                        d.memory_reported.value >> 20, d.bandwidth.value / 1e9,
                        fp32 ? fp32->rate.value / 1e12 : 0.0);
  }
  report(warnings);
  return print(text);
}

template <class Run>
Verb make_list(CLI::App& root, const char* name, const char* help, Run run) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* app = root.add_subcommand(name, help);
  app->add_option("id", flags->id, "show one, each figure with its source");
  app->add_option("--hwdb", flags->hwdb, "folder whose files replace the built-in data");
  app->add_flag("--json", flags->json, "as JSON");
  return {app, [flags, run] {
            const auto hwdb = Hwdb::open(flags->hwdb);
            return hwdb ? run(*hwdb, *flags) : report(hwdb.error());
          }};
}

}  // namespace

Verb make_gpus(CLI::App& root) {
  return make_list(root, "gpus", "the GPUs it knows, or one with its sources",
                   [](const Hwdb& hwdb, const ListFlags& f) {
                     if (!f.id.empty()) return show(hwdb.device(f.id), f.json);
                     return f.json ? list_ids(hwdb.device_ids(), true) : list_devices(hwdb);
                   });
}

Verb make_links(CLI::App& root) {
  return make_list(
      root, "links", "what joins GPUs and machines", [](const Hwdb& hwdb, const ListFlags& f) {
        return f.id.empty() ? list_ids(hwdb.link_ids(), f.json) : show(hwdb.link(f.id), f.json);
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
