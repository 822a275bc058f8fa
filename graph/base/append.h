// A list behind another.
#pragma once

namespace plimsoll {

template <class List>
void append(List& all, const List& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace plimsoll
