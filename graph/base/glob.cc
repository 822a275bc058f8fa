#include "graph/base/glob.h"

namespace plimsoll {

bool matches(std::string_view glob, std::string_view path) {
  size_t g = 0, p = 0;
  size_t star = glob.npos, after = 0;  // the last star, and where its share of the path ends
  while (p < path.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after = p;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == path[p])) {
      ++g;
      ++p;
    } else if (star != glob.npos) {
      g = star + 1;
      p = ++after;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == glob.npos;
}

}  // namespace plimsoll
