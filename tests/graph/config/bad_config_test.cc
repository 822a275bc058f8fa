// The catalogue of bad configs: each ends in a named error at the line where it stands.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/config/model_config.h"

namespace plimsoll {
namespace {

struct Bad {
  const char* what;
  const char* code;
  int line;
  std::string text;
};

// Lines 1 to 3 are the head; the layers begin at line 4. `top` may bring its own version.
std::string net(const std::string& layers, const std::string& top = "") {
  const char* version = top.find("\"version\"") == std::string::npos ? "\"version\": 1, " : "";
  return fmt::format(R"({{"schema": "plimsoll.model-config", {}"name": "net",{}
"parameters": {{"n": 4}},
"inputs": [{{"name": "x", "shape": ["batch", 8, 14, 14]}}], "layers": [
{}]}})",
                     version, top, layers);
}

std::string conv(const std::string& keys) {
  return net(R"({"name": "c", "type": "conv2d", "out": 4, "kernel": 3,)" + keys + "}");
}

std::string nested(int depth) {
  std::string open, close;
  for (int i = 0; i < depth; ++i) {
    open += R"({"type": "sequence", "layers": [)";
    close += "]}";
  }
  return net(open + close);
}

const std::vector<Bad>& catalogue() {
  static const std::vector<Bad> kBad = {
      {"B4 duplicate key", "E303", 4, net(R"({"type": "relu", "type": "tanh"})")},
      {"B5 unknown key of a layer", "E304", 4, conv(R"("strid": 2)")},
      {"B5 unknown key at the top", "E304", 1, net(R"({"type": "relu"})", R"( "extra": 1,)")},
      {"B6 missing key", "E306", 4, net(R"({"type": "conv2d", "out": 4})")},
      {"B6 missing type", "E306", 4, net(R"({"name": "a"})")},
      {"B7 true for a number", "E311", 4, conv(R"("stride": true)")},
      {"B7 a real for a number", "E311", 4, conv(R"("stride": 2.5)")},
      {"B7 null for a number", "E311", 4, conv(R"("stride": null)")},
      {"B7 an object for a list", "E311", 4, net(R"({"type": "sequence", "layers": {}})")},
      {"B7 a list for a flag", "E311", 4, conv(R"("bias": [true])")},
      {"B7 a number for a layer", "E311", 4, net("7")},
      {"B8 zero", "E312", 4, conv(R"("stride": 0)")},
      {"B8 negative", "E312", 4, conv(R"("padding": -1)")},
      {"B8 2^31", "E312", 4, conv(R"("stride": 2147483648)")},
      {"B8 2^64", "E312", 4, conv(R"("stride": 18446744073709551616)")},
      {"B8 an extent of 2^60", "E312", 4,
       net(R"({"type": "conv2d", "out": 1152921504606846976, "kernel": 3})")},
      {"B8 1e400", "E312", 4, net(R"({"type": "dropout", "rate": 1e400})")},
      {"B8 a rate of 1", "E312", 4, net(R"({"type": "dropout", "rate": 1})")},
      {"B8 a rate above 1", "E312", 4, net(R"({"type": "lstm", "hidden": 4, "dropout": 1.5})")},
      {"B8 an expression below 1", "E312", 4,
       net(R"({"type": "conv2d", "out": "n-100", "kernel": 3})")},
      {"B8 an expression of 0", "E312", 4, net(R"({"type": "conv2d", "out": "n-4", "kernel": 3})")},
      {"B8 an expression beyond 64 bits", "E312", 4,
       net(R"({"type": "conv2d", "out": "batch*n*2305843009213693952", "kernel": 3})")},
      {"B8 padding that leaves nothing", "E231", 4,
       net(R"({"type": "pad", "pads": [0, 0, -7, 0, 0, 0, -7, 0]})")},
      {"an attribute the operator does not have", "E304", 4,
       net(R"({"type": "onnx", "op": "Relu", "attributes": {"in_place": 1}})")},
      {"B9 unknown choice", "E313", 4, net(R"({"type": "gelu", "approximate": "tan"})")},
      {"B9 unknown layer type", "E313", 4, net(R"({"type": "convolution2d"})")},
      {"B11 newer version", "E330", 1, net(R"({"type": "relu"})", R"( "version": 3,)")},
      {"B11 other schema", "E330", 1, R"({"schema": "plimsoll.plan", "name": "n"})"},
      {"B12 a list at the top", "E331", 1, "[]"},
      {"B12 a string at the top", "E331", 1, R"("net")"},
      {"B12 empty", "E331", 1, ""},
      {"B13 a later layer", "E341", 4,
       net(R"({"type": "relu", "input": "late"}, {"name": "late", "type": "relu"})")},
      {"B13 a missing layer", "E341", 4, net(R"({"type": "relu", "input": "nowhere"})")},
      {"B13 itself", "E341", 4, net(R"({"name": "a", "type": "relu", "input": "a"})")},
      {"B13 an output there is not", "E341", 4, net(R"({"type": "relu", "input": "x:1"})")},
      {"B14 in differs", "E342", 4, conv(R"("in": 3)")},
      {"B14 wrong rank", "E342", 4,
       net(R"({"type": "flatten"}, {"type": "conv2d", "out": 4, "kernel": 3})")},
      {"B14 kernel too large", "E342", 4, net(R"({"type": "conv2d", "out": 4, "kernel": 15})")},
      {"B14 groups do not divide", "E342", 4, conv(R"("groups": 3)")},
      {"B14 shapes do not add", "E342", 5,
       net(R"({"name": "c", "type": "conv2d", "out": 4, "kernel": 3},
{"type": "add", "inputs": ["c", "x"]})")},
      {"B15 a million layers", "E802", 4,
       net(R"({"type": "repeat", "count": 1000000, "layers": [{"type": "relu"}]})")},
      {"B15 repeats in repeats", "E802", 4,
       net(R"({"type": "repeat", "count": 1000, "layers": [{"type": "repeat", "count": 1000, "layers": [{"type": "identity"}]}]})")},
      {"B18 two values", "E305", 5, net(R"({"type": "relu"})") + "\n{}"},
      {"B20 a key of a megabyte", "E807", 4,
       net("{\"" + std::string((1u << 20) + 1, 'k') + "\": 1}")},
      {"B21 a placeholder is a word like others", "E340", 4,
       net(R"({"name": "${HOME}", "type": "relu"})")},
      {"a name taken", "E340", 5, net(R"({"name": "a", "type": "relu"},
{"name": "a", "type": "relu"})")},
      {"an unknown parameter", "E343", 4, conv(R"("stride": "m")")},
      {"a loop over what is no size", "E343", 4, net(R"({"type": "relu", "loop": "m"})")},
      {"a broken expression", "E344", 4, conv(R"("stride": "2*")")},
      {"an uneven division", "E345", 4, conv(R"("stride": "n/3")")},
      {"batch decides the structure", "E346", 4, conv(R"("stride": "batch")")},
      {"too few inputs", "E348", 4, net(R"({"type": "add"})")},
      {"input and inputs", "E348", 4, net(R"({"type": "relu", "input": "x", "inputs": ["x"]})")},
      {"count and each", "E348", 4,
       net(R"({"type": "repeat", "count": 2, "each": [1], "layers": []})")},
      {"an unknown operator", "E210", 4, net(R"({"type": "onnx", "op": "FlashThing"})")},
      {"a block inside itself", "E803", 2,
       net(R"({"type": "block", "block": "b"})",
           "\n\"blocks\": {\"b\": {\"layers\": [{\"type\": \"block\", \"block\": \"b\"}]}},")},
      {"overflow", "E312", 4, net(R"({"type": "reshape", "shape": [4611686018427387904, 4]})")},
      {"no outputs", "E306", 1,
       R"({"schema": "plimsoll.model-config", "version": 1, "name": "n", "inputs": [], "layers": []})"},
      {"an unknown network", "E341", 3,
       R"({"schema": "plimsoll.model-config", "version": 1, "name": "n", "networks": {
"g": {"inputs": [{"name": "x", "shape": [1]}], "layers": [{"type": "relu"}]}}, "schedule": [
{"train": "h"}]})"},
  };
  return kBad;
}

}  // namespace

