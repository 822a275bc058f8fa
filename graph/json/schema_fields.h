// The JSON Schema (draft 7) of what is described.
//
//   json_schema("a step", "Nanoseconds are whole numbers.", {describe_any<Step>})
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/json/fields.h"
#include "graph/json/writer.h"

namespace plimsoll {

class SchemaFields final : public Fields {
 public:
  explicit SchemaFields(JsonWriter& out) : out_(out) {}

 private:
  bool begin(std::string_view key, const FieldNote& note, bool derived) override;
  void end() override;
  void boolean(bool&) override { type("boolean"); }
  void integer(int64_t&) override;
  void real(double&) override;
  void text(std::string&) override;
  const std::string* quoted() override;
  void raw(std::string&) override { type("object"); }
  void written(const JsonValue*&) override;
  std::string_view word(std::string_view word, std::span<const std::string_view> all) override;
  bool begin_form(std::string_view key, bool with_key, bool there) override;
  void end_forms() override { open_.back().in_form = false; }
  bool some(bool) override;
  void open_object() override;
  void close_object() override;
  size_t open_list(size_t size, bool fixed) override;
  void close_list() override { out_.end_object(); }
  std::vector<std::string> open_map() override;
  void close_map() override { out_.end_object(); }
  bool of_samples() const override { return true; }

  void type(std::string_view type);
  void bounds(double low);
  void words(std::span<const std::string_view> all);

  JsonWriter& out_;
  FieldNote note_;
  bool nullable_ = false;
  struct Open {
    std::vector<std::string> required{};
    std::vector<std::vector<std::string>> forms{};  // those required of each
    bool in_form = false;
  };
  std::vector<Open> open_;  // objects
};

// Of a document that is one of several forms, each of which is told to the visitor as something
// without values.
std::string json_schema(std::string_view title, std::string_view description,
                        const std::vector<std::function<void(Fields&)>>& forms);

}  // namespace plimsoll
