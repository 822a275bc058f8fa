// What is described once is written, read back and has a schema.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "graph/json/json_fields.h"
#include "graph/json/read_fields.h"
#include "graph/json/schema_fields.h"
#include "tests/support/schema_fault.h"

using nlohmann::json;
using plimsoll::test::schema_fault;

namespace plimsoll::fields_test {
namespace {

enum class Colour : uint8_t { kRed, kGreen };
std::string_view name(Colour colour) { return colour == Colour::kRed ? "red" : "green"; }
constexpr std::array<Colour, 2> values_of(Colour) { return {Colour::kRed, Colour::kGreen}; }

struct Lamp {
  Colour colour = Colour::kRed;
  int64_t watts = 0;
};

void describe(Fields& f, Lamp& lamp) {
  f("colour", lamp.colour);
  f("watts", lamp.watts, {.meaning = "at most", .low = 1, .high = 100});
  f("bright", lamp.watts > 50);
}

struct House {
  std::string street, city;
  std::optional<int64_t> rooms;
  double heat = 0;  // kW
  Range years{1900, 1910};
  std::vector<Lamp> lamps;
  std::map<std::string, int64_t> keys;
  bool let = false;
  int64_t rent = 0, price = 0;
};

void describe(Fields& f, House& house) {
  f("street", house.street);
  f("city", house.city, {.null_where = house.city.empty()});
  f("rooms", house.rooms, {.absent_where = !house.rooms});
  f.scaled("heat_w", house.heat, 1e3, {.low = 0});
  f("years", house.years);
  f("lamps", house.lamps);
  f("keys", house.keys, {.any_sign = true});
  f.either(
      "rent", house.rent > 0, [&] { f("rent", house.rent); }, [&] { f("price", house.price); });
}

std::string written(House house) {
  JsonWriter out;
  JsonFields(out).visit(house);
  return out.take();
}

const House kHouse{.street = "High St",
                   .city = "",
                   .rooms = {},
                   .heat = 2.5,
                   .years = {1900, 1910},
                   .lamps = {{Colour::kGreen, 60}},
                   .keys = {{"back", -1}, {"front", 2}},
                   .let = false,
                   .rent = 0,
                   .price = 7};
constexpr const char* kText =
    R"({"street":"High St","city":null,"heat_w":2500,"years":[1900,1910],)"
    R"("lamps":[{"colour":"green","watts":60,"bright":true}],"keys":{"back":-1,"front":2},)"
    R"("price":7})";

std::string schema() {
  return json_schema("a house", "As it stands.", {[](Fields& f) {
                       House any;
                       f.visit(any);
                     }});
}

// The text with `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kText;
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string first_fault(const std::string& text) {
  const auto house = read_described<House>(text, "house.json");
  return house ? "" : house.error().front().code;
}

}  // namespace

TEST_CASE("described members are written in their order") {
  CHECK(written(kHouse) == kText);
  House other = kHouse;
  other.city = "Bath";
  other.rooms = 3;
  other.rent = 5;
  const json document = json::parse(written(other));
  CHECK(document["city"] == "Bath");
  CHECK(document["rooms"] == 3);
  CHECK(document["rent"] == 5);
  CHECK_FALSE(document.contains("price"));
  other.heat = std::numeric_limits<double>::quiet_NaN();
  CHECK(json::parse(written(other))["heat_w"].is_null());
}

TEST_CASE("what was written is read back, and what is missing, wrong or unknown is refused") {
  const auto house = read_described<House>(kText, "house.json");
  REQUIRE(house);
  CHECK(written(*house) == kText);
  CHECK(house->heat == 2.5);
  CHECK(house->lamps.front().colour == Colour::kGreen);
  CHECK(first_fault(changed("\"street\":\"High St\",", "")) == "E306");
  CHECK(first_fault(changed("\"High St\"", "1")) == "E311");
  CHECK(first_fault(changed("\"street\"", "\"strete\":1,\"street\"")) == "E304");
  CHECK(first_fault(changed("\"green\"", "\"greene\"")) == "E313");
  CHECK(first_fault(changed(":60", ":101")) == "E312");
  CHECK(first_fault(changed(":60", ":0")) == "E312");
  CHECK(first_fault(changed("2500", "-1")) == "E312");
  CHECK(first_fault(changed("[1900,1910]", "[1900]")) == "E312");
  CHECK(first_fault(changed("[1900,1910]", "null")) == "E311");
  CHECK(first_fault(changed("\"back\":-1", "\"back\":\"x\"")) == "E311");
  CHECK(first_fault(changed("\"watts\"", "\"whats\":1,\"watts\"")) == "E304");
  CHECK(first_fault(changed(",\"price\":7", "")) == "E306");
  CHECK(first_fault(changed("\"price\":7", "\"price\":7,\"rent\":7")) == "E304");
  CHECK(first_fault(changed(",\"bright\":true", "")) == "");  // of other members
  const auto wrong = read_described<House>(changed("\"green\"", "\n  \"blue\""), "house.json");
  REQUIRE(!wrong);
  CHECK(wrong.error().front().place.line == 2);
}

TEST_CASE("a schema takes what is written and refuses what is not") {
  const json rules = json::parse(schema());
  CHECK(rules["title"] == "a house");
  CHECK(rules["properties"]["lamps"]["items"]["properties"]["watts"]["description"] == "at most");
  const auto fault = [&](const std::string& text) {
    return schema_fault(rules, json::parse(text));
  };
  CHECK(fault(kText) == "");
  CHECK(fault(changed("\"city\":null", "\"city\":\"Bath\",\"rooms\":3")) == "");
  CHECK(fault(changed("\"price\"", "\"rent\"")) == "");
  for (const auto& change : std::vector<std::pair<std::string, std::string>>{
           {"\"street\":\"High St\",", ""},
           {"\"High St\"", "null"},
           {"\"city\":null", "\"city\":null,\"rooms\":null"},
           {"\"green\"", "\"blue\""},
           {":60", ":101"},
           {":60", ":0"},
           {":60", ":1.5"},
           {"2500", "-1"},
           {"[1900,1910]", "[1900]"},
           {"[1900,1910]", "[1900,1910,1920]"},
           {"[1900,1910]", "[-1,1910]"},
           {"\"back\":-1", "\"back\":\"x\""},
           {",\"price\":7", ""},
           {"\"price\":7", "\"price\":7,\"rent\":7"},
           {"\"price\":7", "\"price\":7,\"more\":1"}}) {
    CAPTURE(change.first);
    CAPTURE(change.second);
    CHECK(fault(changed(change.first, change.second)) != "");
  }
}

}  // namespace plimsoll::fields_test
