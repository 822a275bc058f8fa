// Rows D1 to D3, D8 to D10: names of a file, and arguments, that would write to a terminal, a CI
// log or a shell, through every verb and view.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/base/escape.h"
#include "graph/json/writer.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;
using plimsoll::json_string;
using namespace std::string_literals;

namespace {

const std::vector<std::string> kHostile = {
    "a\n::error file=x::b",
    "\x1b[2J\x1b]0;x\x07\r\b",
    "\x1b]52;c;aGk=\x07\xC2\x9B",
    "\xE2\x80\xAE gnp.exe \xE2\x81\xA6",
    "\xFF\xC3(",
    "</script><img src=x>",
    "$(rm x) `rm y` 'z'",
    std::string(4000, 'n'),
};

// What was written is lines of harmless text: escaping them once more changes nothing.
void check_harmless(const Ran& ran) {
  CHECK(ran.status < 70);
  for (const std::string* text : {&ran.out, &ran.err}) {
    std::istringstream in(*text);
    for (std::string line; std::getline(in, line);) {
      CAPTURE(line);
      CHECK(plimsoll::escaped(line) == line);
      CHECK_FALSE(line.starts_with("::"));
    }
  }
}

// The text of a view and its JSON, which must be JSON.
void check_views(std::vector<std::string> arguments) {
  check_harmless(run_plimsoll(arguments));
  arguments.insert(arguments.end(), {"--json", "--error-format", "json"});
  const Ran ran = run_plimsoll(arguments);
  check_harmless(ran);
  std::istringstream in(ran.err);
  for (std::string line; std::getline(in, line);) CHECK(nlohmann::json::accept(line));
  CHECK((ran.out.empty() || nlohmann::json::accept(ran.out)));
}

// Two convolutions and a dimension, all named `name`; with `op`, a node of that kind in between.
std::string network(const std::string& name, std::string_view op = "Relu",
                    std::initializer_list<Proto> attributes = {}, Extent last = 8) {
  GraphParts parts;
  parts.inputs = {value(name + "x", {"batch", 3, 8, last})};
  parts.outputs = {value(name + "y", {})};
  parts.initializers = {tensor(name + "w", 1, {4, 3, 3, 3})};
  parts.nodes = {node("Conv", {name + "x", name + "w"}, {name + "a"}, {}, name),
                 node(op, {name + "a"}, {name + "y"}, attributes, name)};
  return model(graph(parts, name)).bytes();
}

}  // namespace

TEST_CASE("cli: hostile names of a model, in every view of it") {
  if (skipped()) return;
  const Scratch scratch;
  for (const std::string& name : kHostile) {
    CAPTURE(plimsoll::escaped(name));
    const std::string path = scratch.write("m.onnx", network(name));
    const std::vector<std::string> common = {path, "--gpu", "l4", "--batch", "2", "--loss", "sum"};
    const auto with = [&](std::vector<std::string> verb, std::vector<std::string> more = {}) {
      verb.insert(verb.end(), common.begin(), common.end());
      verb.insert(verb.end(), more.begin(), more.end());
      return verb;
    };
    const Ran fine = run_plimsoll(with({"estimate"}));
    CAPTURE(fine.err);
    CHECK(fine.status == 0);
    check_views(with({"estimate"}, {"--layers", "--why", "--kernels"}));
    check_harmless(run_plimsoll(with({"estimate"}, {"--depth", "1"})));
    check_views(with({"compare"}, {"--gpu", "t4"}));
    check_views(with({"max-batch"}));
    check_views(with({"explain", name}));
    check_views(with({"explain", "Relu"}));
    check_harmless(
        run_plimsoll(with({"estimate"}, {"--trace", scratch.path("t.json"), "--force"})));
    CHECK(nlohmann::json::accept(detail::text_of(scratch.path("t.json"))));
    // Each of these is refused, or warned of, by the name.
    check_views({"estimate", scratch.write("d.onnx", network(name, "Relu", {}, name.c_str())),
                 "--gpu", "l4"});
    check_views(with({"estimate"}, {"--lengths", name + "=3:1,4:1"}));
    check_views({"estimate", scratch.write("o.onnx", network(name, name)), "--gpu", "l4"});
    check_views({"estimate",
                 scratch.write("e.onnx",
                               network(name, "Einsum",
                                       {Proto().text(1, "equation").text(4, name).number(20, 3)})),
                 "--gpu", "l4", "--batch", "2"});
    check_views({"estimate",
                 scratch.write("f.onnx", network(name, "Flatten", {attribute("axis", 77)})),
                 "--gpu", "l4", "--batch", "2"});
  }
}

