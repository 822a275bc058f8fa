// TrainerSettings: what a file of a training program sets, as it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

struct SettingRow;

class TrainerSettings {
 public:
  struct One {
    const SettingRow* row;
    std::string entry;  // "sequence", of one that has entries
    std::string text;   // as a flag takes it
    std::string key;    // of the file
  };

  // Samples of an update on all GPUs together, with the key of the file.
  struct PerUpdate {
    int64_t samples = 0;
    std::string key;
  };

  std::string model;  // as the file names it; empty where it does not
  std::optional<PerUpdate> per_update{};

  const std::vector<One>& all() const { return all_; }
  // "dim.sequence"; null where nothing has set it.
  const One* find(std::string_view name) const;
  std::string text(std::string_view name) const;    // empty likewise
  std::string key_of(std::string_view name) const;  // likewise

  void add(std::string_view name, std::string text, std::string key);
  // Of what is set.
  void replace(std::string_view name, std::string text);
  void remove(std::string_view name);
  void add_note(std::string text) { notes_.push_back(std::move(text)); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<One> all_;
  std::vector<std::string> notes_;
};

// accelerate/utils/dataclasses.py and transformers/training_args.py: FSDP 2 has no
// sync_module_states, and loads weight by weight. `otherwise`: the version where no key has it.
void keep_loading_of_version(std::string_view otherwise, TrainerSettings& settings);

}  // namespace plimsoll
