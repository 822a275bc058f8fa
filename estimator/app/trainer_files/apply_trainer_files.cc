#include "estimator/app/trainer_files/apply_trainer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "estimator/app/trainer_files/trainer_file.h"
#include "estimator/request/trainer.h"
#include "graph/base/escape.h"
#include "graph/base/folder.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/family/family.h"

namespace plimsoll {
namespace {

constexpr std::string_view kTrainerSetting = "trainer";

// What `trainer` is given: names of programs, and paths.
struct Named {
  std::vector<std::string> files;
  std::string trainer;  // the program's name
};

bool is_file(const std::string& word) {
  return !find_trainer(word) && (word.find_first_of("./") != word.npos || path_exists(word));
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view part : split(text, ',')) words.emplace_back(trimmed(part));
  return words;
}

// A word that is neither a program nor a file stays, for the setting's reader to refuse. A file
// that is named twice is one.
Result<Named> named_by(const GivenSettings& given) {
  Named named;
  for (const std::string& text : given.values(kTrainerSetting)) {
    for (const std::string& word : words_in(text)) {
      if (is_file(word)) {
        if (std::ranges::find(named.files, word) == named.files.end()) named.files.push_back(word);
      } else if (named.trainer.empty() || named.trainer == word) {
        named.trainer = word;
      } else {
        return error(
            "E114",
            fmt::format("{} names two programs: {} and {}", setting(kTrainerSetting),
                        shortened(named.trainer, kQuotedColumns), shortened(word, kQuotedColumns)));
      }
    }
  }
  return named;
}

// A model by the name that a file has for it: what ships, else a path.
std::string shipped_or_path(const std::string& name) {
  const std::vector<std::string> shipped = published_models();
  if (std::ranges::find(shipped, name) != shipped.end()) return "hf:" + name;
  const bool path = path_exists(name) || name.find_first_of("./~") == 0;
  const bool prefixed = name.starts_with("hf:") || name.starts_with("builtin:");
  return path || prefixed || name.empty() ? name : "hf:" + name;
}

std::string full_name(const TrainerSettings::One& one) {
  return one.entry.empty() ? std::string(one.row->name)
                           : fmt::format("{}.{}", one.row->name, one.entry);
}

class Taker {
 public:
  Taker(GivenSettings& given, const std::set<std::string, std::less<>>& left_out)
      : given_(given), left_out_(left_out) {}

  Result<void> take(const std::string& path) {
    const auto file =
        TRY(read_trainer_file(path, [&](std::string_view name) { return is_given(name); }));
    applied_.read.push_back(path);
    if (!file.deepspeed.empty()) applied_.read.push_back(file.deepspeed);
    if (trainer_.empty()) trainer_ = file.program->trainer;
    for (const TrainerSettings::One& one : file.settings.all()) TRY(add(one, path));
    if (file.settings.per_update) per_update_.emplace_back(*file.settings.per_update, path);
    files_.emplace_back(path, file.settings.all());
    std::ranges::copy(file.warnings, std::back_inserter(applied_.diagnostics));
    add_notes(file, path);
    if (model_.empty()) model_ = file.settings.model;
    return {};
  }

  const std::string& model() const { return model_; }
  const std::string& trainer() const { return trainer_; }

  Result<AppliedTrainerFiles> finish() {
    for (const auto& [samples, path] : per_update_) TRY(share_update(samples, path));
    if (gathers_in_16_bits()) {
      for (auto& [one, path] : added_) gather_in_16_bits(one);
    }
    for (auto& [path, settings] : files_) {
      for (TrainerSettings::One& one : settings) {
        if (gathers_in_16_bits()) gather_in_16_bits(one);
      }
      applied_.used += used_of(path, settings);
    }
    for (const auto& [one, path] : added_) {
      const std::string text = one.entry.empty() ? one.text : one.entry + "=" + one.text;
      given_.add(*one.row, text);
      applied_.names.emplace(one.row->name);
    }
    return std::move(applied_);
  }

 private:
  // A flag, or a parameter of a plan.
  bool is_given(std::string_view name) const {
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string_view setting = name.substr(0, dot);
    const std::string_view entry = name.substr(std::min(dot + 1, name.size()));
    if (left_out_.contains(std::string(entry.empty() ? setting : entry))) return true;
    if (entry.empty()) return given_.has(setting);
    return std::ranges::any_of(given_.values(setting), [&](const std::string& text) {
      return text.starts_with(fmt::format("{}=", entry));
    });
  }

