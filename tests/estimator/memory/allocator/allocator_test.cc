#include "estimator/memory/allocator/allocator.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "graph/base/embedded.h"
#include "tests/support/mebibyte.h"

using namespace plimsoll;

namespace {

using test::kMiB;

// A trace of the memory oracle: n > 0 allocates n * 512 bytes under the next id, n < 0 frees -n-1.
Events events_of(const nlohmann::json& trace) {
  Events events;
  int32_t next = 0;
  for (const int64_t n : trace.at("events")) {
    if (n > 0) {
      events.push_back(allocate(next++, n * 512));
    } else {
      events.push_back(release(static_cast<int32_t>(-n - 1)));
    }
  }
  return events;
}

// A program that allocates and frees at random, with many sizes near the allocators' thresholds.
Events random_program(uint32_t seed, int length, int streams = 1) {
  std::mt19937 random(seed);
  const int64_t edges[] = {512, kMiB, 2 * kMiB, 10 * kMiB, 20 * kMiB, 40 * kMiB};
  Events events;
  std::vector<int32_t> live;
  for (int32_t id = 0; static_cast<int>(events.size()) < length;) {
    if (live.empty() || random() % 100 < 55) {
      const int64_t edge = edges[random() % 6];
      const int64_t bytes =
          std::max<int64_t>(1, edge + static_cast<int64_t>(random() % 4096) - 2048);
      events.push_back(allocate(id, random() % 3 ? bytes : 1 + random() % (30 * kMiB),
                                static_cast<uint16_t>(random() % static_cast<uint32_t>(streams))));
      live.push_back(id++);
    } else {
      const size_t at = random() % live.size();
      events.push_back(release(live[at]));
      live[at] = live.back();
      live.pop_back();
    }
  }
  return events;
}

}  // namespace

TEST_CASE("caching allocator: reserved and segments of every oracle trace") {
  const auto folder = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/golden/traces";
  int traces = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gz") continue;
    CAPTURE(entry.path().filename().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string packed{std::istreambuf_iterator<char>(file), {}};
    const auto text = gunzip(packed, 64 << 20);
    REQUIRE(text.has_value());
    const auto trace = nlohmann::json::parse(*text);
    const auto result = replay(events_of(trace), CachingRules{});
    REQUIRE(result.has_value());
    CHECK(result->reserved_peak == trace.at("reserved"));
    CHECK(result->allocated_peak == trace.at("allocated"));
    CHECK(result->requested_peak == trace.at("peak"));
    CHECK(result->segments == trace.at("segments"));
    ++traces;
  }
  CHECK(traces >= 30);
}

TEST_CASE("caching allocator: sizes and segments") {
  const CachingRules rules;
  CHECK(rules.rounded(1) == 512);
  CHECK(rules.rounded(513) == 1024);
  CHECK(rules.segment_for(kMiB) == 2 * kMiB);
  CHECK(rules.segment_for(kMiB + 512) == 20 * kMiB);
  CHECK(rules.segment_for(10 * kMiB) == 10 * kMiB);
  CHECK(rules.segment_for(10 * kMiB + 512) == 12 * kMiB);
  // PyTorch's documentation: 1200 with 4 divisions becomes 1280; only above 512 * divisions.
  CachingRules divided{.roundup_power2_divisions = 4};
  CHECK(divided.rounded(1200) == 1536);
  CHECK(divided.rounded(5000) == 5120);
  CHECK(divided.rounded(8192) == 8192);
}

TEST_CASE("caching allocator: a large block keeps up to 1 MiB to spare, a small one does not") {
  auto result =
      replay(Events{allocate(0, 19 * kMiB), release(0), allocate(1, 9 * kMiB)}, CachingRules{});
  CHECK(result->reserved_peak == 20 * kMiB);
  CHECK(result->allocated_peak == 20 * kMiB);  // 19 of 20: not split
  CHECK(replay(Events{allocate(0, 2000)}, CachingRules{})->allocated_peak == 2048);
}

TEST_CASE("caching allocator: streams do not share, freed neighbours merge") {
  CHECK(
      replay(Events{allocate(0, 30 * kMiB), release(0), allocate(1, 30 * kMiB, 1)}, CachingRules{})
          ->reserved_peak == 60 * kMiB);
  const Events merged = {allocate(0, 4 * kMiB),
                         allocate(1, 4 * kMiB),
                         allocate(2, 4 * kMiB),
                         release(0),
                         release(2),
                         release(1),
                         allocate(3, 20 * kMiB)};
  CHECK(replay(merged, CachingRules{})->segments == 1);
}

