// Files that users name, good and hostile, through the whole program: the catalogue of bad inputs,
// rows A (models), B (configs), C (database), D (hostile text) and E (measured runs). What a reader
// does with a broken file in detail is tested beside the reader.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/onnx_writer.h"
#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;
using namespace std::string_literals;

namespace {

struct BadFile {
  const char* row;
  const char* file;
  std::string bytes;
  int status;
  const char* code;
  const char* message;
  std::vector<std::string> flags = {};
};

// One Relu of x: f32[4,8], or another first extent.
Proto relu(std::string_view node, std::string_view op = "Relu", Extent first = 4) {
  GraphParts parts;
  parts.inputs = {value("x", {first, 8})};
  parts.outputs = {value("y", {})};
  parts.nodes = {plimsoll::test::node(op, {"x"}, {"y"}).text(3, node)};
  return model(graph(parts));
}

std::string config(const std::string& layers, const std::string& top = "") {
  return R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",)" + top + R"(
"inputs": [{"name": "x", "shape": ["batch", 8]}],
"layers": [)" +
         layers + "]}\n";
}

const std::string kLinear = R"({"type": "linear", "out": 4})";

std::vector<BadFile> models() {
  return {
      {"A5", "m.onnx", "", 3, "E201", "is empty (0 bytes)"},
      {"A6", "m.onnx", "version https://git-lfs.github.com/spec/v1\n", 3, "E202", "git lfs pull"},
      {"A7", "m.onnx", "<!DOCTYPE html><html>404", 3, "E202", "HTML page"},
      {"A8", "m.onnx", "PK\x03\x04"s + "x", 3, "E203", "zip archive"},
      {"A9", "m.onnx", "\x80\x02}q\x01", 3, "E203", "pickle"},
      {"A9", "m.json", relu("n").bytes(), 3, "E301", "m.json"},
      {"A9", "m.onnx", config(kLinear), 0, "", ""},
      {"A10", "m.onnx", "\x07\x07\x07", 3, "E204", "bad wire type 7"},
      {"A11", "m.onnx", relu("n").bytes().substr(0, 20), 3, "E205", "ends inside"},
      {"A22", "m.onnx", relu("n").bytes(), 0, "", ""},
      {"A35", "m.onnx", relu("n", "Relu", "batch").bytes(), 2, "E131", "add: --batch 32"},
      {"A32", "m.onnx", relu("n", "Relu", 0).bytes(), 0, "", "0 unless it is given"},
      {"A32", "m.onnx", relu("n", "Relu", 0).bytes(), 0, "", "unknown", {"--batch", "2"}},
      {"A31", "m.onnx", relu("n", "Relu", -5).bytes(), 3, "E231", "an extent of -5"},
      {"A29", "m.onnx", relu("n", "FlashThing").bytes(), 3, "E210", "--assume FlashThing"},
      {"A29",
       "m.onnx",
       relu("n", "FlashThing").bytes(),
       0,
       "",
       "W210",
       {"--assume", "FlashThing=ELEMENTWISE"}},
      {"A29",
       "m.onnx",
       relu("n", "FlashThing").bytes(),
       3,
       "W210",
       "",
       {"--assume", "FlashThing=ELEMENTWISE", "--strict"}},
      {"A35", "m.onnx", relu("n", "Relu", "n").bytes(), 2, "E131", "dimension 'n' of x"},
      {"A35", "m.onnx", relu("n", "Relu", "n").bytes(), 0, "", "", {"--dim", "n=3"}},
      {"A35",
       "m.onnx",
       relu("n", "Relu", "sequence").bytes(),
       2,
       "E113",
       "did you mean sequence?",
       {"--dim", "sequnce=5"}},
  };
}

std::vector<BadFile> configs() {
  return {
      {"B1", "c.json", config(kLinear + ","), 3, "E301", "c.json:3:"},
      {"B1", "c.json", config(kLinear + " // no"), 3, "E301", "c.json:3:"},
      {"B1", "c.json", config(R"({"type": "linear", "out": NaN})"), 3, "E301", "c.json:3:"},
      {"B1", "c.json", config(R"({"type": "linear", "out": 012})"), 3, "E301", "c.json:3:"},
      {"B1", "c.json", config(kLinear).substr(0, 60), 3, "E301", "ends too early"},
      {"B2", "c.json", "\xEF\xBB\xBF" + config(kLinear), 0, "", ""},
      {"B2", "c.json", "\xFF\xFE{\0"s, 3, "E302", "UTF-16"},
      {"B2", "c.json", config("{\"type\": \"\xE9\"}"), 3, "E302", "UTF-8"},
      {"B3", "c.json", std::string(10'000'000, '['), 5, "E806", "c.json:1:65"},
      {"B4", "c.json", config(R"({"type": "relu", "type": "tanh"})"), 3, "E303", "given twice"},
      {"B5", "c.json", config(R"({"type": "linear", "out": 4, "bais": true})"), 3, "E304",
       "did you mean \"bias\"?"},
      {"B6", "c.json", config(R"({"type": "linear"})"), 3, "E306", "\"out\""},
      {"B7", "c.json", config(R"({"type": "linear", "out": [64]})"), 3, "E311", "found"},
      {"B8", "c.json", config(R"({"type": "linear", "out": 0})"), 3, "E312", "found 0"},
      {"B8", "c.json", config(R"({"type": "linear", "out": 18446744073709551616})"), 3, "E312", ""},
      {"B9", "c.json", config(R"({"type": "linaer", "out": 4})"), 3, "E313", "linear"},
      {"B10", "c.json", config(kLinear, R"("include": "../../etc/passwd",)"), 3, "E304", "include"},
      {"B11", "c.json", R"({"schema": "plimsoll.model-config", "name": "n"})", 3, "E306",
       "\"version\""},
      {"B11", "c.json", R"({"schema": "plimsoll.model-config", "version": 9, "name": "n"})", 3,
       "E330", "this build reads"},
      {"B12", "c.json", "[]", 3, "E331", "must be an object"},
      {"B12", "c.json", "", 3, "E331", "c.json"},
      {"B13", "c.json", config(R"({"type": "relu", "input": "nowhere"})"), 3, "E341", "nowhere"},
      {"B14", "c.json", config(R"({"type": "linear", "in": 9, "out": 4})"), 3, "E342", "(line 3)"},
      {"B15", "c.json",
       config(R"({"type": "repeat", "count": 100000000, "layers": [{"type": "relu"}]})"), 5, "E802",
       "more than 100000 layers"},
      {"B18", "c.json", config(kLinear) + "{}", 3, "E305", "a second value"},
      {"B20", "c.json", config(R"({"type": "relu", ")" + std::string(1 << 21, 'k') + R"(": 1})"), 5,
       "E807", "--limit json-string=N"},
      {"B21", "c.json", config(R"({"type": "linear", "out": "${HOME}"})"), 3, "E344", ""},
  };
}

// A message's first line, and what it must never hold.
void check_message(const BadFile& bad, const Ran& ran) {
  CAPTURE(std::string(bad.row));
  CAPTURE(std::string(bad.code));
  CAPTURE(ran.err.substr(0, 500));
  CHECK(ran.status == bad.status);
  CHECK(ran.err.find(bad.message) != std::string::npos);
  if (*bad.code) {
    CHECK(ran.err.substr(0, ran.err.find('\n')).ends_with("["s + bad.code + "]"));
  } else {
    CHECK_FALSE(ran.out.empty());
  }
  CHECK(std::none_of(ran.err.begin(), ran.err.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 32 && c != '\n') || c == 127;
  }));
}

