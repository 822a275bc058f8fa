#include "graph/onnx/source_casts.h"

#include <doctest/doctest.h>

namespace plimsoll::onnx {
namespace {

std::string traced(const std::string& source) {
  return "File \"net.py\", line 2, in forward\n    y = x.float()\n"
         "  File \"norm.py\", line 7, in forward\n    " +
         source;
}

std::string casts(const std::string& source) { return casts_of(traced(source)); }

TEST_CASE("source casts: of a name, of a function's argument, of the whole expression") {
  CHECK(casts("return self.weight.to(torch.float32) * x") == "self.weight>float");
  CHECK(casts("return self.weight * x.to(input_dtype)") == "x>given");
  CHECK(casts("return (self.weight * x).to(x.dtype)") == "()>given");
  CHECK(casts("p = F.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype)") ==
        "softmax()>float,()>given");
  CHECK(casts("return self.norm(x.float()).type_as(x)") == "x>float,()>given");
  CHECK(casts("v = x.to(dtype=torch.float32).pow(2).mean(-1, keepdim=True)") == "x>float");
}

TEST_CASE("source casts: devices, whole numbers and other lines say nothing") {
  CHECK(casts("y = x.to(self.weight.device)").empty());
  CHECK(casts("y = (x > 0).to(torch.long)").empty());
  CHECK(casts("y = f(x, dtype=torch.int64)").empty());
  CHECK(casts("y = f(x).to(").empty());
  CHECK(casts("y = f(x).to(x.dtype) + z").empty());  // of which of its values is not known
  CHECK(casts("y = x + z").empty());
  CHECK(casts_of("File \"net.py\", line 2, in forward").empty());
  CHECK(casts_of("").empty());
}

TEST_CASE("source casts: which values of a traced line a cast has made") {
  CHECK(casts("mm = torch.ops.aten.matmul.default(t_1, to_2);  t_1 = to_2 = None") == "#2>float");
  CHECK(casts("mm = torch.ops.aten.matmul.default(to, mm)") == "#1>float");
  CHECK(casts("t = torch.ops.aten.slice.Tensor(mm, 3, 0, -1)").empty());
  CHECK(casts("t = torch.ops.aten.mul.Tensor(top, token);  top = to = None").empty());
}

TEST_CASE("source casts: a line that makes all contiguous that it transposes") {
  CHECK(makes_contiguous(traced("q = self.q(x).view(shape).transpose(1, 2).contiguous()")));
  CHECK(makes_contiguous(traced("x = x.permute(0, 2, 1, 3).contiguous().view(shape)")));
  CHECK_FALSE(makes_contiguous(traced("q = self.q(x).view(shape).transpose(1, 2)")));
  CHECK_FALSE(makes_contiguous(traced("q = q.transpose(1, 2) @ k.permute(0, 1).contiguous()")));
  CHECK_FALSE(makes_contiguous(traced("x = x.contiguous()")));
}

TEST_CASE("source casts: a line that writes into a part") {
  CHECK(writes_part(traced("x[:, 2:6] = y")));
  CHECK(writes_part(traced("x[:, 2:6] += y")));
  CHECK(writes_part(traced("x[:, 2:6].copy_(y)")));
  CHECK_FALSE(writes_part(traced("x = x.slice_scatter(y, 1, 2, 6)")));
  CHECK_FALSE(writes_part(traced("x = self.pieces[0](x)")));
}

TEST_CASE("source casts: a line that reshapes, and makes nothing contiguous") {
  CHECK(reshapes(traced("x = x.transpose(1, 2).reshape(b, n, c)")));
  CHECK(reshapes(traced("return self.fc(x.transpose(1, 2).flatten(2))")));
  CHECK_FALSE(reshapes(traced("x = x.transpose(1, 2).contiguous().reshape(b, n, c)")));
  CHECK_FALSE(reshapes(traced("x = x.transpose(1, 2).contiguous().view(b, n, c)")));
}

}  // namespace
}  // namespace plimsoll::onnx
