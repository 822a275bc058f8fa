#include "estimator/memory/allocator/block_list.h"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <tuple>

using namespace plimsoll;

TEST_CASE("blocks: what is cut and joined again keeps its neighbours") {
  BlockList blocks;
  const int32_t first = blocks.make({.address = 1000, .size = 100, .pool = 3});
  const int32_t last = blocks.split(first, 70);
  const int32_t middle = blocks.split(first, 20);
  CHECK(blocks[first].size == 20);
  CHECK(blocks[middle].address == 1020);
  CHECK(blocks[middle].size == 50);
  CHECK(blocks[middle].pool == 3);
  CHECK(blocks[middle].next == last);
  CHECK(blocks[last].previous == middle);
  CHECK(blocks[last].address == 1070);
  blocks.absorb_next(first);
  CHECK(blocks[first].size == 70);
  CHECK(blocks[last].previous == first);
  blocks.absorb_next(first);
  CHECK(blocks[first].whole_segment());
  CHECK(blocks[first].size == 100);
  blocks.split(first, 50);
  CHECK(blocks.size() == 3);  // what was joined is used again
}

TEST_CASE("free list: sizes then addresses, whatever comes and goes") {
  std::mt19937_64 random(7);
  BlockList blocks;
  FreeList free;
  std::set<std::tuple<int64_t, int64_t, int32_t>> expected;  // size, address, block
  const auto at = [&](auto found) {
    return found == expected.end() ? kNoBlock : std::get<2>(*found);
  };
  // Few sizes of each width, so that many are equal.
  uint64_t widths = 62;
  SUBCASE("of every width") {}
  SUBCASE("of one, whose lists grow long") { widths = 1; }
  const auto any_size = [&] {
    return int64_t{1} << random() % widths | static_cast<int64_t>(random() % 3);
  };
  CHECK(free.smallest() == kNoBlock);
  CHECK(free.largest() == kNoBlock);
  CHECK(free.best_fit(blocks, 1) == kNoBlock);
  for (int turn = 0; turn < 20000; ++turn) {
    // Fills and empties in turns.
    if (expected.empty() || random() % 100 < (turn / 2000 % 2 ? 40 : 60)) {
      const Block block{.address = static_cast<int64_t>(random() >> 1), .size = any_size()};
      const int32_t index = blocks.make(block);
      free.put(blocks, index);
      expected.emplace(block.size, block.address, index);
    } else {
      auto gone = expected.lower_bound({any_size(), 0, 0});
      if (gone == expected.end()) gone = expected.begin();
      free.take(blocks, at(gone));
      blocks.drop(at(gone));
      expected.erase(gone);
    }
    const int64_t size = any_size();
    REQUIRE(free.best_fit(blocks, size) == at(expected.lower_bound({size, INT64_MIN, 0})));
    REQUIRE(free.smallest() == at(expected.begin()));
    REQUIRE(free.largest() == (expected.empty() ? kNoBlock : std::get<2>(*expected.rbegin())));
    if (turn % 100 != 0) continue;
    auto next = expected.begin();
    for (int32_t block = free.smallest(); block != kNoBlock; block = free.next(blocks, block)) {
      REQUIRE(block == at(next++));
    }
    REQUIRE(next == expected.end());
  }
}