const char* const kDevice = R"({"schema": "plimsoll.device", "version": 1, "id": ")";

}  // namespace

TEST_CASE("cli: model files that are no models, and models with open questions") {
  if (skipped()) return;
  const Scratch scratch;
  for (const auto& table : {models(), configs()}) {
    for (const BadFile& bad : table) {
      std::vector<std::string> arguments = {"estimate", scratch.write(bad.file, bad.bytes), "--gpu",
                                            "l4"};
      arguments.insert(arguments.end(), bad.flags.begin(), bad.flags.end());
      check_message(bad, run_plimsoll(arguments));
    }
  }
}

TEST_CASE("cli: paths that are no files") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string model = scratch.write("there.onnx", relu("n").bytes());
  const auto estimate = [](const std::string& path) {
    return run_plimsoll({"estimate", path, "--gpu", "l4"});
  };
  const std::string pipe = scratch.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const BadFile missing{"A1", "", "", 4, "E601", "there.onnx"};
  check_message(missing, estimate(scratch.path("not.onnx")));
  check_message({"A2", "", "", 4, "E602", "there.onnx"}, estimate(scratch.path("")));
  check_message({"A4", "", "", 4, "E604", "standard input"}, estimate("/dev/zero"));
  check_message({"A4", "", "", 4, "E604", "standard input"}, estimate(pipe));
  check_message({"A1", "", "", 4, "E601", "\\x1b[2J"}, estimate("\x1b[2J"));
  check_message({"G18", "", "", 4, "E606", ""}, estimate(std::string(5000, 'n')));
  check_message({"G18", "", "", 0, "", ""},
                estimate(scratch.write("\xff\n.onnx", relu("n").bytes())));
}

