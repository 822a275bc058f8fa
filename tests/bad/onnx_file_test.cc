// Hostile and broken ONNX files: the catalogue of bad inputs, rows A1 to A53. Rows about opening
// files are in tests/graph/base/byte_source_test.cc, about functions, branches and loops in
// tests/graph/onnx/inline_test.cc, about inputs in inputs_test.cc, about shapes in
// onnx_shapes_test.cc.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "graph/base/setting.h"
#include "tests/support/import_support.h"
#include "tests/support/scratch.h"

using namespace plimsoll;
using namespace plimsoll::test;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

struct BadFile {
  std::string_view row;
  std::string bytes;
  int exit;
  std::string_view code;
  std::string_view message;  // a part of it
};

// small_graph() with another set of nodes.
Proto nodes(const std::vector<Proto>& list) {
  GraphParts parts = small_graph();
  parts.nodes = list;
  return model(graph_of(parts));
}

Proto initializers(const std::vector<Proto>& list) {
  GraphParts parts = small_graph();
  parts.initializers = list;
  return model(graph_of(parts));
}

Proto without_outputs() {
  GraphParts parts = small_graph();
  parts.outputs.clear();
  return graph_of(parts);
}

std::string tar_header() {
  std::string bytes(512, '\0');
  bytes.replace(0, 10, "model.onnx");
  bytes.replace(257, 5, "ustar");
  return bytes;
}

const Proto kSound = model(graph_of(small_graph()));

