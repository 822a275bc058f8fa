#include "graph/record/record.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace plimsoll;

namespace {

// y = x w, its gradient, and nothing else: of a batch of 4.
nlohmann::json record_of_product() {
  return nlohmann::json::parse(R"({
    "schema": "plimsoll.record", "version": 1, "torch": "2.9.0", "capability": [8, 0],
    "tf32": [true, false], "symbols": {"batch": 4}, "multiples": {}, "fixed": null,
    "name": "Net", "stated": [], "modules": ["body"], "nodes": [[0, "mm"]],
    "types": [["float32", ["#0", 16], ""], ["float32", [16, 8], "turned"], ["float32", ["#0", 8], ""]],
    "calls": [{"operator": "mm", "reads": [0, 1], "writes": [2], "facts": {}},
              {"operator": "mm", "reads": [0, 2], "writes": [1], "facts": {}}],
    "storages": [[512, "parameter", true, 0], ["#1", "input", true, 0], ["#2", "feature_map", false, 0],
                 [512, "gradient", false, 0]],
    "events": [["+", 2, "forward", 0], ["!", 0, "forward", 0], ["+", 3, "backward", 0],
               ["!", 1, "backward", 0], ["-", 2, "backward", 0], ["-", 3, "update", -1]],
    "saved": [[2, 0]], "end_of_forward": 2, "parameters": [["body.weight", 1, true]],
    "inputs": [["x", 0]], "sizes": [[1, [1, 1]], [1, [64, 1]], [2, [64, 1]]]
  })");
}

// The same on rank 3 of 8: a gather along one axis, a sum along the other and one of all ranks.
nlohmann::json record_of_rank() {
  auto record = record_of_product();
  record["version"] = 2;
  record["world"] = {8, 3};
  record["groups"] = nlohmann::json::parse(R"([["fsdp", 2, 4], ["tp", 1, 2], ["", 1, 8]])");
  record["collectives"] = nlohmann::json::parse(
      R"([["all_gather", 0, 512], ["all_reduce", 1, "#2"], ["all_reduce", 2, 8]])");
  record["late"] = {2};
  auto events = nlohmann::json::parse(
      R"([["i", 0, "forward", 0], ["+", 2, "forward", 0], ["w", 0, "forward", 0]])");
  for (size_t i = 1; i < record["events"].size(); ++i) events.push_back(record["events"][i]);
  for (int i : {1, 2}) {
    events.push_back({"i", i, "update", -1});
    events.push_back({"w", i, "update", -1});
  }
  record["events"] = events;
  return record;
}

Result<Record> read(const nlohmann::json& record) { return read_record(record.dump(), "r.json"); }

std::string code_of(const nlohmann::json& record) {
  const auto found = read(record);
  return found ? "" : found.error().front().code;
}

}  // namespace

TEST_CASE("record: storages, calls and phases become a step") {
  const auto record = read(record_of_product());
  REQUIRE(record);
  const Step& step = record->step;
  CHECK(step.buffers[1].bytes == Dim::symbol("batch") * 64);
  CHECK(step.buffers[2].bytes.evaluate({{"batch", 4}}) == 128);
  CHECK(step.buffers[0].resident);
  REQUIRE(step.kernels.size() == 2);
  const auto& product = std::get<GemmProblem<Dim>>(step.kernels[0].problem);
  CHECK(product.m == Dim::symbol("batch"));
  CHECK(product.n == Dim(8));
  CHECK(product.k == Dim(16));
  CHECK(product.b_t);
  CHECK(step.kernels[0].tensor_core);
  CHECK(step.kernels[1].pass == Pass::kBackward);
  CHECK(step.end_of_forward == 2);
  // A gradient is a temporary until it is its parameter's.
  CHECK(step.events[3].kind == Event::Kind::kBecomeGradient);
  REQUIRE(step.saved.size() == 1);
  CHECK(step.saved[0].buffer == 2);
  CHECK(record->graph.nodes[0].module == "body");
}

TEST_CASE("record: an axis may count from the end") {
  auto text = record_of_product();
  const auto op = [&](int axis) {
    text["calls"][0] = {{"operator", "sum"},
                        {"reads", nlohmann::json::array({0})},
                        {"writes", nlohmann::json::array({2})},
                        {"facts", {{"dim", nlohmann::json::array({axis})}}}};
    const auto record = read(text);
    REQUIRE(record);
    return record->step.kernels[0].op;
  };
  CHECK(op(-1) == "sum");
  CHECK(op(1) == "sum");
  CHECK(op(-2) == "column_sum");
  CHECK(op(0) == "column_sum");
}

