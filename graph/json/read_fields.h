// Reads what is described from JSON, strictly: a member that is missing, of another kind, out of
// its range or none of its words, and a key that is not described, is a fault at its place.
//
//   read_described<Machine>(text, "machine.json")
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/json/fields.h"
#include "graph/json/object.h"
#include "graph/json/read_object.h"

namespace plimsoll {

class ReadFields final : public Fields {
 public:
  // Faults are the object's, as unknown keys are: who made it finishes it.
  explicit ReadFields(JsonObject& object) : root_(&object) {}

  template <class T>
  void read(T& value) {
    describe(*this, value);
  }
  void form(std::string_view name, int64_t newest) override { object().schema(name, newest); }

 private:
  bool begin(std::string_view key, const FieldNote& note, bool derived) override;
  void boolean(bool& value) override;
  void integer(int64_t& value) override;
  void real(double& value) override;
  void text(std::string& value) override;
  const std::string* quoted() override;
  void fault(const Diagnostic& wrong) override;
  void raw(std::string& json) override;
  void any(JsonValue& value) override;
  void written(const JsonValue*& value) override;
  std::string_view word(std::string_view word, std::span<const std::string_view> all) override;
  bool begin_form(std::string_view key, bool with_key, bool there) override;
  bool some(bool has) override;
  void open_object() override;
  void close_object() override;
  size_t open_list(size_t size, bool fixed) override;
  void element(size_t i) override { value_ = &(*lists_.back())[i]; }
  void close_list() override { lists_.pop_back(); }
  std::vector<std::string> open_map() override;
  void close_map() override { close_object(); }

  JsonObject& object() { return inner_.empty() ? *root_ : inner_.back().object; }
  // Whether the member is; then that is said, with a value that it might have.
  bool is_missing(std::string_view example);

  JsonObject* root_;
  struct Open {
    JsonObject object;
    std::optional<FieldNote> of_entries{};  // of a map's values
  };
  std::deque<Open> inner_;
  std::vector<const JsonValue::List*> lists_;
  const JsonValue* value_ = nullptr;  // of the member that is being read
  std::string key_;
  FieldNote note_;
};

template <class T>
Result<T> read_described(std::string_view text, std::string_view file_name) {
  return read_object(text, file_name, [](JsonObject& object) {
    T value{};
    ReadFields(object).read(value);
    return value;
  });
}

// Of an object within another.
template <class T>
T read_described(JsonObject& object) {
  T value{};
  ReadFields(object).read(value);
  return value;
}

}  // namespace plimsoll
