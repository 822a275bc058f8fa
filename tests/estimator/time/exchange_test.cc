#include "estimator/time/exchange.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

// A link of 10 B/s without latency, a host that copies at 5, adds at 20 and passes on 2 B/s.
ExchangeRates slow() {
  return {.link = {.bandwidth = 10, .latency = 0},
          .network = {.bandwidth = 1, .latency = 0},
          .copy = 5,
          .host_sum = 20,
          .messages = 2,
          .card_memory = 600};
}

// All groups alike.
ExchangeByAxis alike(const ExchangeGroup& group, const ExchangeRates& rates) {
  ExchangeByAxis axes;
  axes.fill({group, rates, 1});
  return axes;
}

double seconds(std::string_view scheme, int64_t per_node, int64_t nodes = 1) {
  const ExchangeScheme* row = find_exchange_scheme(scheme);
  REQUIRE(row != nullptr);
  return exchange_seconds(*row, 1000, {.per_node = per_node, .nodes = nodes}, slow());
}

}  // namespace

TEST_CASE("exchange: schemes by their formulas") {
  CHECK(seconds("ring", 4) == doctest::Approx(150));         // 2 * 3/4 * 100
  CHECK(seconds("device", 4) == doctest::Approx(150));       // a quarter each
  CHECK(seconds("tree", 4) == doctest::Approx(150));         // as a ring of bytes
  CHECK(seconds("sequential", 4) == doctest::Approx(600));   // 2 * 3 transfers
  CHECK(seconds("logarithmic", 4) == doctest::Approx(400));  // two levels up and down
  CHECK(seconds("logarithmic", 3) == doctest::Approx(400));
  CHECK(seconds("parameter-server", 3) == doctest::Approx(400 + 100));
  CHECK(seconds("cpu", 2) == doctest::Approx(400 + 500));
  CHECK(seconds("one-bit", 2) == doctest::Approx(900.0 / 32 + 10));
  CHECK(seconds("fp16", 4) == doctest::Approx(75 + 4000 / 600.0));  // half the bytes, four passes
  CHECK(seconds("split-layers", 4) == doctest::Approx(150));
  CHECK(seconds("data-parallel", 4) == doctest::Approx(200));  // parameters out, gradients back
  CHECK(find_exchange_scheme("nobody's") == nullptr);
}

TEST_CASE("exchange: every framework's scheme is one of these") {
  const Hwdb hwdb = *Hwdb::open();
  for (const std::string& id : hwdb.framework_ids()) {
    CAPTURE(id);
    CHECK(find_exchange_scheme(hwdb.framework(id)->exchange) != nullptr);
  }
}

TEST_CASE("exchange: with two devices, trees and one by one are what a pair does") {
  for (const char* scheme : {"sequential", "logarithmic"})
    CHECK(seconds(scheme, 2) == doctest::Approx(200));
  CHECK(seconds("ring", 2) == doctest::Approx(100));  // both ways at once
}

TEST_CASE("exchange: machines come on top, by their network") {
  CHECK(seconds("ring", 1, 2) == doctest::Approx(1000));
  CHECK(seconds("ring", 4, 2) == doctest::Approx(1150));
  CHECK(seconds("ring", 1, 1) == 0);
}

TEST_CASE("exchange: a tree has fewer hops than a ring") {
  ExchangeRates rates = slow();
  rates.link.latency = 14;  // of 2 * 7 hops among 8
  const auto of_nothing = [&](std::string_view scheme) {
    return exchange_seconds(*find_exchange_scheme(scheme), 0, {.per_node = 8}, rates);
  };
  CHECK(of_nothing("ring") == doctest::Approx(14));
  CHECK(of_nothing("tree") == doctest::Approx(6));
}

TEST_CASE("exchange: what runs beside the step's work is not waited for") {
  const ExchangeScheme& ring = *find_exchange_scheme("ring");
  ExchangeRates rates = slow();
  rates.link.bandwidth = 1e8;
  // Two sums of 5 s each, begun one after the other, and awaited after so many seconds of work.
  const std::vector<ExchangePoint> points = {{.collective = 0, .bytes = 500'000'000},
                                             {.collective = 1, .bytes = 500'000'000},
                                             {.collective = 0, .awaited = true},
                                             {.collective = 1, .awaited = true}};
  const auto waited = [&](std::vector<double> work) {
    return exposed_exchange(ring, points, work, alike({.per_node = 2}, rates)).all();
  };
  CHECK(waited({}) == doctest::Approx(10));
  CHECK(waited({100, 0, 0, 0}) == doctest::Approx(10));  // done before there was anything to sum
  CHECK(waited({0, 0, 8, 0}) == doctest::Approx(6));     // at half its rate
  CHECK(waited({0, 4, 4, 0}) == doctest::Approx(6));
  CHECK(waited({0, 100, 0, 0}) == doctest::Approx(5));  // the first alone can be done
  CHECK(waited({0, 0, 100, 0}) == 0);
  // Of a pass that stands for three.
  const std::vector<ExchangePoint> again = {{.bytes = 500'000'000, .times = 3},
                                            {.awaited = true, .times = 3}};
  CHECK(exposed_exchange(ring, again, {}, alike({.per_node = 2}, rates)).all() ==
        doctest::Approx(15));
}