TEST_CASE("record: a size may count in multiples of a symbol") {
  auto text = record_of_product();
  text["sizes"][2] = nlohmann::json::parse("[[1, 32], [4, 1], [8, 0]]");
  const auto record = read(text);
  REQUIRE(record);
  CHECK(record->step.buffers[2].bytes.evaluate({{"batch", 33}}) == 4 * 64 + 8);
  CHECK(record->step.buffers[2].bytes.evaluate({{"batch", 32}}) == 4 * 32 + 8);
  text["sizes"][2] = nlohmann::json::parse("[[1, 0], [4, 1]]");
  CHECK(code_of(text) == "E312");
  text["sizes"][2] = nlohmann::json::parse("[[1], [4, 1]]");
  CHECK(code_of(text) == "E281");
}

TEST_CASE("record: a size is never below 0") {
  auto text = record_of_product();
  text["sizes"][2] = nlohmann::json::parse("[1, [-64, 1]]");
  const auto record = read(text);
  REQUIRE(record);
  CHECK(record->step.buffers[2].bytes.evaluate({{"batch", 4}}) == 0);
}

TEST_CASE("record: what contradicts itself is refused with its place") {
  const auto with = [](const char* path, const char* value) {
    auto record = record_of_product();
    record[nlohmann::json::json_pointer(path)] = nlohmann::json::parse(value);
    return code_of(record);
  };
  CHECK(with("/events/0/1", "9") == "E281");                         // no such storage
  CHECK(with("/events/0/1", "0") == "E281");                         // a resident one
  CHECK(with("/events/4/0", "\"+\"") == "E281");                     // allocated twice
  CHECK(with("/events/5", "[\"-\", 2, \"update\", -1]") == "E281");  // freed twice
  CHECK(with("/events/1/1", "7") == "E281");                         // no such call
  CHECK(with("/calls/0/reads/0", "3") == "E281");                    // no such type
  CHECK(with("/types/0/1/0", "\"#3\"") == "E281");                   // no such size
  CHECK(with("/types/0/0", "\"float5\"") == "E281");                 // no such element
  CHECK(with("/storages/2/0", "-1") == "E312");
  CHECK(with("/events/0/3", "1") == "E312");   // no such node
  CHECK(with("/sizes/0/1/1", "5") == "E312");  // a power beyond what is recorded
  CHECK(with("/sizes/0/0", "0") == "E312");    // a divisor
  CHECK(with("/symbols", "{\"batch\": 0}") == "E312");
  CHECK(with("/saved/0", "[2]") == "E281");
  CHECK(with("/version", "6") == "E330");
  CHECK(with("/version", "3") == "E306");     // its settings
  CHECK(with("/settings", "{}") == "E304");   // from version 3 on
  CHECK(with("/world", "[8, 0]") == "E304");  // from version 2 on
  CHECK(with("/at_first", "[]") == "E304");   // from version 5 on
  CHECK(with("/schema", "\"plimsoll.plan\"") == "E330");
  CHECK(with("/more", "1") == "E304");
}

TEST_CASE("record: it may say for which settings it was made") {
  auto text = record_of_product();
  text["version"] = 3;
  text["settings"] = {{"optimizer", {"adamw"}}, {"freeze", {"body.*", "head.*"}}};
  auto record = read(text);
  REQUIRE(record);
  CHECK(record->settings.at("optimizer") == std::vector<std::string>{"adamw"});
  CHECK(record->settings.at("freeze").size() == 2);
  CHECK(record->mesh.rank == 0);
  text["settings"]["optimizer"] = "adamw";
  CHECK(code_of(text) == "E311");
  text = record_of_rank();
  text["version"] = 3;
  text["settings"] = nlohmann::json::object();
  record = read(text);
  REQUIRE(record);
  CHECK(record->mesh.rank == 3);
}

TEST_CASE("record: collectives lie along the axes of their groups") {
  const auto record = read(record_of_rank());
  REQUIRE(record);
  CHECK(record->mesh.extent(Axis::kTensor) == 2);
  CHECK(record->mesh.extent(Axis::kShard) == 4);
  CHECK(record->mesh.rank == 3);
  const Step& step = record->step;
  REQUIRE(step.collectives.size() == 4);  // the last one is told along both axes
  CHECK(step.collectives[0].kind == CollectiveKind::kAllGather);
  CHECK(step.collectives[0].axis == Axis::kShard);
  CHECK(step.collectives[0].bytes == Dim(512));
  CHECK(step.collectives[1].axis == Axis::kTensor);
  CHECK(step.collectives[2].axis == Axis::kTensor);
  CHECK(step.collectives[3].axis == Axis::kShard);
  CHECK(step.events[0].kind == Event::Kind::kIssue);
  CHECK(step.events[2].kind == Event::Kind::kAwait);
  CHECK(step.buffers[2].late);
}

