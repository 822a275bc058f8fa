// Documents: what verbs write as JSON, described once for the text and for its schema.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "graph/json/fields.h"
#include "graph/json/json_fields.h"
#include "graph/json/writer.h"

namespace plimsoll {

using Describe = std::function<void(Fields&)>;

// What a document begins with: "plimsoll.estimate", the version of that form, and the program.
void describe_head(Fields& f, std::string_view form);

// Writes what is described, with settings spelled as flags.
JsonFields json_fields(JsonWriter& out);
// What is described, as text that ends with a newline.
std::string described_text(const Describe& describe,
                           JsonWriter::Layout layout = JsonWriter::Layout::kIndented);

// A document that has a `result` alone; and what a schema needs of it.
template <class T>
std::string result_text(std::string_view form, const T& result,
                        JsonWriter::Layout layout = JsonWriter::Layout::kIndented) {
  return described_text(
      [&](Fields& f) {
        f.object([&] {
          describe_head(f, form);
          f("result", unchanged(result));
        });
      },
      layout);
}
template <class T>
Describe any_result(std::string_view form) {
  return [form](Fields& f) {
    f.object([&] {
      describe_head(f, form);
      f("result", T{});
    });
  };
}
template <class T>
void describe_any(Fields& f) {
  T any{};
  f.visit(any);
}

}  // namespace plimsoll