TEST_CASE("caching allocator: a full device first gives cached segments back") {
  const Events events = {allocate(0, 30 * kMiB), release(0), allocate(1, 40 * kMiB), mark()};
  CHECK(replay(events, CachingRules{})->reserved_peak == 70 * kMiB);
  const auto capped = replay(events, CachingRules{}, 50 * kMiB);
  CHECK(capped->retries == 1);
  CHECK(capped->segments_returned == 1);
  CHECK(capped->marks.at(0).reserved == 40 * kMiB);
  CHECK(!capped->out_of_memory);
  CHECK(replay(events, CachingRules{}, 39 * kMiB)->out_of_memory == 2);
  CHECK(minimum_capacity(events, CachingRules{}) == 40 * kMiB);
}

TEST_CASE("caching allocator: emptied cache, fallback sizes") {
  const Events events = {allocate(0, 100 * kMiB), release(0), empty_cache(), allocate(1, 8 * kMiB)};
  const auto result = replay(events, CachingRules{});
  CHECK(result->reserved_peak == 100 * kMiB);
  CHECK(result->reserved_end == 20 * kMiB);
  AllocatorEvent scratch = allocate(0, 100 * kMiB);
  scratch.least = 0;
  const Events optional = {scratch, release(0), allocate(1, 8 * kMiB)};
  CHECK(minimum_capacity(optional, CachingRules{}) == 20 * kMiB);
}

TEST_CASE("caching allocator: a split limit neither splits nor lends large blocks") {
  const CachingRules limited{.max_split_size = 32 * kMiB};
  const Events small_after_large = {allocate(0, 64 * kMiB), release(0), allocate(1, 12 * kMiB)};
  CHECK(replay(small_after_large, CachingRules{})->reserved_peak == 64 * kMiB);
  CHECK(replay(small_after_large, limited)->reserved_peak == 76 * kMiB);
  // A request beyond the limit takes a block at most 20 MiB larger.
  const Events near = {allocate(0, 64 * kMiB), release(0), allocate(1, 46 * kMiB)};
  CHECK(replay(near, limited)->reserved_peak == 64 * kMiB);
  const Events far = {allocate(0, 64 * kMiB), release(0), allocate(1, 44 * kMiB)};
  CHECK(replay(far, limited)->reserved_peak == 108 * kMiB);
  CHECK(replay(far, limited, 70 * kMiB)->retries == 1);
}

TEST_CASE("caching allocator: an expandable range grows in place by pages") {
  const CachingRules expandable{.expandable_segments = true};
  const Events growing = {allocate(0, 30 * kMiB), release(0), allocate(1, 50 * kMiB)};
  CHECK(replay(growing, CachingRules{})->reserved_peak == 80 * kMiB);
  CHECK(replay(growing, expandable)->reserved_peak == 60 * kMiB);  // three pages of 20 MiB
  // A hole that was unmapped is mapped again; what sticks out of whole pages stays cached.
  const Events hole = {allocate(0, 50 * kMiB),
                       allocate(1, 30 * kMiB),
                       release(0),
                       empty_cache(),
                       mark(),
                       allocate(2, 45 * kMiB),
                       mark()};
  const auto result = replay(hole, expandable);
  CHECK(result->marks.at(0).reserved == 40 * kMiB);
  CHECK(result->marks.at(1).reserved == 80 * kMiB);
  CHECK(replay(hole, expandable, 79 * kMiB)->out_of_memory == 1);
}

TEST_CASE("TensorFlow's allocator: regions double, chunks under twice the request are not split") {
  const Events events = {allocate(0, kMiB), allocate(1, kMiB), allocate(2, kMiB)};
  const auto result = replay(events, BfcRules{.first_region = 2 * kMiB});
  CHECK(result->reserved_peak == 2 * kMiB + 4 * kMiB);
  CHECK(result->segments == 2);
  const Events unsplit = {allocate(0, 2 * kMiB), release(0), allocate(1, kMiB + 256)};
  CHECK(replay(unsplit, BfcRules{})->marks.empty());
  CHECK(replay(unsplit, BfcRules{})->allocated_peak == 2 * kMiB);
  // Regions that are wholly free are not given back.
  const Events regions = {allocate(0, 16 * kMiB), release(0), allocate(1, 24 * kMiB)};
  CHECK(replay(regions, BfcRules{}, 30 * kMiB)->out_of_memory == 2);
}