TEST_CASE("exchange: of a collective in pieces the step waits for one") {
  const ExchangeScheme& ring = *find_exchange_scheme("ring");
  ExchangeRates rates = slow();
  rates.link.bandwidth = 1e8;
  // A sum of 5 s in four pieces, and one that waits for all of it.
  const std::vector<ExchangePoint> points = {{.collective = 0, .bytes = 500'000'000},
                                             {.collective = 0, .awaited = true},
                                             {.collective = 1, .bytes = 500'000'000},
                                             {.collective = 1, .awaited = true}};
  ExchangeByAxis axes = alike({.per_node = 2}, rates);
  axes[static_cast<size_t>(Axis::kData)].pieces = 4;
  const auto waited = [&](double product) {
    return exposed_exchange(ring, points, std::vector<double>{0, 0, product, 0}, axes).all();
  };
  CHECK(waited(0) == doctest::Approx(1.25 + (3.75 + 5) / 4));
  CHECK(waited(100) == doctest::Approx(1.25 + 1.25));  // the other three went beside the product
}

TEST_CASE("exchange: work beside a collective has fewer multiprocessors") {
  const ExchangeScheme& ring = *find_exchange_scheme("ring");
  ExchangeRates rates = slow();
  rates.link.bandwidth = 1e8;
  rates.multiprocessors = .2;
  // A sum of 5 s, of 10 beside work.
  const std::vector<ExchangePoint> points = {{.bytes = 500'000'000}, {.awaited = true}};
  const auto waited = [&](double work) {
    return exposed_exchange(ring, points, std::vector<double>{0, work},
                            alike({.per_node = 2}, rates))
        .all();
  };
  CHECK(waited(0) == doctest::Approx(5));
  // 4 s of work take 5, in which half of the sum is done.
  CHECK(waited(4) == doctest::Approx(1 + 2.5));
  CHECK(waited(8) == doctest::Approx(2));
  CHECK(waited(100) == doctest::Approx(2));  // what is behind the sum has all of them
  // Copies between cards take none.
  CHECK(exposed_exchange(*find_exchange_scheme("device"), points, std::vector<double>{0, 4},
                         alike({.per_node = 2}, rates))
            .all() == doctest::Approx(3));
}

TEST_CASE("exchange: the course says when each collective runs") {
  const ExchangeScheme& ring = *find_exchange_scheme("ring");
  ExchangeRates rates = slow();
  rates.link.bandwidth = 1e8;
  // Of 5 s each; the second is begun when the first has run for 4 s, half of its rate.
  const std::vector<ExchangePoint> points = {{.collective = 0, .bytes = 500'000'000},
                                             {.collective = 1, .bytes = 500'000'000},
                                             {.collective = 0, .awaited = true},
                                             {.collective = 1, .awaited = true, .times = 2}};
  const std::vector<double> work = {1, 4, 2, 0, 10};
  ExchangeCourse course;
  const double waited =
      exposed_exchange(ring, points, work, alike({.per_node = 2}, rates), 1, &course).all();
  REQUIRE(course.spans.size() == 2);
  CHECK(course.spans[0].point == 0);
  CHECK(course.spans[0].begin == doctest::Approx(1));
  CHECK(course.spans[0].end == doctest::Approx(9));  // 3 s are done at 7, of which 2 are waited for
  CHECK(course.spans[0].waited == doctest::Approx(2));
  CHECK(course.spans[1].begin == doctest::Approx(9));
  CHECK(course.spans[1].end == doctest::Approx(19));  // in a pass that runs twice
  CHECK(course.spans[1].waited == doctest::Approx(10));
  CHECK(course.waits == std::vector<double>{0, 0, 2, 10});
  CHECK(waited == doctest::Approx(12));
}

