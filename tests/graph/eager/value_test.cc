#include "graph/eager/value.h"

#include <doctest/doctest.h>

namespace plimsoll::eager {
namespace {

TEST_CASE("a chain of a million autograd nodes is let go without recursion") {
  auto last = std::make_shared<GradNode>();
  const std::weak_ptr<GradNode> first = last;
  for (int i = 0; i < 1'000'000; ++i) {
    auto node = std::make_shared<GradNode>();
    node->edges.push_back({.node = std::move(last), .output = 0, .input = nullptr});
    last = std::move(node);
  }
  CHECK_FALSE(first.expired());
  last.reset();
  CHECK(first.expired());
}

TEST_CASE("an autograd node that two others hold goes with the second") {
  auto shared = std::make_shared<GradNode>();
  const std::weak_ptr<GradNode> watched = shared;
  auto a = std::make_shared<GradNode>(), b = std::make_shared<GradNode>();
  a->edges.push_back({.node = shared, .output = 0, .input = nullptr});
  b->edges.push_back({.node = std::move(shared), .output = 0, .input = nullptr});
  a.reset();
  CHECK_FALSE(watched.expired());
  b.reset();
  CHECK(watched.expired());
}

}  // namespace
}  // namespace plimsoll::eager