TEST_CASE("bad configs end in a named error at their line") {
  for (const Bad& bad : catalogue()) {
    CAPTURE(bad.what);
    Diagnostics warnings;
    const auto config = load_model_config(bad.text, "net.json", {}, warnings);
    REQUIRE_FALSE(config);
    const Diagnostic& first = config.error().front();
    CAPTURE(first.message);
    CHECK(first.code == bad.code);
    CHECK(first.place.line == bad.line);
    CHECK(first.place.file == "net.json");
  }
}

// One rule, whoever says the batch.
TEST_CASE("a config's batch is a whole number of at least 1") {
  const auto read = [](const std::string& batch, const config::Settings& set,
                       Diagnostics& warnings) {
    return load_model_config(
        fmt::format(R"({{"schema": "plimsoll.model-config", "version": 1, "name": "net",
"parameters": {{"batch": {}}},
"inputs": [{{"name": "x", "shape": ["batch", 4]}}], "layers": [{{"type": "relu"}}]}})",
                    batch),
        "net.json", {.set = set}, warnings);
  };
  const std::vector<std::pair<std::string, std::string>> kBad = {
      {"-8", "E312"},       {"0", "E312"},    {"2147483649", "E312"},
      {"1e400", "E312"},    {"64.5", "E311"}, {"[64]", "E311"},
      {"true", "E311"},     {"null", "E311"}, {R"({"one_of": ["a"]})", "E311"},
      {"\"2*-4\"", "E312"},
  };
  Diagnostics warnings;
  for (const auto& [batch, code] : kBad) {
    const std::string written = batch;
    CAPTURE(written);
    const auto config = read(batch, {}, warnings);
    REQUIRE_FALSE(config);
    CHECK(config.error().front().code == code);
    CHECK(config.error().front().place.line == 2);
  }
  CHECK(warnings.empty());
  for (const std::string set : {"0", "-8", "2147483649", "64.0", "many"}) {
    CAPTURE(set);
    const auto config = read("32", {{"batch", set}}, warnings);
    REQUIRE_FALSE(config);
    CHECK(config.error().front().code == "E134");
  }
  const auto exact = read("64.0", {}, warnings);
  REQUIRE(exact);
  CHECK(exact->networks.front().graph.defaults.at("batch") == 64);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().code == "W301");
}

