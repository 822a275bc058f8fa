// What JSON Schemas that no describe() gives are written with: of files whose keys depend on one
// another. A schema's class is derived from it, and has a member for each form of value.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

#include "graph/json/writer.h"

namespace plimsoll {

class SchemaWriter {
 protected:
  using Words = std::initializer_list<std::string_view>;

  // `definitions`: where is("form") finds forms: "$defs", or "definitions" in older drafts.
  explicit SchemaWriter(std::string_view definitions) : definitions_(definitions) {}

  // `members` and `elements` write what is between the brackets.
  template <class Members>
  void object(std::string_view key, Members members) {
    out_.key(key);
    one(members);
  }
  template <class Members>
  void one(Members members) {
    out_.begin_object();
    members();
    out_.end_object();
  }
  template <class Elements>
  void list(std::string_view key, Elements elements) {
    out_.key(key).begin_array();
    elements();
    out_.end_array();
  }

  // Of the value at hand.
  void is(Words types) {
    out_.key("type");
    types.size() == 1 ? out_.string(*types.begin()) : out_.strings(types);
  }
  void is(std::string_view form) {
    out_.key("$ref").string(fmt::format("#/{}/{}", definitions_, form));
  }
  void means(std::string_view text) { out_.key("description").string(text); }

  JsonWriter out_{JsonWriter::Layout::kIndented};

 private:
  std::string_view definitions_;
};

}  // namespace plimsoll