TEST_CASE("record: what one rank sends another, and streams that each have memory apart") {
  auto text = record_of_rank();
  text["version"] = 4;
  text["settings"] = nlohmann::json::object();
  text["collectives"][0][0] = "send";
  text["collectives"][1][0] = "receive";
  text["storages"][2][3] = 7;
  const auto record = read(text);
  REQUIRE(record);
  CHECK(record->step.collectives[0].kind == CollectiveKind::kSendReceive);
  CHECK(record->step.collectives[1].kind == CollectiveKind::kSendReceive);
  CHECK(record->step.buffers[1].stream == Stream::kCompute);
  CHECK(record->step.buffers[2].stream == static_cast<Stream>(1));  // the first beside it
  auto storages = text["storages"];
  for (int i = 0; i < 300; ++i) {
    storages.push_back(text["storages"][0]);
    storages.back()[3] = i;
  }
  text["storages"] = storages;
  CHECK(code_of(text) == "E281");  // more streams than allocators know
}

TEST_CASE("record: what the first step alone takes before its first kernel") {
  auto text = record_of_rank();
  text["version"] = 5;
  text["settings"] = nlohmann::json::object();
  CHECK(code_of(text) == "E306");
  text["at_first"] = nlohmann::json::parse(R"([["#2", 0], [4096, 7]])");
  const auto record = read(text);
  REQUIRE(record);
  const auto& passing = record->step.at_first;
  REQUIRE(passing.size() == 2);
  CHECK(passing[0].bytes == record->step.collectives[1].bytes);
  CHECK(passing[0].stream == Stream::kCompute);
  CHECK(passing[1].bytes == Dim(4096));
  CHECK(passing[1].stream == static_cast<Stream>(1));
  for (const char* row : {"[4096]", "[4096, -1]", "[-1, 0]", "[\"#9\", 0]", "4096"}) {
    CAPTURE(row);
    text["at_first"][0] = nlohmann::json::parse(row);
    CHECK(code_of(text) != "");
  }
}

TEST_CASE("record: a kernel over lists is launched as often as its tensors need") {
  auto text = record_of_product();
  text["types"].push_back(
      {"float32", {1024, 65536}, ""});  // 1,024 chunks, of which a launch takes 320
  text["calls"][1] = {{"operator", "_foreach_add_"},
                      {"reads", {3, 3}},
                      {"writes", {3}},
                      {"facts", nlohmann::json::object()}};
  text["events"][3][2] = "update";
  const auto record = read(text);
  REQUIRE(record);
  std::vector<Event> launches;
  for (const Event& e : record->step.events) {
    if (e.kind == Event::Kind::kLaunch && e.phase == Phase::kUpdate) launches.push_back(e);
  }
  REQUIRE(launches.size() == 4);
  CHECK(launches[0].dispatched);
  CHECK(!launches[1].dispatched);
  CHECK(launches[1].id == launches[3].id);
  Dim read;
  for (const Event& e : launches) read += record->step.kernels[e.id].read;
  CHECK(read == Dim(int64_t{2} * 1024 * 65536 * 4));
}

TEST_CASE("record: ranks that tell each other nothing have samples of their own") {
  auto record = record_of_rank();
  record["groups"].erase(0);  // of four: all are then of two, or of all
  record["collectives"] = nlohmann::json::parse(
      R"([["all_reduce", 0, 8], ["all_reduce", 0, 8], ["all_reduce", 1, 8]])");
  const auto found = read(record);
  REQUIRE(found);
  CHECK(found->mesh.extent(Axis::kData) == 4);
}

TEST_CASE("record: a world that cannot be is refused") {
  const auto with = [](const char* path, const char* value) {
    auto record = record_of_rank();
    record[nlohmann::json::json_pointer(path)] = nlohmann::json::parse(value);
    return code_of(record);
  };
  CHECK(with("/world", "[8, 8]") == "E281");
  CHECK(with("/world", "[8]") == "E281");
  CHECK(with("/world", "[12, 0]") == "E281");          // no multiple of the groups
  CHECK(with("/groups/0/1", "3") == "E281");           // not beside the other group
  CHECK(with("/groups/0/0", "\"tensor\"") == "E281");  // no such axis
  CHECK(with("/groups/0/2", "1") == "E312");
  CHECK(with("/groups/0/2", "99999999999") == "E312");
  CHECK(with("/groups/0", "[\"fsdp\", 2]") == "E281");
  CHECK(with("/collectives/0/1", "3") == "E281");  // no such group
  CHECK(with("/collectives/0/0", "\"gather\"") == "E281");
  CHECK(with("/events/0/1", "1") == "E281");      // waited for before it begins
  CHECK(with("/events/2/0", "\"i\"") == "E281");  // begun twice
  CHECK(with("/late", "[9]") == "E281");
  for (const char* key : {"world", "groups", "collectives", "late"}) {
    auto record = record_of_rank();
    record.erase(key);
    CHECK(code_of(record) != "");
  }
}

TEST_CASE("record: every key is wanted") {
  const auto whole = record_of_product();
  for (auto member = whole.begin(); member != whole.end(); ++member) {
    CAPTURE(member.key());
    auto record = whole;
    record.erase(member.key());
    CHECK(code_of(record) != "");
  }
}
