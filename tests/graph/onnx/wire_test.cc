#include "graph/onnx/wire.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/onnx_writer.h"
#include "tests/support/scratch.h"

using namespace plimsoll;
using namespace plimsoll::onnx;
using test::Proto;

namespace {

// The code and message with which visiting every field of `bytes` ends.
std::string failure_of(std::string_view bytes) {
  const ByteSource source = test::source_of(bytes);
  Wire wire(source, {});
  Message message = Message::whole(wire, "model");
  for (Field field; message.next(field);) {
  }
  if (!wire.failed()) return "";
  const Diagnostic d = wire.failure().value()[0];
  return d.code + " " + d.message;
}

}  // namespace

TEST_CASE("a message gives its fields in order, of any wire type") {
  const ByteSource source = test::source_of(
      Proto().number(1, -1).text(2, "abc").real(3, 1.5F).raw({"\x21\0\0\0\0\0\0\0\x40", 9}));
  Wire wire(source, {});
  Message message = Message::whole(wire, "model");
  Field field;
  REQUIRE(message.next(field));
  CHECK(message.integer(field, "a") == -1);
  REQUIRE(message.next(field));
  CHECK(message.text(field, "b") == "abc");
  REQUIRE(message.next(field));
  CHECK(message.real(field, "c") == 1.5);
  REQUIRE(message.next(field));
  CHECK(field.number == 4);
  CHECK(field.type == WireType::kFixed64);
  CHECK_FALSE(message.next(field));
  CHECK_FALSE(wire.failed());
}

TEST_CASE("repeated numbers are read packed or not, up to a limit") {
  const ByteSource source =
      test::source_of(Proto().number(1, 5).text(1, "\x06\x07\x80\x01").number(1, 9));
  Wire wire(source, {});
  Message message = Message::whole(wire, "model");
  std::vector<int64_t> values;
  for (Field field; message.next(field);) CHECK(message.integers(field, "a", values, 8));
  CHECK(values == std::vector<int64_t>{5, 6, 7, 128, 9});
  Message again = Message::whole(wire, "model");
  bool all = true;
  values.clear();
  for (Field field; again.next(field);) all &= again.integers(field, "a", values, 3);
  CHECK_FALSE(all);
  CHECK(values.size() == 3);
}

TEST_CASE("A10, A13, A15: what is not protobuf says where and why") {
  CHECK(failure_of("\x07") == "E204 not a protobuf message: bad wire type 7 at byte 0");
  CHECK(failure_of(std::string_view("\0", 1)) ==
        "E204 not a protobuf message: bad field 0 at byte 0");
  CHECK(failure_of("\x0b") == "E207 group at byte 0; ONNX has none");
  CHECK(failure_of("\x0c") == "E207 group at byte 0; ONNX has none");
  CHECK(failure_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").empty());  // 10 bytes
  CHECK(failure_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") ==
        "E205 a number of more than 64 bits at byte 1, in model");
  CHECK(failure_of("\x12\x05"
                   "abc") == "E205 ends inside model at byte 5 of 7");
  CHECK(failure_of(Proto().length(2, uint64_t{1} << 63).bytes()).substr(0, 4) == "E205");
  CHECK(failure_of("\x08\x80") == "E205 ends inside model at byte 2 of 3");
  CHECK(failure_of("\x0d\x01") == "E205 ends inside model at byte 2 of 5");
}

TEST_CASE("a length may not run out of the message that holds it") {
  const ByteSource source = test::source_of(
      Proto().text(1, Proto().length(2, 100).bytes()).text(3, std::string(200, 'x')));
  Wire wire(source, {});
  Message model = Message::whole(wire, "model");
  Field field;
  REQUIRE(model.next(field));
  Message graph = model.inside(field, "graph", 3);
  CHECK_FALSE(graph.next(field));
  REQUIRE(wire.failed());
  CHECK(wire.failure().value()[0].message ==
        "field 2 at byte 2 announces 100 bytes, more than graph 3 of model has left");
}

TEST_CASE("A14: a field of the wrong wire type is named") {
  const ByteSource source = test::source_of(Proto().number(7, 1));
  Wire wire(source, {});
  Message model = Message::whole(wire, "model");
  Field field;
  REQUIRE(model.next(field));
  CHECK(model.text(field, "graph").empty());
  CHECK(wire.failure().value()[0].message == "field 7 (graph) has wire type 0 at byte 0, in model");
  CHECK(wire.failure().value()[0].code == "E206");
  CHECK(wire.failure().value()[0].place.file == "m.onnx");
  CHECK_FALSE(model.next(field));  // errors stick
}

TEST_CASE("A51: a name over the limit is refused, a clipped text is cut") {
  const ByteSource source = test::source_of(Proto().text(1, std::string(5000, 'n')));
  Wire wire(source, {});
  Message model = Message::whole(wire, "model");
  Field field;
  REQUIRE(model.next(field));
  CHECK(model.clipped(field, "doc").size() == 4096);
  CHECK_FALSE(wire.failed());
  CHECK(model.text(field, "name").empty());
  CHECK(wire.failure().value()[0].code == "E805");
}

TEST_CASE("too much structure is refused by its limit") {
  Proto many;
  for (int i = 0; i < 100; ++i) many.number(1, 1);
  const ByteSource source = test::source_of(many);
  Limits limits;
  limits.model = 150;
  Wire wire(source, limits);
  Message model = Message::whole(wire, "model");
  int fields = 0;
  for (Field field; model.next(field);) ++fields;
  CHECK(fields == 75);
  CHECK(wire.failure().value()[0].code == "E808");
}

TEST_CASE("A18, A19: offsets are 64 bits wide and payloads are passed over") {
  const test::Scratch scratch;
  const std::string path = scratch.path("large");
  const uint64_t payload = uint64_t{5} << 30;
  const std::string head = Proto().number(1, 8).length(2, payload).bytes();
  const std::string tail = Proto().number(3, 7).bytes();
  const int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(pwrite(file, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()));
  REQUIRE(pwrite(file, tail.data(), tail.size(), static_cast<off_t>(head.size() + payload)) ==
          static_cast<ssize_t>(tail.size()));
  close(file);
  const auto source = ByteSource::open(path);
  REQUIRE(source);
  Wire wire(*source, {});
  Message model = Message::whole(wire, "model");
  std::vector<uint64_t> values;
  for (Field field; model.next(field);) values.push_back(field.value);
  CHECK(values == std::vector<uint64_t>{8, payload, 7});
}