TEST_CASE("MXNet's pools: buffers serve only their own rounded size") {
  const PoolRules naive;
  CHECK(naive.rounded(1) == 4096);
  CHECK(naive.rounded(2 * kMiB + 1) == 4 * kMiB);
  const Events events = {allocate(0, 8 * kMiB), release(0), allocate(1, 6 * kMiB), release(1),
                         allocate(2, 8 * kMiB)};
  CHECK(replay(events, naive)->reserved_peak == 14 * kMiB);
  CHECK(minimum_capacity(events, PoolRules{.reserve_percent = 0}) == 8 * kMiB);
}

TEST_CASE("static plans: freed storages serve again what is near their size") {
  // a [0,3) 4, b [1,4) 2, c [4,6) 4, d [5,6) 3
  const Events events = {allocate(0, 4), allocate(1, 2), mark(),        release(0),
                         release(1),     allocate(2, 4), allocate(3, 3)};
  CHECK(replay(events, StaticRules{})->reserved_peak == 4 + 3);
  CHECK(replay(events, StaticRules{}, 6)->out_of_memory == 0);
}

TEST_CASE(
    "every allocator: what is live fits in what is reserved, and the least capacity is least") {
  const std::pair<const char*, AllocatorRules> all[] = {
      {"none", NoAllocator{}},
      {"caching", CachingRules{}},
      {"caching, split limit", CachingRules{.max_split_size = 24 * kMiB}},
      {"caching, divisions", CachingRules{.roundup_power2_divisions = 8}},
      {"caching, expandable", CachingRules{.expandable_segments = true}},
      {"bfc", BfcRules{}},
      {"pool", PoolRules{}},
      {"plan", StaticRules{}},
  };
  for (const auto& allocator : all) {
    const auto& label = allocator.first;
    const auto& rules = allocator.second;
    for (uint32_t seed = 1; seed <= 6; ++seed) {
      CAPTURE(label);
      CAPTURE(seed);
      const Events events = random_program(seed, 300, seed % 2 ? 1 : 3);
      const auto uncapped = replay(events, rules);
      REQUIRE(uncapped.has_value());
      CHECK(uncapped->requested_peak <= uncapped->allocated_peak);
      CHECK(uncapped->allocated_peak <= uncapped->reserved_peak);
      CHECK(uncapped->retries == 0);
      const int64_t least = *minimum_capacity(events, rules, 4096);
      CHECK(least >= uncapped->requested_peak);
      const auto tight = replay(events, rules, least);
      CHECK(!tight->out_of_memory);
      CHECK(tight->reserved_peak <= least);
      CHECK(replay(events, rules, least - 4096)->out_of_memory);
    }
  }
}

TEST_CASE("replay refuses events that no program produces") {
  const auto code = [](const Events& events) {
    const auto result = replay(events, CachingRules{});
    return result ? std::string() : result.error().front().code;
  };
  CHECK(code({release(0)}) == "E902");
  CHECK(code({allocate(0, 1), allocate(0, 1)}) == "E902");
  CHECK(code({allocate(0, -1)}) == "E902");
  CHECK(code({allocate(7, 1)}) == "E902");
  CHECK(code({allocate(0, int64_t{1} << 62)}) == "E232");
  CHECK(code({allocate(-1, 1)}) == "E902");
  CHECK(code({allocate(0, 1, 256)}) == "E902");
  CHECK(code({allocate(0, 1), release(0), release(0)}) == "E902");
  const int64_t largest = int64_t{1} << 50;
  Events many;
  for (int32_t id = 0; id < 65; ++id) many.push_back(allocate(id, largest));
  CHECK(code(many) == "E232");
  many.pop_back();
  CHECK(code(many).empty());
  for (const int64_t least : {int64_t{-2}, int64_t{2}}) {
    AllocatorEvent scratch = allocate(0, 1);
    scratch.least = least;
    CHECK(code({scratch}) == "E902");
  }
  // Static plans and a full device refuse them too; nothing after a failure is looked at.
  CHECK(replay(Events{release(0)}, StaticRules{}).error()[0].code == "E902");
  CHECK(replay(Events{release(0)}, CachingRules{}, 0).error()[0].code == "E902");
  CHECK(replay(Events{allocate(0, 1), release(1)}, CachingRules{}, 0)->out_of_memory == 0);
  CHECK(replay(Events{}, CachingRules{.max_split_size = 20 * kMiB}).error()[0].code == "E161");
  CHECK(replay(Events{}, CachingRules{.roundup_power2_divisions = 3}).error()[0].code == "E161");
  CHECK(code({allocate(0, 0), release(0), allocate(0, 5), release(0)}).empty());
}
