// What is described, as JSON: in the order in which describe() names it.
#pragma once

#include <string>
#include <string_view>

#include "graph/json/fields.h"
#include "graph/json/writer.h"

namespace plimsoll {

class JsonFields final : public Fields {
 public:
  using Spell = std::string (*)(std::string_view text);
  // `spell`: how settings are named; as they are where it is not given.
  explicit JsonFields(JsonWriter& out, Spell spell = nullptr) : out_(out), spell_(spell) {}

 private:
  bool begin(std::string_view key, const FieldNote& note, bool derived) override;
  void boolean(bool& value) override { out_.boolean(value); }
  void integer(int64_t& value) override { out_.integer(value); }
  void real(double& value) override { out_.real(value); }
  void text(std::string& value) override;
  // Who describes it knows how it is read, not how it is written.
  const std::string* quoted() override {
    out_.null();
    return nullptr;
  }
  void raw(std::string& json) override;
  void any(JsonValue& value) override { write_value(out_, value); }
  std::string_view word(std::string_view word, std::span<const std::string_view> all) override;
  bool some(bool has) override;
  void open_object() override { out_.begin_object(); }
  void close_object() override { out_.end_object(); }
  size_t open_list(size_t size, bool fixed) override;
  void close_list() override { out_.end_array(); }
  std::vector<std::string> open_map() override;
  void close_map() override { out_.end_object(); }

  JsonWriter& out_;
  Spell spell_;
  bool settings_ = false;  // of the member that is being written
};

}  // namespace plimsoll
