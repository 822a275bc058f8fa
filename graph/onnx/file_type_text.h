// What a text file is that was given as a model.
#pragma once

#include <optional>
#include <string_view>

namespace plimsoll::onnx {

struct TextFormat {
  std::string_view is;  // "is ..."
  std::string_view help;
};

// Whether these first bytes of a file are text: no control characters but white space. An ONNX file
// begins with some.
bool is_text(std::string_view head);
// Whether a text begins with a section, "[training]", as TOML and INI have them, and no list.
bool is_section(std::string_view text);
// Of a text's first bytes.
TextFormat text_format(std::string_view head);
// Of a JSON document that is no model config, by a key that only such documents have; nothing for
// any other.
std::optional<TextFormat> json_format(std::string_view text);

}  // namespace plimsoll::onnx
