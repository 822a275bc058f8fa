#include "graph/rewrite/restore_casts.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/rewrite/cast.h"

using namespace plimsoll;

namespace {

struct Restored {
  size_t lines = 0;
  std::string halves;  // of the values that nodes make, "h" for bf16 and "s" for fp32
  size_t outside_autocast = 0;
};

Restored restored(const std::string& nodes) {
  auto graph = parse_text(
      "opset 20\ninput x: f32[4,8]\ninput z: f32[4,8]\nparam w: f32[8,8]\n"
      "const cap: f32[] = [30]\n" +
      nodes + "\noutput y\n");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  const Binding nothing;
  Decider decider(nothing);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  Restored found{.lines = restore_casts(*graph), .halves = {}, .outside_autocast = 0};
  for (const Node& node : graph->nodes) found.outside_autocast += node.notes.no_autocast;
  cast(*graph, DType::kBFloat16);
  for (const Node& node : graph->nodes)
    found.halves += graph->tensors[node.outputs[0]].dtype == DType::kFloat32 ? 's' : 'h';
  return found;
}

// What a line casts, as a file's stack trace has it.
std::string line(const std::string& casts) {
  return " calls=\"/net\" statements=\"net.py:3\"" +
         (casts.empty() ? "" : " casts=\"" + casts + "\"");
}

// A softmax whose line casts so, between two products.
Restored softmax(const std::string& casts) {
  return restored(
      "s = MatMul(x, w) calls=\"/net\" statements=\"net.py:2\"\n"
      "p = Softmax(s)" +
      line(casts) + "\ny = MatMul(p, w) calls=\"/net\" statements=\"net.py:4\"");
}

}  // namespace

TEST_CASE("restore_casts: softmax(s, dtype=torch.float32).to(s.dtype) goes up and back") {
  const Restored up = softmax("softmax()>float,()>given");
  CHECK(up.lines == 1);
  CHECK(up.halves == "hsshh");                           // product; cast, softmax; cast, product
  CHECK(softmax("s>float,()>given").halves == "hsshh");  // softmax(s.float()).type_as(s)
}

TEST_CASE("restore_casts: a line that does not go both ways stays") {
  for (const std::string casts : {"", "()>given", "softmax()>float", "zeros()>float,()>given"}) {
    CHECK(softmax(casts).lines == 0);
    CHECK(softmax(casts).halves == "hhh");
  }
}

TEST_CASE("restore_casts: all of a line is in single precision, what else reads its input is not") {
  const std::string both = line("h>float,()>given");
  const Restored cap = restored("h = MatMul(x, w)\nd = Div(h, cap)" + both + "\nt = Tanh(d)" +
                                both + "\nm = Mul(t, cap)" + both + "\no = Relu(h)\ny = Add(m, o)");
  CHECK(cap.lines == 1);
  CHECK(cap.halves ==
        "hssss"
        "hhh");  // product; cast to mul; relu, cast, sum
}

TEST_CASE("restore_casts: of two arrays that a line reads it is not known which is widened") {
  const std::string both = line("h>float,()>given");
  const Restored two =
      restored("h = MatMul(x, w)\ng = MatMul(z, w)\nm = Mul(h, g)" + both + "\ny = MatMul(m, w)");
  CHECK(two.lines == 0);
  CHECK(two.halves == "hhhh");
}

// q @ kv under a torch.autocast(enabled=False), between two layers.
TEST_CASE("restore_casts: what a tracer wrote is in single precision where its values were cast") {
  const auto attention = [](const std::string& file, const std::string& casts) {
    return restored(
        "q = MatMul(x, w) calls=\"/net\" statements=\"net.py:2\"\n"
        "kv = Mul(q, q) calls=\"/net\" statements=\"" +
        file + ":11 m\"" + casts + "\no = Add(kv, q) calls=\"/net\" statements=\"" + file +
        ":12 n\"\ny = MatMul(o, w) calls=\"/net\" statements=\"net.py:4\"");
  };
  const std::string casts = " casts=\"#1>float\"";
  const Restored wide = attention("<eval_with_key>.7", casts);
  CHECK(wide.lines == 1);
  CHECK(wide.halves == "hssshh");  // product; cast, product, sum; cast, product
  CHECK(wide.outside_autocast == 2);
  // Near misses: nothing was cast there, or the lines are the model's own.
  CHECK(attention("<eval_with_key>.7", "").outside_autocast == 0);
  CHECK(attention("<eval_with_key>.7", "").halves == "hhhh");
  CHECK(attention("net.py", casts).outside_autocast == 0);
  CHECK(attention("net.py", casts).halves == "hhhh");
}
