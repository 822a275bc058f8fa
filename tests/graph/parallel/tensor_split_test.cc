#include "graph/parallel/tensor_split.h"

#include <doctest/doctest.h>

#include "graph/parallel/rank_graph.h"
#include "tests/support/inferred_graph.h"

namespace plimsoll {
namespace {

// A block of attention and a gated layer, four heads of eight; words before and a head behind it.
constexpr std::string_view kSmallDecoder =
    "opset 17\ninput ids: i64[2,6]\nparam words: f32[40,32]\nparam q: f32[32,32]\n"
    "param k: f32[32,32]\nparam v: f32[32,32]\nparam o: f32[32,32]\nparam up: f32[32,64]\n"
    "param down: f32[64,32]\nparam head: f32[32,40]\nconst heads: i64[4] = [0, 0, 4, 8]\n"
    "const joined: i64[3] = [0, 0, 32]\n"
    "x = Gather(words, ids) module=\"embed\"\n"
    "q1 = MatMul(x, q) module=\"h.0.q\"\nk1 = MatMul(x, k) module=\"h.0.k\"\n"
    "v1 = MatMul(x, v) module=\"h.0.v\"\n"
    "q2 = Reshape(q1, heads) module=\"h.0\"\nk2 = Reshape(k1, heads) module=\"h.0\"\n"
    "v2 = Reshape(v1, heads) module=\"h.0\"\n"
    "q3 = Transpose(q2) {perm=[0, 2, 1, 3]} module=\"h.0\"\n"
    "k3 = Transpose(k2) {perm=[0, 2, 3, 1]} module=\"h.0\"\n"
    "v3 = Transpose(v2) {perm=[0, 2, 1, 3]} module=\"h.0\"\n"
    "s = MatMul(q3, k3) module=\"h.0\"\np = Softmax(s) module=\"h.0\"\n"
    "c = MatMul(p, v3) module=\"h.0\"\nc2 = Transpose(c) {perm=[0, 2, 1, 3]} module=\"h.0\"\n"
    "c3 = Reshape(c2, joined) module=\"h.0\"\na = MatMul(c3, o) module=\"h.0.o\"\n"
    "r = Add(x, a) module=\"h.0\"\nu = MatMul(r, up) module=\"h.0.up\"\n"
    "g = Relu(u) module=\"h.0.act\"\nd = MatMul(g, down) module=\"h.0.down\"\n"
    "r2 = Add(r, d) module=\"h.0\"\ny = MatMul(r2, head) module=\"head\"\noutput y\n";

Graph small_decoder(std::string_view text = kSmallDecoder) { return test::inferred_graph(text); }

TensorId named_tensor(const Graph& graph, std::string_view name) {
  const auto at = std::ranges::find(graph.tensors, name, &Tensor::name);
  REQUIRE(at != graph.tensors.end());
  return static_cast<TensorId>(at - graph.tensors.begin());
}

}  // namespace

TEST_CASE("tensor split: outputs of the first layers, inputs of the last, words") {
  const Graph graph = small_decoder();
  const auto split = parallel::split_tensors(graph, 2, false);
  CHECK(split.blocks == 1);
  CHECK(split.begins.size() == 5);  // q, k, v, up, head
  CHECK(split.ends.size() == 3);    // words, o, down
  const auto dimension = [&](std::string_view name) {
    const auto at = split.weights.find(named_tensor(graph, name));
    return at == split.weights.end() ? -1 : static_cast<int>(at->second.dimension);
  };
  CHECK(dimension("words") == 0);
  CHECK(dimension("q") == 1);
  CHECK(dimension("o") == 0);
  CHECK(dimension("up") == 1);
  CHECK(dimension("down") == 0);
  CHECK(dimension("head") == 1);
  CHECK(split.values.at(named_tensor(graph, "s")) == 1);
  CHECK(split.values.at(named_tensor(graph, "c3")) == 2);
  CHECK(!split.values.contains(named_tensor(graph, "a")));
  const Graph parts = parallel::with_parts(graph, split, 2);
  CHECK((*parts.tensors[named_tensor(graph, "s")].shape)[1] == Dim(2));
  CHECK((*parts.tensors[named_tensor(graph, "y")].shape)[2] == Dim(20));
}

// Keys and values of latent attention: a second layer makes them, and one key part is of all heads.
constexpr std::string_view kLatent =
    "opset 17\ninput x: f32[2,6,32]\nparam qa: f32[32,16]\nparam qb: f32[16,48]\n"
    "param ka: f32[32,20]\nparam kb: f32[16,64]\nparam o: f32[32,32]\n"
    "param g: f32[16]\n"
    "const q_heads: i64[4] = [0, 0, 4, 12]\nconst k_heads: i64[4] = [0, 0, 4, 16]\n"
    "const cut: i64[2] = [16, 4]\nconst halves: i64[2] = [8, 8]\nconst one: i64[4] = [2, 1, 6, 4]\n"
    "const all: i64[4] = [2, 4, 6, 4]\nconst joined: i64[3] = [0, 0, 32]\n"
    "q0 = MatMul(x, qa) module=\"h.0.qa\"\nq1 = LayerNormalization(q0, g) module=\"h.0\"\n"
    "q2 = MatMul(q1, qb) module=\"h.0.qb\"\nq3 = Reshape(q2, q_heads) module=\"h.0\"\n"
    "q = Transpose(q3) {perm=[0, 2, 1, 3]} module=\"h.0\"\n"
    "k0 = MatMul(x, ka) module=\"h.0.ka\"\nc, r = Split(k0, cut) {axis=-1} module=\"h.0\"\n"
    "c1 = LayerNormalization(c, g) module=\"h.0\"\nk2 = MatMul(c1, kb) module=\"h.0.kb\"\n"
    "k3 = Reshape(k2, k_heads) module=\"h.0\"\n"
    "k4 = Transpose(k3) {perm=[0, 2, 1, 3]} module=\"h.0\"\n"
    "kn, v = Split(k4, halves) {axis=-1} module=\"h.0\"\nr1 = Reshape(r, one) module=\"h.0\"\n"
    "r2 = Expand(r1, all) module=\"h.0\"\nk = Concat(kn, r2) {axis=-1} module=\"h.0\"\n"
    "a = plimsoll:Attention(q, k, v) module=\"h.0\"\n"
    "a1 = Transpose(a) {perm=[0, 2, 1, 3]} module=\"h.0\"\n"
    "a2 = Reshape(a1, joined) module=\"h.0\"\ny = MatMul(a2, o) module=\"h.0.o\"\noutput y\n";

TEST_CASE("tensor split: what reads a part wants parts of the layers before it") {
  const Graph graph = small_decoder(kLatent);
  const auto split = parallel::split_tensors(graph, 2, false);
  CHECK(split.whole_attention == 0);
  for (const char* name : {"qb", "kb"})
    CHECK(split.weights.at(named_tensor(graph, name)) == Placement{Axis::kTensor, 1});
  CHECK(split.weights.at(named_tensor(graph, "o")) == Placement{Axis::kTensor, 0});
  for (const char* name : {"qa", "ka"}) CHECK(!split.weights.contains(named_tensor(graph, name)));
  for (const char* name : {"q", "k", "v", "r2"})
    CHECK(split.values.at(named_tensor(graph, name)) == 1);
  CHECK(split.copied.contains(named_tensor(graph, "r1")));  // one for all heads
}

// As DeepSeek V2 Lite has it: queries come of what the shared layer reads.
TEST_CASE("tensor split: queries are parted where a layer of all heads reads the same") {
  std::string text(kLatent);
  for (const auto& [was, now] :
       {std::pair<std::string_view, std::string_view>{
            "param qa: f32[32,16]\nparam qb: f32[16,48]\n", "param qb: f32[32,48]\n"},
        {"q0 = MatMul(x, qa) module=\"h.0.qa\"\n"
         "q1 = LayerNormalization(q0, g) module=\"h.0\"\n",
         ""},
        {"q2 = MatMul(q1, qb)", "q2 = MatMul(x, qb)"}})
    text.replace(text.find(was), was.size(), now);
  const Graph graph = small_decoder(text);
  const auto split = parallel::split_tensors(graph, 2, false);
  CHECK(split.whole_attention == 0);
  for (const char* name : {"qb", "kb"})
    CHECK(split.weights.at(named_tensor(graph, name)) == Placement{Axis::kTensor, 1});
  CHECK(!split.weights.contains(named_tensor(graph, "ka")));
}

// Its layers "up" and "down", adapted: rank two.
constexpr std::string_view kAdapted =
    "opset 17\ninput x: f32[6,32]\nparam up: f32[64,32]\nparam down: f32[32,64]\n"
    "param h.0.up.lora_A.weight: f32[2,32]\nparam h.0.up.lora_B.weight: f32[64,2]\n"
    "param h.0.down.lora_A.weight: f32[2,64]\nparam h.0.down.lora_B.weight: f32[32,2]\n"
    "u = plimsoll:Linear(x, up) module=\"h.0.up\"\n"
    "a = plimsoll:Linear(x, h.0.up.lora_A.weight) module=\"h.0.up\"\n"
    "b = plimsoll:Linear(a, h.0.up.lora_B.weight) module=\"h.0.up\"\n"
    "s = Add(u, b) module=\"h.0.up\"\ng = Relu(s) module=\"h.0.act\"\n"
    "d = plimsoll:Linear(g, down) module=\"h.0.down\"\n"
    "a2 = plimsoll:Linear(g, h.0.down.lora_A.weight) module=\"h.0.down\"\n"
    "b2 = plimsoll:Linear(a2, h.0.down.lora_B.weight) module=\"h.0.down\"\n"
    "y = Add(d, b2) module=\"h.0.down\"\noutput y\n";

TEST_CASE("tensor split: of an adapter the matrix that ends in its layer's part is split") {
  const Graph graph = small_decoder(kAdapted);
  const auto split = parallel::split_tensors(graph, 2, false);
  const auto dimension = [&](std::string_view name) {
    const auto at = split.weights.find(named_tensor(graph, name));
    return at == split.weights.end() ? -1 : static_cast<int>(at->second.dimension);
  };
  CHECK(split.blocks == 1);
  CHECK(dimension("up") == 0);
  CHECK(dimension("h.0.up.lora_A.weight") == -1);
  CHECK(dimension("h.0.up.lora_B.weight") == 0);
  CHECK(dimension("down") == 1);
  CHECK(dimension("h.0.down.lora_A.weight") == 1);
  CHECK(dimension("h.0.down.lora_B.weight") == -1);
  CHECK(split.ends.size() == 2);  // down, and the few columns of its adapter
  CHECK(!split.values.contains(named_tensor(graph, "y")));
}

// Queries and keys normalised over all four heads, as OLMo 2 has them.
constexpr std::string_view kNormed =
    "opset 17\ninput x: f32[2,6,32]\nparam wq: f32[32,32]\nparam wk: f32[32,32]\n"
    "param wv: f32[32,32]\nparam wo: f32[32,32]\nparam g: f32[32]\n"
    "const heads: i64[4] = [0, 0, 4, 8]\nconst joined: i64[3] = [0, 0, 32]\n"
    "q0 = MatMul(x, wq) module=\"h.0.a.q\"\nq1 = LayerNormalization(q0, g) module=\"h.0.a.qn\"\n"
    "k0 = MatMul(x, wk) module=\"h.0.a.k\"\nk1 = LayerNormalization(k0, g) module=\"h.0.a.kn\"\n"
    "v0 = MatMul(x, wv) module=\"h.0.a.v\"\nq2 = Reshape(q1, heads) module=\"h.0.a\"\n"
    "k2 = Reshape(k1, heads) module=\"h.0.a\"\nv2 = Reshape(v0, heads) module=\"h.0.a\"\n"
    "q = Transpose(q2) {perm=[0, 2, 1, 3]} module=\"h.0.a\"\n"
    "k = Transpose(k2) {perm=[0, 2, 1, 3]} module=\"h.0.a\"\n"
    "v = Transpose(v2) {perm=[0, 2, 1, 3]} module=\"h.0.a\"\n"
    "a = plimsoll:Attention(q, k, v) module=\"h.0.a\"\n"
    "a1 = Transpose(a) {perm=[0, 2, 1, 3]} module=\"h.0.a\"\n"
    "a2 = Reshape(a1, joined) module=\"h.0.a\"\nb = MatMul(a2, wo) module=\"h.0.a.o\"\n"
    "y = Add(x, b) module=\"h.0\"\noutput y\n";

TEST_CASE("tensor split: what norms over all heads read is gathered, and attention is whole") {
  const Graph graph = small_decoder(kNormed);
  const auto split = parallel::split_tensors(graph, 2, false);
  CHECK(split.whole_attention == 0);
  CHECK(split.gathered_attention == 1);
  CHECK(split.gathered.size() == 3);
  CHECK(split.cut.size() == 1);
  CHECK(split.ends == split.cut);
  for (const char* name : {"wq", "wk", "wv"})
    CHECK(split.weights.at(named_tensor(graph, name)) == Placement{Axis::kTensor, 1});
  CHECK(split.weights.at(named_tensor(graph, "wo")) == Placement{Axis::kTensor, 0});
  CHECK(split.values.empty());
}

// A bias of distances that all blocks read, and slopes of heads, made before them; heads beside
// query, key and value in what one layer makes.
constexpr std::string_view kBiased =
    "opset 17\ninput x: f32[2,6,32]\nparam table: f32[9,4]\nparam w: f32[32,96]\n"
    "param o: f32[32,32]\nparam w1: f32[32,96]\nparam o1: f32[32,32]\n"
    "const places: i64[6,6] = [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7, 3, 4, 5, 6, "
    "7, "
    "8, 4, 5, 6, 7, 8, 8, 5, 6, 7, 8, 8, 8]\nconst first: i64[1] = [0]\n"
    "const sizes: i64[4] = [1, 4, 1, 6]\nconst q_at: i64[] = [0]\nconst k_at: i64[] = [1]\n"
    "const v_at: i64[] = [2]\nconst heads: i64[5] = [0, 0, 4, 3, 8]\n"
    "const joined: i64[3] = [0, 0, 32]\n"
    "rows = Gather(table, places) module=\"bias\"\n"
    "turned = Transpose(rows) {perm=[2, 0, 1]} module=\"bias\"\n"
    "bias = Unsqueeze(turned, first) module=\"bias\"\n"
    "slopes = ConstantOfShape(sizes) module=\"alibi\"\n";

std::string block_of(std::string_view n, std::string_view in, std::string_view out,
                     std::string_view w, std::string_view o) {
  std::string text =
      "mN = MatMul(IN, W) module=\"h.N.w\"\nsN = Reshape(mN, heads) module=\"h.N\"\n"
      "q0N = Gather(sN, q_at) {axis=3} module=\"h.N\"\n"
      "k0N = Gather(sN, k_at) {axis=3} module=\"h.N\"\n"
      "v0N = Gather(sN, v_at) {axis=3} module=\"h.N\"\n"
      "qN = Transpose(q0N) {perm=[0, 2, 1, 3]} module=\"h.N\"\n"
      "kN = Transpose(k0N) {perm=[0, 2, 3, 1]} module=\"h.N\"\n"
      "vN = Transpose(v0N) {perm=[0, 2, 1, 3]} module=\"h.N\"\n"
      "pN = MatMul(qN, kN) module=\"h.N\"\nbN = Add(pN, bias) module=\"h.N\"\n"
      "lN = Add(bN, slopes) module=\"h.N\"\ncN = MatMul(lN, vN) module=\"h.N\"\n"
      "tN = Transpose(cN) {perm=[0, 2, 1, 3]} module=\"h.N\"\n"
      "jN = Reshape(tN, joined) module=\"h.N\"\nOUT = MatMul(jN, PO) module=\"h.N.o\"\n";
  for (const auto& [word, with] : {std::pair<std::string_view, std::string_view>{"IN", in},
                                   {"OUT", out},
                                   {"PO", o},
                                   {"W", w},
                                   {"N", n}}) {
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + with.size()))
      text.replace(at, word.size(), with);
  }
  return text;
}

