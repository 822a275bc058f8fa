// CLI11's classes by name, for headers: only files that define flags parse the library itself.
#pragma once

namespace CLI {
class App;
class ParseError;
}  // namespace CLI