  Result<void> add(const TrainerSettings::One& one, const std::string& path) {
    const std::string name = full_name(one);
    if (is_given(name)) return {};  // by a flag, where the file's program composed it
    const auto before = std::ranges::find_if(
        added_, [&](const auto& other) { return full_name(other.first) == name; });
    if (before == added_.end()) {
      added_.emplace_back(one, path);
    } else if (before->first.text != one.text) {
      return error("E114",
                   fmt::format("{} is {} by {} of {}, and {} by {}", setting(one.row->name),
                               shortened(before->first.text, kQuotedColumns), before->first.key,
                               shortened(before->second, kQuotedColumns),
                               shortened(one.text, kQuotedColumns), one.key),
                   {path, 0, 0, {}});
    }
    return {};
  }

  // What a flag or a file gives; empty: nothing, or several by a plan.
  std::string text_of_setting(std::string_view name) const {
    if (const std::string* const text = given_.value(name)) return *text;
    const auto found =
        std::ranges::find_if(added_, [&](const auto& one) { return full_name(one.first) == name; });
    return found == added_.end() ? "" : found->first.text;
  }

  bool is_set(std::string_view name) const {
    return is_given(name) || !text_of_setting(name).empty();
  }

  // Samples of an update are those of a GPU's pass, times passes, times GPUs: two of them give the
  // third (deepspeed/runtime/config.py, _set_batch_related_parameters() and _batch_assertion()).
  Result<void> share_update(const TrainerSettings::PerUpdate& update, const std::string& path) {
    const Place place{path, 0, 0, {}};
    const auto count = [&](std::string_view name) {
      return is_set(name) ? parse_number<int64_t>(text_of_setting(name))
                          : std::optional<int64_t>(1);
    };
    const auto batch = count("batch"), passes = count("accumulate");
    const auto gpus = count("gpus"), nodes = count("nodes");
    const bool splits = std::ranges::any_of(std::array{"parallel", "tp", "pp", "cp", "ep"},
                                            [&](auto name) { return is_set(name); });
    if (splits || !batch || !passes || !gpus || !nodes) {
      warn(fmt::format("{} is not divided among GPUs; {} and {} set the part of one", update.key,
                       setting("batch"), setting("accumulate")),
           place);
      return {};
    }
    int64_t rest = update.samples;
    for (const int64_t part : {*batch, *passes, *gpus, *nodes})
      rest = part > 0 && rest % part == 0 ? rest / part : 0;
    if (rest > 0 && !(is_set("batch") && is_set("accumulate"))) {
      const std::string_view name = is_set("batch") ? "accumulate" : "batch";
      const TrainerSettings::One one{find_setting(name), "", std::to_string(rest), update.key};
      std::ranges::find(files_, path, [](const auto& file) {
        return file.first;
      })->second.push_back(one);
      return add(one, path);
    }
    if (rest == 1) return {};
    if (rest > 1 && !is_set("gpus")) {
      warn(fmt::format("{} {} is for {} GPUs; one is assumed; {} changes it", update.key,
                       update.samples, rest, setting("gpus", std::to_string(rest))),
           place);
      return {};
    }
    if (given_.has("batch") || given_.has("accumulate")) return {};
    return error("E114",
                 fmt::format("{} {} does not match {} GPUs with {} passes of {} samples",
                             update.key, update.samples, *gpus * *nodes, *passes, *batch),
                 place);
  }

  void warn(std::string text, const Place& place) {
    applied_.diagnostics.push_back(warning("W534", std::move(text), place));
  }

  // accelerate, which transformers runs under too, has FSDP gather in 16 bits what autocast reads
  // (utils/dataclasses.py, FullyShardedDataParallelPlugin.set_mixed_precision(), of state.py).
  bool gathers_in_16_bits() const {
    const auto set = [&](std::string_view name, auto&& holds) {
      return std::ranges::any_of(added_, [&](const auto& one) {
        return one.first.row->name == name && holds(one.first.text);
      });
    };
    const auto any = [](const std::string&) { return true; };
    const auto adapters = [](const std::string& text) { return text.ends_with("lora"); };
    const bool trains_adapters =
        set("finetune", adapters) || std::ranges::any_of(given_.values("finetune"), adapters);
    return (set("fsdp", any) || given_.has("fsdp")) && !trains_adapters;
  }