TEST_CASE("tensor split: of biases and slopes that all blocks read each rank has its heads") {
  const Graph graph = small_decoder(std::string(kBiased) + block_of("0", "x", "r", "w", "o") +
                                    block_of("1", "r", "y", "w1", "o1") + "output y\n");
  const auto split = parallel::split_tensors(graph, 2, false);
  CHECK(split.blocks == 2);
  CHECK(split.whole_attention == 0);
  CHECK(!split.weights.contains(named_tensor(graph, "table")));
  CHECK(split.scattered == std::set<NodeId>{graph.tensors[named_tensor(graph, "rows")].producer});
  CHECK(split.values.at(named_tensor(graph, "turned")) == 0);
  CHECK(split.values.at(named_tensor(graph, "bias")) == 1);
  CHECK(split.values.at(named_tensor(graph, "slopes")) == 1);
  CHECK(split.values.at(named_tensor(graph, "q01")) == 2);
}

TEST_CASE("tensor split: heads that ranks do not divide stay whole, other layers do not") {
  const Graph graph = small_decoder();
  const auto split = parallel::split_tensors(graph, 8, false);
  CHECK(split.begins.size() == 2);  // up and head: four heads are not eight
  CHECK(split.whole_attention == 2);
  CHECK(!split.weights.contains(named_tensor(graph, "q")));
}

