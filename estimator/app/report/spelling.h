// How who asked writes a setting: messages and answers name settings, and are spelled where they
// are shown.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll {

enum class Spelling {
  kFlag,     // --batch 32, --dim sequence=512: a command to paste
  kKeyword,  // batch=32, dim={"sequence": 512}: of a call from Python
  kPair,     // {"batch", "32"}, {"dim", "sequence=512"}: of a call from C++
};

std::string spelled(std::string_view text, Spelling spelling = Spelling::kFlag);
Diagnostic spelled(Diagnostic diagnostic, Spelling spelling = Spelling::kFlag);

}  // namespace plimsoll