  static void gather_in_16_bits(TrainerSettings::One& one) {
    if (one.row->name == "precision" && one.text.starts_with("amp-"))
      one.text = "mixed-" + one.text;
  }

  // "batch 2, accumulate 4 of train.yaml", behind what other files set.
  std::string used_of(const std::string& path,
                      const std::vector<TrainerSettings::One>& settings) const {
    std::string sets;
    for (const TrainerSettings::One& one : settings) {
      sets += fmt::format("{}{}", sets.empty() ? "" : ", ",
                          one.entry.empty() ? one.row->name : one.entry);
      if (!one.text.empty()) sets += " " + shortened(one.text, kQuotedColumns);
    }
    if (sets.empty()) return "";
    return fmt::format("{}{} of {}", applied_.used.empty() ? "" : ", ", sets,
                       shortened(path, kQuotedColumns));
  }

  // What nothing reads, in one line.
  void add_notes(const TrainerFile& file, const std::string& path) {
    constexpr size_t kShown = 12;
    std::string text;
    for (size_t i = 0; i < std::min(kShown, file.unused.size()); ++i)
      text += (i == 0 ? "" : ", ") + shortened(file.unused[i], kQuotedColumns);
    const size_t rest = file.unused.size() - std::min(kShown, file.unused.size());
    if (rest > 0) text += fmt::format(" and {} others", rest);
    if (!text.empty())
      applied_.diagnostics.push_back(note(
          "N535", fmt::format("{}: not read: {}", file.program->name, text), {path, 0, 0, {}}));
    for (const std::string& text_of_note : file.settings.notes())
      applied_.diagnostics.push_back(note("N535", text_of_note, {path, 0, 0, {}}));
  }

  GivenSettings& given_;
  const std::set<std::string, std::less<>>& left_out_;
  std::vector<std::pair<TrainerSettings::One, std::string>> added_;
  std::vector<std::pair<std::string, std::vector<TrainerSettings::One>>> files_;  // by file
  std::vector<std::pair<TrainerSettings::PerUpdate, std::string>> per_update_;    // likewise
  std::string model_, trainer_;
  AppliedTrainerFiles applied_;
};

// What is sharded, over a number of GPUs that nobody has given.
void warn_of_gpus(const GivenSettings& given, AppliedTrainerFiles& applied) {
  const bool shards = applied.names.contains("fsdp") || applied.names.contains("zero");
  const bool counted = given.has("gpus") || given.has("parallel");
  if (shards && !counted)
    applied.diagnostics.push_back(warning(
        "W534",
        fmt::format("the file shards the model over GPUs, but does not say how many; one is "
                    "assumed; {} changes it",
                    setting("gpus", "8"))));
}

}  // namespace

bool names_trainer_file(std::string_view text) {
  return std::ranges::any_of(words_in(text), is_file);
}

Result<AppliedTrainerFiles> apply_trainer_files(
    GivenSettings& given, const std::set<std::string, std::less<>>& left_out) {
  Named named = TRY(named_by(given));
  const TrainerProgram* const of_model = program_of_file(given.model, {});
  if (named.files.empty() && !of_model) return AppliedTrainerFiles{};
  Taker taker(given, left_out);
  // A file in the model's place that names no model is refused by who loads it, with what it is.
  if (of_model) {
    const auto file = read_trainer_file(given.model, [](std::string_view) { return true; });
    if (file && file->settings.model.empty() && named.files.empty()) return AppliedTrainerFiles{};
    if (std::ranges::find(named.files, given.model) == named.files.end())
      named.files.push_back(given.model);
  }
  for (const std::string& path : named.files) TRY(taker.take(path));
  if (of_model || given.model.empty()) given.model = shipped_or_path(taker.model());
  const std::string trainer = named.trainer.empty() ? taker.trainer() : named.trainer;
  given.erase(kTrainerSetting);
  if (!trainer.empty()) given.add(*find_setting(kTrainerSetting), trainer);
  AppliedTrainerFiles applied = TRY(taker.finish());
  warn_of_gpus(given, applied);
  return applied;
}

}  // namespace plimsoll
