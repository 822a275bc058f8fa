#include <string>
#include <utility>
#include <vector>

#include "estimator/app/report/document.h"
#include "estimator/app/web/session.h"
#include "estimator/settings/setting_row.h"
#include "graph/builtin/builtin.h"
#include "graph/family/family.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

struct OfferedModel {
  std::string name, about;
};

void describe(Fields& f, OfferedModel& m) {
  f("name", m.name);
  f("about", m.about);
}

struct OfferedGpu {
  std::string id, name;
  int64_t memory_bytes = 0;
};

void describe(Fields& f, OfferedGpu& g) {
  f("id", g.id);
  f("name", g.name);
  f("memory_bytes", g.memory_bytes);
}

struct OfferedNetwork {
  std::string id, name;
};

void describe(Fields& f, OfferedNetwork& n) {
  f("id", n.id);
  f("name", n.name);
}

struct OfferedSetting {
  std::string name, help, by_default, placeholder;
  bool is_switch = false;
  std::vector<std::string> words;
  int64_t low = 0, high = 0;
};

void describe(Fields& f, OfferedSetting& s) {
  f("name", s.name);
  f("help", s.help);
  f("default", s.by_default);
  f("placeholder", s.placeholder);
  f("switch", s.is_switch);
  f("words", s.words, "those that it takes, or that are worth proposing");
  f("low", s.low, {.any_sign = true});
  f("high", s.high, {.meaning = "of a count; 0: it is none", .any_sign = true});
}

std::vector<OfferedModel> offered_models() {
  std::vector<OfferedModel> models;
  for (const std::string& name : published_models())
    models.push_back({"hf:" + name, "configuration published on Hugging Face"});
  for (const BuiltinRow& row : builtin_models())
    models.push_back({"builtin:" + row.name, row.description});
  return models;
}

std::vector<OfferedGpu> offered_gpus() {
  Diagnostics warnings;  // of a user's folder: there is none
  std::vector<OfferedGpu> gpus;
  for (const Device& device : Hwdb().devices(warnings))
    gpus.push_back({device.id, device.name, device.memory_reported.value});
  return gpus;
}

std::vector<OfferedNetwork> offered_networks() {
  const Hwdb hwdb;
  std::vector<OfferedNetwork> networks;
  for (const std::string& id : hwdb.link_ids()) {
    const auto link = hwdb.link(id);
    if (link && link->kind == "network") networks.push_back({link->id, link->name});
  }
  return networks;
}

std::vector<OfferedSetting> offered_settings() {
  std::vector<OfferedSetting> all;
  for (const SettingRow& row : settings()) {
    all.push_back({.name = underscored(row.name),
                   .help = row.help,
                   .by_default = row.default_text,
                   .placeholder = row.value.placeholder,
                   .is_switch = row.value.form == SettingValue::Form::kSwitch,
                   .words = row.value.words ? row.value.words() : std::vector<std::string>(),
                   .low = row.value.low,
                   .high = row.value.high});
  }
  return all;
}

}  // namespace

std::string web_choices() {
  auto models = offered_models();
  auto gpus = offered_gpus();
  auto networks = offered_networks();
  auto rows = offered_settings();
  return described_text(
      [&](Fields& f) {
        f.object([&] {
          describe_head(f, "plimsoll.choices");
          f("models", models);
          f("gpus", gpus);
          f("networks", networks);
          f("settings", rows);
        });
      },
      JsonWriter::Layout::kCompact);
}

}  // namespace plimsoll
