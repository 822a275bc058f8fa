#include "estimator/app/trainer_files/trainer_settings.h"

#include <algorithm>
#include <utility>

#include "estimator/settings/setting_row.h"

namespace plimsoll {
namespace {

// "dim" and "sequence".
std::pair<std::string_view, std::string_view> name_and_entry(std::string_view name) {
  const size_t dot = std::min(name.find('.'), name.size());
  return {name.substr(0, dot), name.substr(std::min(dot + 1, name.size()))};
}

}  // namespace

const TrainerSettings::One* TrainerSettings::find(std::string_view name) const {
  const auto parts = name_and_entry(name);
  const auto one = std::ranges::find_if(
      all_, [&](const One& o) { return o.row->name == parts.first && o.entry == parts.second; });
  return one == all_.end() ? nullptr : &*one;
}

std::string TrainerSettings::text(std::string_view name) const {
  const One* const one = find(name);
  return one ? one->text : "";
}

std::string TrainerSettings::key_of(std::string_view name) const {
  const One* const one = find(name);
  return one ? one->key : "";
}

void TrainerSettings::add(std::string_view name, std::string text, std::string key) {
  const auto [setting, entry] = name_and_entry(name);
  all_.push_back({find_setting(setting), std::string(entry), std::move(text), std::move(key)});
}

void TrainerSettings::replace(std::string_view name, std::string text) {
  const One* const found = find(name);
  if (found) all_[static_cast<size_t>(found - all_.data())].text = std::move(text);
}

void TrainerSettings::remove(std::string_view name) {
  const auto [setting, entry] = name_and_entry(name);
  std::erase_if(all_, [&, s = setting, e = entry](const One& one) {
    return one.row->name == s && one.entry == e;
  });
}

void keep_loading_of_version(std::string_view otherwise, TrainerSettings& settings) {
  const std::string version = settings.text("fsdp-version");
  if ((version.empty() ? otherwise : std::string_view(version)) == "2") settings.remove("load");
}

}  // namespace plimsoll