TEST_CASE("cli: hostile arguments, files and folders") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string sound = scratch.write("m.onnx", model(graph(small_graph())).bytes());
  for (const std::string& name : kHostile) {
    CAPTURE(plimsoll::escaped(name));
    for (const char* flag : {"--gpu", "--batch", "--dim", "--shape", "--trip", "--assume", "--set",
                             "--framework", "--precision", "--optimizer", "--checkpoint", "--limit",
                             "--lengths", "--longest", "--alloc-conf", "--cudnn", "--hwdb"})
      check_views({"estimate", sound, "--gpu", "l4", flag, name});
    for (const char* verb : {"gpus", "links", "frameworks", "models", "ops", "schema", "explain",
                             "sweep", "validate", "estimate", "compare", "max-batch", "workspace"})
      check_harmless(run_plimsoll({verb, name}));
    check_harmless(run_plimsoll({name}));
    check_harmless(run_plimsoll({"estimate", sound, name}));
    check_harmless(run_plimsoll({"estimate", "@" + name}));
  }
}

TEST_CASE("cli: hostile texts of configs, plans, measured runs and databases") {
  if (skipped()) return;
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("devices"));
  for (const std::string& name : kHostile) {
    CAPTURE(plimsoll::escaped(name));
    const std::string quoted = json_string(name);
    const auto config = [&](const std::string& layer) {
      return fmt::format(R"({{"schema": "plimsoll.model-config", "version": 1, "name": {0},
"inputs": [{{"name": {0}, "shape": ["batch", 8]}}], "layers": [{{"name": {0}, "type": "linear",
"out": 4}}, {1}]}})",
                         quoted, layer);
    };
    for (const std::string& layer :
         {R"({"type": "relu"})"s, fmt::format(R"({{"type": {}}})", quoted),
          fmt::format(R"({{"type": "linear", "out": {}}})", quoted),
          fmt::format(R"({{"type": "relu", {}: 1}})", quoted),
          fmt::format(R"({{"type": "relu", "from": {}}})", quoted)})
      check_views({"estimate", scratch.write("c.json", config(layer)), "--gpu", "l4", "--layers"});
    for (const std::string& plan :
         {fmt::format(
              R"({{"model": "builtin:alexnet", "parameters": {{{}: [1, 2], "batch_size": [1],
"gpu": ["l4"]}}}})",
              quoted),
          fmt::format(R"({{"model": {}, "parameters": {{"gpu": ["l4"]}}}})", quoted),
          fmt::format(R"({{"model": "builtin:alexnet", "parameters": {{"gpu": [{}]}}}})", quoted)})
      check_harmless(run_plimsoll({"sweep", scratch.write("p.json", plan)}));
    for (const char* column : {"kind", "device", "model", "precision", "total_ms", "framework"}) {
      std::string cell = "\"";
      for (const char c : name) cell += c == '"' ? "\"\"" : std::string(1, c);
      const std::string runs = fmt::format(
          "kind,device,model,batch,precision,total_ms,framework,{}\n"
          "model,l4,alexnet,8,fp32,10,pytorch,{}\"\n",
          column, cell);
      check_harmless(run_plimsoll({"validate", scratch.write("r.csv", runs)}));
    }
    for (const char* key : {"device", "model", "kind"}) {
      std::string record = R"({"kind": "model", "device": "l4", "model": "alexnet", "batch": 8,
"precision": "fp32", "total_ms": 1e6})";
      const size_t at = record.find('"', record.find(':', record.find(key)));
      record.replace(at, record.find('"', at + 1) + 1 - at, quoted);
      check_views({"validate",
                   scratch.write("r.json", R"({"schema": "plimsoll.measured", "version": 1,
"source": "x", "records": [)" + record + "]}"),
                   "--tolerance", "time=1%"});
    }
    scratch.write(
        "devices/" + std::string("mine.json"),
        fmt::format(R"({{"schema": "plimsoll.device", "version": 1, "id": {}}})", quoted));
    check_harmless(run_plimsoll({"gpus", "--hwdb", scratch.path("")}));
    check_harmless(
        run_plimsoll({"workspace", "--gpu", "l4"}, {.input = R"({"in": )" + quoted + "}\n"}));
  }
}