TEST_CASE("exchange: axes have queues of their own") {
  const ExchangeScheme& ring = *find_exchange_scheme("ring");
  ExchangeRates rates = slow();
  rates.link.bandwidth = 1e8;
  // Sums of 5 s: the second begins at once where it is along another axis.
  std::vector<ExchangePoint> points = {{.collective = 0, .bytes = 500'000'000},
                                       {.collective = 1, .bytes = 500'000'000},
                                       {.collective = 0, .awaited = true},
                                       {.collective = 1, .awaited = true}};
  const auto waited = [&](std::vector<double> work) {
    return exposed_exchange(ring, points, work, alike({.per_node = 2}, rates)).all();
  };
  CHECK(waited({}) == doctest::Approx(10));
  points[1].axis = points[3].axis = Axis::kTensor;
  CHECK(waited({}) == doctest::Approx(5));
  CHECK(waited({0, 4, 0, 0}) == doctest::Approx(5));  // the first alone has begun
  CHECK(waited({0, 0, 4, 0}) == doctest::Approx(3));  // both at half their rate
  CHECK(waited({0, 0, 0, 100}) == doctest::Approx(5));
  // Each by its own group.
  ExchangeByAxis axes = alike({.per_node = 2}, rates);
  axes[static_cast<size_t>(Axis::kTensor)].rates.link.bandwidth = 1e9;
  CHECK(exposed_exchange(ring, points, {}, axes).all() == doctest::Approx(5));
  points[2].awaited = false;
  points.resize(2);
  points.push_back({.collective = 1, .awaited = true, .axis = Axis::kTensor});
  CHECK(exposed_exchange(ring, points, {}, axes).all() == doctest::Approx(.5));
}

TEST_CASE("exchange: inner axes are within a machine") {
  Mesh mesh;
  mesh.extent(Axis::kTensor) = 2;
  mesh.extent(Axis::kShard) = 8;
  mesh.extent(Axis::kData) = 4;
  const auto along = [&](Axis axis, int64_t per_node) {
    const ExchangeGroup group = group_along(axis, mesh, per_node);
    return std::pair(group.per_node, group.nodes);
  };
  using Group = std::pair<int64_t, int64_t>;
  CHECK(along(Axis::kTensor, 8) == Group{2, 1});
  CHECK(along(Axis::kShard, 8) == Group{4, 2});
  CHECK(along(Axis::kData, 8) == Group{1, 4});
  CHECK(along(Axis::kData, 64) == Group{4, 1});
  CHECK(along(Axis::kStage, 8) == Group{1, 1});
  // Data parallel alone: as many as there are in each machine.
  Mesh data;
  data.extent(Axis::kData) = 16;
  CHECK(group_along(Axis::kData, data, 8).per_node == 8);
  CHECK(group_along(Axis::kData, data, 8).nodes == 2);
}

TEST_CASE("exchange: of what each device has a part, a link carries all other parts") {
  CHECK(share_of_link(CollectiveKind::kAllReduce, 4) == 1.5);
  CHECK(share_of_link(CollectiveKind::kBroadcast, 4) == 1);
  for (const CollectiveKind kind :
       {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll})
    CHECK(share_of_link(kind, 4) == .75);
}

TEST_CASE("exchange: what goes one way crosses each link once") {
  const std::vector<ExchangePoint> points = {{.kind = CollectiveKind::kBroadcast, .bytes = 1000},
                                             {.awaited = true}};
  CHECK(exposed_exchange(*find_exchange_scheme("data-parallel"), points, {},
                         alike({.per_node = 4}, slow()))
            .all() == doctest::Approx(100));
  ExchangeRates both_ways = slow();
  both_ways.link.one_way = 2 * both_ways.link.bandwidth;
  CHECK(exposed_exchange(*find_exchange_scheme("data-parallel"), points, {},
                         alike({.per_node = 4}, both_ways))
            .all() == doctest::Approx(50));
  CHECK(exchange_seconds(*find_exchange_scheme("ring"), 1000, {.per_node = 4}, both_ways) ==
        exchange_seconds(*find_exchange_scheme("ring"), 1000, {.per_node = 4}, slow()));
}

TEST_CASE("exchange: copies to the host, from it and its own work go on beside all else") {
  const ExchangeScheme& ring = *find_exchange_scheme("ring");
  ExchangeByAxis axes = alike({.per_node = 2}, slow());
  axes[kHostGroup].rates.copy = 100;
  axes[kHostGroup].rates.host_memory = 50;
  std::vector<ExchangePoint> points = {
      {.collective = 0, .kind = CollectiveKind::kToHost, .bytes = 1000},
      {.collective = 1, .kind = CollectiveKind::kFromHost, .bytes = 500},
      {.collective = 0, .awaited = true, .kind = CollectiveKind::kToHost},
      {.collective = 1, .awaited = true, .kind = CollectiveKind::kFromHost}};
  const auto waits = [&](const std::vector<double>& work) {
    return exposed_exchange(ring, points, work, axes);
  };
  CHECK(waits({}).host == doctest::Approx(10));  // both at once
  CHECK(waits({}).exchange == 0);
  CHECK(waits({0, 0, 4, 0}).host == doctest::Approx(6));  // kernels do not slow them
  points[1].kind = points[3].kind = CollectiveKind::kToHost;
  CHECK(waits({}).host == doctest::Approx(15));
  points[1].kind = points[3].kind = CollectiveKind::kOnHost;
  CHECK(waits({0, 0, 12, 0}).host == 0);
  points[1].bytes = 1000;
  CHECK(waits({0, 0, 12, 0}).host == doctest::Approx(8));
}

}  // namespace plimsoll
