// GivenSettings: what whoever asks gives of settings, as texts, and the request that they make.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/settings/setting_row.h"

namespace plimsoll {

class GivenSettings {
 public:
  struct One {
    const SettingRow* row;
    std::string text;         // of a switch empty
    bool by_default = false;  // nobody said it: it was the default when the answer was made
  };

  std::string model;

  void add(const SettingRow& row, std::string text, bool by_default = false) {
    all_.push_back({&row, std::move(text), by_default});
  }
  // In place of what was given of it.
  void set(std::string_view name, std::vector<std::string> texts);
  void erase(std::string_view name);
  const std::vector<One>& all() const { return all_; }  // in the order given

  bool has(std::string_view name) const;
  // The first text; null where it was not given.
  const std::string* value(std::string_view name) const;
  std::vector<std::string> values(std::string_view name) const;
  // Of what somebody said.
  std::set<std::string, std::less<>> names() const;

 private:
  std::vector<One> all_;
};

// Of QLoRA whose weights are sharded, where nothing else is given: weights in four bits are sharded
// as they were loaded, and so are adapters beside them: "one should never call
// prepare_model_for_kbit_training when doing QLoRA + FSDP / DS-Zero3"
// (trl/trainer/sft_trainer.py 0.12, is_sharded_qlora and autocast_adapter_dtype).
void take_sharded_defaults(Request& request);

// E1xx for the first that is not as it should be, E114 for one that is given twice.
Result<Request> to_request(const GivenSettings& given);

}  // namespace plimsoll