TEST_CASE("cli: a model from standard input") {
  if (skipped()) return;
  for (const std::string& bytes : {relu("n").bytes(), config(kLinear)}) {
    const Ran ran =
        run_plimsoll({"estimate", "-", "--gpu", "l4", "--batch", "3", "--json"}, {.input = bytes});
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    const auto answer = nlohmann::json::parse(ran.out);
    CHECK(answer["input"]["batch"] == 3);
    CHECK(answer["input"]["sha256"].get<std::string>().size() == 64);
  }
  CHECK(run_plimsoll({"estimate", "-", "--gpu", "l4"}).status == 3);
  const Ran endless = run_plimsoll({"estimate", "-", "--gpu", "l4", "--limit", "stdin=1000"},
                                   {.input = std::string(2000, ' ')});
  CHECK(endless.status == 5);
  CHECK(endless.err.find("[E814]") != std::string::npos);
}

TEST_CASE("cli: all open dimensions are listed at once, with flags to paste") {
  if (skipped()) return;
  const Scratch scratch;
  GraphParts parts;
  parts.inputs = {value("a", {"n", "m"}), value("b", {"n", "k"})};
  parts.outputs = {value("y", {})};
  parts.nodes = {node("Concat", {"a", "b"}, {"y"})
                     .message(5, Proto().text(1, "axis").number(3, 1).number(20, 2))};
  const std::string path = scratch.write("m.onnx", model(graph(parts)).bytes());
  const Ran open = run_plimsoll({"estimate", path, "--gpu", "l4"});
  CHECK(open.status == 2);
  CAPTURE(open.err);
  for (const char* flag : {"--dim k=N", "--dim m=N", "--batch 32"})
    CHECK(open.err.find(flag) != std::string::npos);
  CHECK(run_plimsoll({"estimate", path, "--gpu", "l4", "--batch", "2", "--dim", "m=3", "--dim",
                      "k=4", "--loss", "sum"})
            .status == 0);
}

TEST_CASE("cli: a sum of several outputs is told to be no training's loss") {
  if (skipped()) return;
  const Scratch scratch;
  const auto of = [&](size_t outputs) {
    GraphParts parts;
    parts.inputs = {value("x", {"n", "8"})};
    for (size_t i = 0; i < outputs; ++i) {
      const std::string name = "y" + std::to_string(i);
      parts.nodes.push_back(node("Relu", {"x"}, {name}));
      parts.outputs.push_back(value(name, {}));
    }
    return scratch.write(std::to_string(outputs) + ".onnx", model(graph(parts)).bytes());
  };
  const auto asked = [&](const std::string& path, std::vector<std::string> more) {
    more.insert(more.begin(), {"estimate", path, "--gpu", "l4", "--batch", "2"});
    return run_plimsoll(more);
  };
  const std::string several = of(3);
  CHECK(says(asked(several, {"--loss", "sum"}), "the sum of 3 outputs"));
  CHECK(!says(asked(several, {"--loss", "sum", "--mode", "inference"}), "N530"));
  CHECK(!says(asked(several, {"--loss", "mse"}), "N530"));
  CHECK(!says(asked(of(1), {"--loss", "sum"}), "N530"));
}

// Rows C3, C5, C7, C8 and C10.
TEST_CASE("cli: a database folder of the user's") {
  if (skipped()) return;
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("devices"));
  const auto gpus = [&](const std::string& id, const std::string& bytes) {
    scratch.write("devices/" + id + ".json", bytes);
    return run_plimsoll({"gpus", id, "--hwdb", scratch.path("")});
  };
  check_message({"C5", "", "", 3, "E301", ":1:"}, gpus("mine", "{"));
  check_message({"C7", "", "", 3, "E404", "not an id"}, gpus("bad", kDevice + "Bad Id\"}"s));
  check_message({"C10", "", "", 3, "E330", "this build reads"},
                gpus("new", R"({"schema": "plimsoll.device", "version": 99, "id": "new"})"));
  const Ran others = run_plimsoll({"gpus", "--hwdb", scratch.path("")});
  CHECK(others.status == 0);
  CHECK(others.out.find("tesla-t4") != std::string::npos);
  CHECK(others.err.find("[W403]") != std::string::npos);
  CHECK(run_plimsoll(
            {"estimate", "builtin:squeezenet1_0", "--gpu", "mine", "--hwdb", scratch.path("")})
            .status == 3);
}