TEST_CASE("lists nest 29 deep, no deeper than the reader goes") {
  Diagnostics warnings;
  CHECK(bool(load_model_config(nested(29), "net.json", {}, warnings)));
  const auto deep = load_model_config(nested(40), "net.json", {}, warnings);
  REQUIRE_FALSE(deep);
  CHECK(deep.error().front().code == "E806");
}

TEST_CASE("a mismatch names both layers and their lines") {
  Diagnostics warnings;
  const auto config = load_model_config(net(R"({"name": "flat", "type": "flatten"},
{"name": "fc", "type": "linear", "in": 512, "out": 10})"),
                                        "net.json", {}, warnings);
  REQUIRE_FALSE(config);
  const Diagnostic& fault = config.error().front();
  CHECK(fault.code == "E342");
  CHECK(fault.place.line == 5);
  CHECK(fault.message ==
        "layer 'fc' (line 5) has \"in\": 512, but its input is 'flat' (line 4) f32[batch,1568]");
}

TEST_CASE("64.0 is taken as 64, with a warning") {
  Diagnostics warnings;
  const auto config = load_model_config(net(R"({"type": "relu"})", R"( "version": 1.0,)"),
                                        "net.json", {}, warnings);
  REQUIRE(config);
  REQUIRE_FALSE(warnings.empty());
  CHECK(warnings.front().code == "W301");
}

TEST_CASE("names that look like placeholders are taken as they are") {
  Diagnostics warnings;
  const auto config = load_model_config(
      R"({"schema": "plimsoll.model-config", "version": 1, "name": "${HOME}", "inputs": [{"name": "x", "shape": [1]}],
          "layers": [{"type": "relu"}]})",
      "net.json", {}, warnings);
  REQUIRE(config);
  CHECK(config->name == "${HOME}");
}

}  // namespace plimsoll