TEST_CASE("tensor split: a head that reads the table of tokens has its part of the words") {
  std::string text(kSmallDecoder);
  const std::string head = "y = MatMul(r2, head) module=\"head\"\n";
  text.replace(text.find(head), head.size(),
               "t = Transpose(words) {perm=[1, 0]}\ny = MatMul(r2, t) module=\"head\"\n");
  const Graph graph = small_decoder(text);
  const auto split = parallel::split_tensors(graph, 2, false);
  CHECK(split.weights.at(named_tensor(graph, "words")) == Placement{Axis::kTensor, 0});
  CHECK(split.values.at(named_tensor(graph, "y")) == 2);
  CHECK(split.copied.contains(named_tensor(graph, "r2")));
  const Graph parts = parallel::with_parts(graph, split, 2);
  CHECK((*parts.tensors[named_tensor(graph, "t")].shape)[1] == Dim(20));
  CHECK((*parts.tensors[named_tensor(graph, "y")].shape)[2] == Dim(20));
}

TEST_CASE("tensor split: what runs without autograd chooses, and every rank has it whole") {
  std::string text(kSmallDecoder);
  text.replace(text.find("param head"), 0, "param i: f32[32,32]\n");
  text.replace(text.find("q1 = MatMul"), 0,
               "i1 = MatMul(x, i) module=\"h.0.i\"\ni2 = Reshape(i1, heads) module=\"h.0\"\n"
               "i3 = Transpose(i2) {perm=[0, 2, 1, 3]} module=\"h.0\"\n"
               "i4 = Transpose(i2) {perm=[0, 2, 3, 1]} module=\"h.0\"\n"
               "i5 = MatMul(i3, i4) module=\"h.0\"\n");
  Graph graph = small_decoder(text);
  CHECK(parallel::split_tensors(graph, 2, false).weights.contains(named_tensor(graph, "i")));
  for (Node& node : graph.nodes)
    node.notes.no_grad = graph.tensors[node.outputs[0]].name.starts_with("i");
  const auto split = parallel::split_tensors(graph, 2, false);
  CHECK_FALSE(split.weights.contains(named_tensor(graph, "i")));
  CHECK(split.weights.contains(named_tensor(graph, "q")));
  CHECK(split.whole_attention == 0);
}

}  // namespace plimsoll