TEST_CASE("cli: files of measured runs") {
  if (skipped()) return;
  const std::string head = "kind,device,model,batch,precision,total_ms\n";
  const std::vector<BadFile> files = {
      {"E1", "r.csv", "", 3, "E501", "no runs"},
      {"E1", "r.csv", head, 3, "E501", "no runs"},
      {"E1", "r.json", R"({"kind": "model", "records": []})", 3, "E501", "no runs"},
      {"E2", "r.csv", "kind,total_ms\nmodel,1\n", 3, "E306", "\"device\" is missing"},
      {"E2", "r.csv", "kind,device,device\nmodel,a,b\n", 3, "E510", "given twice"},
      {"E3", "r.csv", "kind;device;model;total_ms\nmodel;t4;alexnet;100\n", 3, "E512",
       "semicolons"},
      {"E3", "r.csv", head + "model,tesla-t4,\"alexnet,8,fp32,100\n", 3, "E511", "not closed"},
      {"E4", "r.csv", head + "model,tesla-t4,alexnet,8,fp32,-1\n", 3, "E513", "negative"},
      {"E13", "r.csv", head + "model,tesla-t4,alexnet,8,fp32,0\n", 3, "E514",
       "nothing was measured"},
      {"E16", "r.csv", "\x80\x02}q\x01", 3, "E530", "pickle"},
      {"E3", "r.csv", head + "model,tesla-t4\n", 3, "E511", "r.csv:2:"},
      {"E3", "r.csv", head + "model,tesla-t4,alexnet,8,fp32,100\r\n", 0, "", ""},
      {"E3", "r.csv", "\xEF\xBB\xBF" + head + "model,tesla-t4,alexnet,8,fp32,100", 0, "", ""},
      {"E6", "r.csv", head + "model,tesla-t4,no-such-model,8,fp32,100\n", 1, "", ""},
      {"E6",
       "r.csv",
       head + "model,tesla-t4,no-such-model,8,fp32,100\nmodel,tesla-t4,alexnet,8,fp32,100\n",
       0,
       "",
       "",
       {"--allow-skipped"}},
      {"E2", "r.csv", "kind,device,model,batch,totl_ms\nmodel,tesla-t4,alexnet,8,100\n", 1, "W515",
       "did you mean \"total_ms\"?"},
      {"E11",
       "r.csv",
       head + "model,tesla-t4,alexnet,8,fp32,100\n",
       1,
       "",
       "",
       {"--tolerance", "memory=10%"}},
      {"E12",
       "r.csv",
       head + "model,tesla-t4,alexnet,8,fp32,100\n",
       2,
       "E119",
       "per cent such as 10%",
       {"--tolerance", "time=0.15"}},
      {"E12",
       "r.csv",
       head + "model,tesla-t4,alexnet,8,fp32,100\n",
       2,
       "E106",
       "memory",
       {"--tolerance", "memry=15%"}},
      {"E11",
       "r.csv",
       head + "model,tesla-t4,alexnet,8,fp32,100\n",
       2,
       "E117",
       "--mode is not for validate",
       {"--mode", "inference"}},
      {"E4", "r.csv", "kind,device,model,batch,nvidia_smi_mb\nmodel,t4,alexnet,8,99999999\n", 1, "",
       ""},
      {"E15", "r.csv", "kind,device,model,batch,nvidia_smi_mb\nmodel,t4,alexnet,8,[N/A]\n", 1,
       "N520", "1 cells"},
      {"E11",
       "r.csv",
       head + "model,tesla-t4,alexnet,8,fp32,100000\n",
       1,
       "",
       "allowed 10.0 %",
       {"--tolerance", "time=10%"}},
      {"E12",
       "r.csv",
       head + "model,tesla-t4,alexnet,8,fp32,100\n",
       2,
       "E103",
       "--tolerance time",
       {"--tolerance", "time=-1%"}},
      {"E12",
       "r.csv",
       head + "model,tesla-t4,alexnet,8,fp32,100\n",
       1,
       "",
       "allowed 0.0 %",
       {"--tolerance", "time=0%"}},
  };
  const Scratch scratch;
  for (const BadFile& bad : files) {
    std::vector<std::string> arguments = {"validate", scratch.write(bad.file, bad.bytes)};
    arguments.insert(arguments.end(), bad.flags.begin(), bad.flags.end());
    check_message(bad, run_plimsoll(arguments));
  }
}

// Row F16. Whatever the moment at which memory ends, it is an answer, not a signal.
TEST_CASE("cli: memory exhausted anywhere is exit status 5") {
  if (skipped()) return;
  const Scratch scratch;
  GraphParts parts;
  parts.inputs = {value("t0", {4, 8})};
  parts.outputs = {value("t3000", {})};
  for (int i = 0; i < 3000; ++i)
    parts.nodes.push_back(
        plimsoll::test::node("Sigmoid", {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)}));
  const std::string path = scratch.write("m.onnx", model(graph(parts)).bytes());
  int exhausted = 0, answered = 0;
  for (rlim_t kib = 12'000; kib < 60'000; kib += 499) {
    CAPTURE(kib);
    const Ran ran = run_plimsoll({"estimate", path, "--gpu", "l4", "--loss", "sum"},
                                 {.address_space = kib << 10});
    if (ran.status == 127 || ran.status == 139) continue;  // the program itself did not fit
    CHECK((ran.status == 0 || ran.status == 5));
    ++(ran.status == 0 ? answered : exhausted);
  }
  CHECK(exhausted > 0);
  CHECK(answered > 0);
}
