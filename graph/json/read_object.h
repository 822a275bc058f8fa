// read_object(): what a function makes of the object that a text is.
#pragma once

#include <string_view>
#include <utility>

#include "graph/base/try.h"
#include "graph/json/object.h"
#include "graph/json/reader.h"

namespace plimsoll {

// Faults of what `read` takes refuse the text, as keys do that it does not ask for.
//
//   return read_object(text, "run.json", [](JsonObject& run) { return run.required_string("id");
//   });
template <class Read>
auto read_object(std::string_view text, std::string_view file_name, Read read)
    -> Result<decltype(read(std::declval<JsonObject&>()))> {
  const auto value = TRY(read_json(text, file_name));
  Diagnostics faults;
  JsonObject object(value, file_name, faults, true);
  auto result = read(object);
  object.finish();
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));
  return result;
}

}  // namespace plimsoll
