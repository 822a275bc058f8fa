#include "graph/onnx/stack_trace.h"

#include <doctest/doctest.h>

namespace plimsoll::onnx {
namespace {

// A trace of one call with this source line.
std::string of_line(const std::string& source) {
  return statements_of("File \"/a/net.py\", line 7, in forward\n    " + source);
}

TEST_CASE("stack trace: files without folders, lines and the names that they assign") {
  CHECK(statements_of("File \"/a/b/vit.py\", line 66, in forward\n"
                      "    x, mask = self.embed(\n"
                      "  File \"C:\\torch\\mlp.py\", line 12, in forward\n"
                      "    return self.fc2(self.fc1(x))") == "vit.py:66 x,mask...;mlp.py:12");
  CHECK(statements_of("File \"<eval_with_key>.7\", line 8, in forward\n"
                      "    gelu = torch.ops.aten.gelu.default(linear);  linear = None") ==
        "<eval_with_key>.7:8");
  CHECK(statements_of("").empty());
  CHECK(statements_of("no trace at all").empty());
  CHECK(statements_of("File \"net.py\", line x, in forward\n    y = f(x)").empty());
  // Python that cannot find a file's source writes none.
  CHECK(statements_of("File \"a.py\", line 1, in forward\n  File \"b.py\", line 2, in forward\n"
                      "    y = f(x)") == "a.py:1;b.py:2 y");
}

TEST_CASE("stack trace: what is assigned is left of an equals sign") {
  CHECK(of_line("y = self.conv(x)") == "net.py:7 y");
  CHECK(of_line("outputs: Output = self.vit(x)") == "net.py:7 outputs");
  CHECK(of_line("(a, _) = self.lstm(x)") == "net.py:7 a,_");
  CHECK(of_line("self.kept = self.conv(x)") == "net.py:7 self.kept");
  CHECK(of_line("x += self.bias") == "net.py:7 x+=");
  CHECK(of_line("y = self.bn(x).add_(x)") == "net.py:7 y+=");
  CHECK(of_line("y=self.conv(x)") == "net.py:7 y");
  CHECK(of_line("a,b=self.split(x, dim=1)") == "net.py:7 a,b");
  CHECK(of_line("x+=self.bias") == "net.py:7 x+=");
  CHECK(of_line("x = x if x.sum() >= 0 else y") == "net.py:7 x");
  CHECK(of_line("h = self.zeros(x); c = h") == "net.py:7 h,c");
  CHECK(of_line("i, f = self.f(x); c = f * c; return c") == "net.py:7 i,f,c");
  CHECK(of_line("self.check(x); y = self.conv(x)") == "net.py:7 y");
  // Near misses: an argument, a comparison, an item, nothing at all.
  CHECK(of_line("index=ids.unsqueeze(-1).expand(b, -1, c),") == "net.py:7");
  CHECK(of_line("mask=self.mask(x))") == "net.py:7");
  CHECK(of_line("x = y,") == "net.py:7 x");
  CHECK(of_line("self.conv(x, dim=1)") == "net.py:7");
  CHECK(of_line("if x.sum() == 0: return y") == "net.py:7");
  CHECK(of_line("if x.sum()==0: return y") == "net.py:7");
  CHECK(of_line("return x<=y") == "net.py:7");
  CHECK(of_line("out[0] = self.conv(x)") == "net.py:7");
  CHECK(of_line("return self.conv(x)") == "net.py:7");
}

// A trace lists calls of forward() alone, so the library's own function has no line.
TEST_CASE("stack trace: a mask that transformers' functions make is the library's") {
  const auto of_model = [](const std::string& file, const std::string& source) {
    return statements_of("File \"/a/" + file + "\", line 7, in forward\n    " + source);
  };
  CHECK(of_model("modeling_llama.py", "causal_mask = create_causal_mask(") ==
        "modeling_llama.py:7 causal_mask...;masking_utils.py:1");
  CHECK(of_model("modeling_mistral.py", "causal_mask = mask_function(") ==
        "modeling_mistral.py:7 causal_mask...;masking_utils.py:1");
  CHECK(of_model("modeling_qwen3.py", "\"full_attention\": create_causal_mask(**mask_kwargs),") ==
        "modeling_qwen3.py:7;masking_utils.py:1");
  // Near misses: a network's own function, and one that is called inside a line of the trace.
  CHECK(of_model("net.py", "mask = create_causal_mask(x)") == "net.py:7 mask");
  CHECK(of_model("modeling_net.py", "mask = self.mask(x)") == "modeling_net.py:7 mask");
  CHECK(statements_of("File \"modeling_bert.py\", line 7, in forward\n"
                      "    mask = create_bidirectional_mask(\n"
                      "File \"masking_utils.py\", line 9, in forward\n    return mask") ==
        "modeling_bert.py:7 mask...;masking_utils.py:9");
}

}  // namespace
}  // namespace plimsoll::onnx
