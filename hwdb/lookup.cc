#include "hwdb/lookup.h"

#include <algorithm>

#include "graph/base/byte_source.h"

namespace plimsoll {
namespace {

std::string without_dashes(std::string_view word) {
  std::string plain(word);
  std::erase(plain, '-');
  return plain;
}

}  // namespace

bool names_part(std::string_view id, std::string_view part) {
  for (size_t at = id.find(part); at != id.npos; at = id.find(part, at + 1)) {
    const size_t end = at + part.size();
    if ((at == 0 || id[at - 1] == '-') && (end == id.size() || id[end] == '-')) return true;
  }
  return false;
}

std::vector<std::string> nearest_few(std::string_view word, std::vector<std::string> allowed) {
  constexpr size_t kFew = 3;
  std::vector<std::string> found, plain;
  for (const std::string& a : allowed) plain.push_back(without_dashes(a));
  while (found.size() < kFew) {
    const std::string best = nearest(without_dashes(word), plain);
    if (best.empty()) break;
    const auto at = std::find(plain.begin(), plain.end(), best);
    found.push_back(allowed[static_cast<size_t>(at - plain.begin())]);
    allowed.erase(allowed.begin() + (at - plain.begin()));
    plain.erase(at);
  }
  return found;
}

}  // namespace plimsoll