std::vector<BadFile> bad_files() {
  const Proto g = graph_of(small_graph());
  const Proto opset = Proto().text(1, "").number(2, 17);
  return {
      {"A5", "", 3, "E201", "is empty (0 bytes)"},
      {"A6", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", 3, "E202",
       "is a Git LFS pointer, not a model"},
      {"A7", "\n <!DOCTYPE html><html><title>404", 3, "E202", "is an HTML page"},
      {"A7", "<HTML>", 3, "E202", "is an HTML page"},
      {"A8",
       "PK\x03\x04"
       "archive/data.pkl",
       3, "E203", "is a zip archive, such as a PyTorch"},
      {"A8", "\x80\x02}q\x01", 3, "E203", "is a pickle, such as a PyTorch checkpoint"},
      {"A8", "\x1c\0\0\0TFL3"s, 3, "E203", "is a TensorFlow Lite model"},
      {"A8", "GGUF\x03\0\0\0"s, 3, "E203", "is a GGUF file"},
      {"A8", "\x40\0\0\0\0\0\0\0{\"w\":"s, 3, "E203", "is a safetensors file"},
      {"A8", "\x1f\x8b\x08", 3, "E203", "is compressed with gzip"},
      {"A8", tar_header(), 3, "E203", "is a tar archive"},
      {"A8",
       "\x0a\x05\x0a\x03"
       "abc",
       3, "E203", "is a TensorFlow graph"},
      {"A9", "  {\"layers\": []}", 3, "E203", "is JSON, not an ONNX model"},
      {"A10", "\x07\x07\x07", 3, "E204", "not a protobuf message: bad wire type 7 at byte 0"},
      {"A10", std::string(64, '\0'), 3, "E204", "bad field 0 at byte 0"},
      {"A13", kSound.bytes() + Proto().length(14, uint64_t{1} << 63).bytes(), 3, "E205",
       "announces 9223372036854775808 bytes"},
      {"A13", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 3, "E205",
       "a number of more than 64 bits at byte 1"},
      {"A14", Proto().number(1, 8).number(7, 1).bytes(), 3, "E206",
       "field 7 (graph) has wire type 0"},
      {"A14", nodes({Proto().number(4, 1)}).bytes(), 3, "E206",
       "field 4 (op_type) has wire type 0"},
      {"A15", std::string(400'000, '\x0b'), 3, "E207", "group at byte 0; ONNX has none"},
      {"A20", Proto().number(1, 8).message(7, g).message(7, g).bytes(), 3, "E208",
       "graph given twice, at bytes 2 and "},
      {"A21", Proto().number(1, 8).message(8, opset).bytes(), 3, "E211", "has no graph"},
      {"A21", model(without_outputs()).bytes(), 3, "E212", "graph has no outputs"},
      {"A22", Proto().number(1, 8).message(7, g).bytes(), 3, "E213", "operator set"},
      {"A22", model(g, 0).bytes(), 3, "E213", "operator set"},
      {"A23", nodes({node("Add", {"x", "x7"}, {"y"}, {}, "sum")}).bytes(), 3, "E221",
       "input 'x7' is not produced by any node, input or initializer"},
      {"A23", nodes({node("Relu", {"x"}, {"z"})}).bytes(), 3, "E221", "output 'y' is not produced"},
      {"A24",
       nodes({node("Relu", {"x"}, {"y"}, {}, "a"), node("Abs", {"x"}, {"y"}, {}, "b")}).bytes(), 3,
       "E222", "'y' is given twice: by node 0 'a' (Relu) and by node 1 'b' (Abs)"},
      {"A24", initializers({tensor("x9", 1, {1}), tensor("x9", 1, {1})}).bytes(), 3, "E222",
       "'x9' is given twice"},
      {"A25",
       nodes({node("Add", {"x", "b"}, {"a"}, {}, "one"), node("Relu", {"a"}, {"b"}, {}, "two"),
              node("Abs", {"b"}, {"y"})})
           .bytes(),
       3, "E223", "'one'"},
      {"A31", initializers({tensor("w", 1, {-5, 3})}).bytes(), 3, "E231", "an extent of -5"},
      {"A33", initializers({tensor("w", 1, {32, int64_t{1} << 46, 1 << 20})}).bytes(), 3, "E232",
       "32 x 70368744177664 x 1048576 elements overflow 64 bits"},
      {"A37", initializers({tensor("w", 1, std::vector<int64_t>(10'000, 1))}).bytes(), 5, "E804",
       "more than 64 dimensions of a tensor"},
      {"A39", initializers({tensor("w", 0, {3})}).bytes(), 3, "E234", "element type 0"},
      {"A39", initializers({tensor("w", 99, {3})}).bytes(), 3, "E234", "element type 99"},
      {"A41", nodes({node("Relu", {"x"}, {"y"}, {attribute("a", 1), attribute("a", 2)})}).bytes(),
       3, "E249", "attribute 'a' is given twice, in node 0 of graph"},
      {"A41",
       nodes({node("Relu", {"x"}, {"y"}, {Proto().text(1, "a").text(4, "text").number(20, 7)})})
           .bytes(),
       3, "E247", "attribute 'a' is declared with type 7 but has a value of type 3"},
      {"A51", nodes({node("Relu", {std::string(1 << 20, 'n')}, {"y"})}).bytes(), 5, "E805",
       "has 1048576 bytes, more than 4096"},
      {"found by fuzzing",
       nodes({node("Constant", {}, {"y", "z"}, {attribute("value_int", 1)})}).bytes(), 3, "E247",
       "a Constant of 2 outputs"},
      {"no operator", nodes({node("", {"x"}, {"y"})}).bytes(), 3, "E214", "has no operator"},
  };
}

}  // namespace

TEST_CASE("bad ONNX files are refused with their code, exit status and reason") {
  for (const BadFile& bad : bad_files()) {
    CAPTURE(bad.row);
    CAPTURE(bad.message);
    Diagnostics warnings;
    const auto graph = import_onnx(source_of(bad.bytes), {}, warnings);
    REQUIRE_FALSE(graph);
    const Diagnostic& d = graph.error()[0];
    CHECK(d.code == bad.code);
    CHECK_MESSAGE(d.message.find(bad.message) != std::string::npos, d.message);
    CHECK(d.place.file == "m.onnx");
    CHECK(exit_status(graph.error()) == bad.exit);
  }
}

TEST_CASE("odd but sound ONNX files are accepted, with their warning") {
  struct Odd {
    std::string_view row;
    Proto model;
    std::string_view codes;
  };
  const Proto g = graph_of(small_graph());
  const Proto length = Proto().text(1, "length").text(2, "-1");
  const Proto unknown = Proto().text(1, "basepath").text(2, "/etc");
  GraphParts no_nodes = small_graph();
  no_nodes.nodes.clear();
  no_nodes.outputs = {value("x", {"batch", 8})};
  const std::vector<Odd> odd = {
      {"A21", model(graph_of(no_nodes)), "W211"},
      {"A22", model(g, 9999), "W201"},
      {"A22", model(g, 6), "W201"},
      {"A22", model(g).number(1, 999), "W201"},
      {"A22", model(g).message(8, Proto().text(1, "com.acme").number(2, 1)), ""},
      {"A30", nodes({node("Relu", {"x"}, {"t"}, {}, "n"), node("Relu", {"t"}, {"y"}, {}, "n")}),
       ""},
      {"A38", initializers({tensor("w", 1, {128})}), "W205"},
      {"A39", initializers({tensor("w", 8, {3}).text(6, "abc")}), "W206"},
      {"A46", initializers({external(tensor("w", 1, {8}), "../../etc/passwd")}), "W220"},
      {"A46", initializers({external(tensor("w", 1, {8}), "/etc/passwd")}), "W220"},
      {"A46", initializers({external(tensor("w", 1, {8}), "")}), "W220"},
      {"A46", initializers({external(tensor("w", 1, {8}), "a\0b"sv)}), "W220"},
      {"A46", initializers({external(tensor("w", 1, {8}), std::string(1 << 20, 'a'))}), "W220"},
      {"A47", initializers({external(tensor("w", 1, {8}), "weights").message(13, length)}), "W221"},
      {"A47", initializers({external(tensor("w", 1, {8}), "weights").message(13, unknown)}),
       "W221"},
      {"A48", initializers({external(tensor("w", 1, {8}), "missing.bin")}), ""},
      {"A49", initializers({tensor("w", 22, {8}).text(9, "abcd")}), ""},
      {"A50", model(g).message(20, Proto()), "W213"},
      {"A50", nodes({node("ReluGrad", {"x", "x"}, {"y"})}), "W213"},
      {"A51", nodes({node("Relu", {"x"}, {"y"}, {}, "a\0b"sv)}), ""},
      {"A51", nodes({node("Relu", {"x"}, {"y"}, {}, std::string(1 << 20, 'n'))}), ""},
  };
  for (const Odd& o : odd) {
    CAPTURE(o.row);
    Diagnostics warnings;
    import(o.model, {}, &warnings);
    CHECK(codes(warnings) == o.codes);
  }
}

TEST_CASE("A49: a sparse initializer has its dense shape") {
  GraphParts parts = small_graph();
  Proto g = graph_of(parts);
  g.message(15, Proto().message(1, tensor("s", 1, {2})).number(3, 10).number(3, 20));
  const Graph graph = import(model(g));
  CHECK(shape_text(graph, "s") == "f32[10,20]");
}

TEST_CASE("A11: a model cut at any byte is refused, and says where it ends") {
  GraphParts parts = small_graph();
  parts.initializers = {integers("shape", {2}, {3, 4}), tensor("w", 1, {2}).text(9, "12345678")};
  parts.nodes.push_back(node("Conv", {"x"}, {"z"}, {attribute("pads", std::vector<int64_t>{1})}));
  const std::string whole = model(graph_of(parts)).bytes();
  import(Proto().raw(whole));
  std::set<std::string> seen;
  for (size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const Diagnostic d = refusal(whole.substr(0, size));
    seen.insert(d.code);
    if (d.code != "E205") continue;
    CHECK_MESSAGE(d.message.find(" at byte " + std::to_string(size)) != std::string::npos,
                  d.message);
  }
  CHECK(seen == std::set<std::string>{"E201", "E205", "E211", "E213"});
}

TEST_CASE("A12: a model with any one bit flipped is answered or refused") {
  GraphParts parts = small_graph();
  parts.initializers = {integers("shape", {2}, {3, 4}), tensor("w", 1, {2}).text(9, "12345678")};
  parts.nodes.push_back(node("Conv", {"x"}, {"z"}, {attribute("pads", std::vector<int64_t>{1})}));
  const std::string whole = model(graph_of(parts)).bytes();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    CAPTURE(bit);
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    Diagnostics warnings;
    const auto graph = import_onnx(source_of(flipped), {}, warnings);
    if (!graph) CHECK(exit_status(graph.error()) >= 3);
  }
}

TEST_CASE("A16: subgraphs nested too deep are refused at the limit, however deep they go") {
  const auto nested = [](int depth) {
    // Lengths are known from the inside, headers are written from the outside.
    std::vector<std::string> headers;
    size_t size = 0;
    for (int i = 0; i < depth; ++i) {
      const std::string body = Proto().text(1, "then_branch").length(6, size).bytes();
      const std::string attribute = Proto().text(4, "If").length(5, body.size() + size).bytes();
      headers.push_back(Proto().length(1, attribute.size() + body.size() + size).bytes() +
                        attribute + body);
      size += headers.back().size();
    }
    std::string bytes;
    for (auto header = headers.rbegin(); header != headers.rend(); ++header) bytes += *header;
    Proto g = graph_of(small_graph());
    return model(g.raw(bytes));
  };
  for (const int depth : {33, 34, 10'000}) {
    CAPTURE(depth);
    const Diagnostic d = refusal(nested(depth));
    CHECK(d.code == "E803");
    CHECK(d.message == "nested deeper than 32");
    CHECK(d.help.find(setting_entry("limit", "depth", "N")) != std::string::npos);
  }
  CHECK(refusal(nested(32)).code == "E247");  // an If without a condition
  ImportOptions options;
  options.limits.depth = 1 << 20;
  CHECK(refusal(nested(10'000), options).code == "E247");
}

TEST_CASE("A17: 20 million empty nodes are counted and refused, not stored") {
  constexpr size_t kNodes = 20'000'000;
  std::string body;
  body.reserve(2 * kNodes);
  for (size_t i = 0; i < kNodes; ++i) body.append("\x0a\0", 2);
  const Diagnostic d = refusal(Proto().number(1, 8).text(7, body));
  CHECK(d.code == "E802");
  CHECK(d.message == "more than 2000000 nodes");
}

TEST_CASE("A18: a model of 3 GiB is read without its weights") {
  const Scratch scratch;
  const std::string path = scratch.path("large.onnx");
  const uint64_t payload = uint64_t{3} << 30;
  // model { graph { initializer { ... raw_data } rest of graph } opset }
  const std::string tensor_head = tensor("w", 1, {3 << 8, 1 << 20}).length(9, payload).bytes();
  const std::string initializer = Proto().length(5, tensor_head.size() + payload).bytes();
  const std::string rest = graph_of(small_graph()).bytes();
  const std::string head =
      Proto()
          .number(1, 8)
          .length(7, initializer.size() + tensor_head.size() + payload + rest.size())
          .bytes() +
      initializer + tensor_head;
  const std::string tail = rest + Proto().message(8, Proto().number(2, 17)).bytes();
  const int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(file >= 0);
  REQUIRE(pwrite(file, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()));
  REQUIRE(pwrite(file, tail.data(), tail.size(), static_cast<off_t>(head.size() + payload)) ==
          static_cast<ssize_t>(tail.size()));
  close(file);
  Diagnostics warnings;
  const auto graph = import_onnx(*ByteSource::open(path, {}), {}, warnings);
  REQUIRE(graph);
  CHECK(warnings.empty());
  CHECK(shape_text(*graph, "w") == "f32[768,1048576]");
  CHECK(graph->nodes.size() == 1);
}

TEST_CASE("hostile counts end at their limits") {
  Proto many = Proto().text(4, "Relu");
  for (int i = 0; i < 5000; ++i) many.message(5, attribute("a" + std::to_string(i), 1));
  CHECK(refusal(nodes({many})).code == "E811");
  ImportOptions options;
  options.limits.attribute_values = 3;
  CHECK(refusal(nodes({node("Relu", {"x"}, {"y"}, {attribute("a", std::vector<int64_t>(4, 1))})}),
                options)
            .code == "E812");
  options.limits.tensors = 1;
  CHECK(refusal(kSound, options).code == "E813");
  options = {};
  options.limits.model = 20;
  CHECK(refusal(kSound, options).code == "E808");
  options = {};
  options.limits.dim = 100;
  CHECK(refusal(initializers({tensor("w", 1, {101})}), options).code == "E809");
  options = {};
  options.limits.elements = 100;
  CHECK(refusal(initializers({tensor("w", 1, {11, 11})}), options).code == "E810");
}
