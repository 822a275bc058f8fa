#include "graph/base/byte_source.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/support/scratch.h"

using namespace plimsoll;
using test::Scratch;

namespace {

std::string code_of(const std::string& path) {
  const auto source = ByteSource::open(path);
  return source ? "" : source.error()[0].code;
}

std::string text_of(const ByteSource& source, uint64_t offset, size_t size) {
  std::vector<std::byte> bytes(size);
  const auto got = source.read(offset, bytes);
  REQUIRE(got);
  return {reinterpret_cast<const char*>(bytes.data()), *got};
}

}  // namespace

TEST_CASE("ByteSource reads a file at any offset, and less at its end") {
  const Scratch scratch;
  const auto source = ByteSource::open(scratch.write("a", "0123456789"));
  REQUIRE(source);
  CHECK(source->size() == 10);
  CHECK(text_of(*source, 3, 4) == "3456");
  CHECK(text_of(*source, 8, 4) == "89");
  CHECK(text_of(*source, 10, 4) == "");
  CHECK(text_of(*source, UINT64_MAX, 4) == "");
}

TEST_CASE("A1-A4: what is not a readable file is refused by name") {
  const Scratch scratch;
  scratch.write("model.onnx", "x");
  const auto missing = ByteSource::open(scratch.path("modle.onnx"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error()[0].code == "E601");
  CHECK(missing.error()[0].help.find("model.onnx") != std::string::npos);
  const auto folder = ByteSource::open(scratch.path(""));
  REQUIRE_FALSE(folder);
  CHECK(folder.error()[0].code == "E602");
  CHECK(folder.error()[0].help.find("model.onnx") != std::string::npos);
  REQUIRE(mkfifo(scratch.path("fifo").c_str(), 0600) == 0);
  CHECK(code_of(scratch.path("fifo")) == "E604");
  CHECK(code_of("/dev/zero") == "E604");
  CHECK(code_of(std::string(5000, 'x')) == "E606");
  const std::string locked = scratch.write("locked", "x");
  chmod(locked.c_str(), 0);
  if (geteuid() != 0) CHECK(code_of(locked) == "E603");  // root may read everything
  CHECK(exit_status(missing.error()) == 4);
}

TEST_CASE("standard input is read up to its limit") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::thread writer([&] {
    const std::string text(200'000, 'x');
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t put = write(ends[1], text.data() + done, text.size() - done);
      if (put <= 0) break;
      done += static_cast<size_t>(put);
    }
    close(ends[1]);
  });
  const auto source = ByteSource::drain(ends[0], "-");
  writer.join();
  REQUIRE(source);
  CHECK(source->size() == 200'000);
  close(ends[0]);

  Limits limits;
  limits.stdin_bytes = 3;
  REQUIRE(pipe(ends) == 0);
  REQUIRE(write(ends[1], "0123", 4) == 4);
  close(ends[1]);
  const auto refused = ByteSource::drain(ends[0], "-", limits);
  close(ends[0]);
  REQUIRE_FALSE(refused);
  CHECK(refused.error()[0].code == "E814");
}

TEST_CASE("A52: a file that shrinks or grows while it is read is an error, not a signal") {
  const Scratch scratch;
  const std::string path = scratch.write("a", std::string(812, 'x'));
  const auto source = ByteSource::open(path);
  REQUIRE(source);
  CHECK(source->check_unchanged());
  REQUIRE(truncate(path.c_str(), 4) == 0);
  std::vector<std::byte> bytes(812);
  const auto got = source->read(0, bytes);
  REQUIRE_FALSE(got);
  CHECK(got.error()[0].code == "E605");
  CHECK(got.error()[0].message == "changed while being read (size 812 -> 4)");
  CHECK_FALSE(source->check_unchanged());
  REQUIRE(truncate(path.c_str(), 1000) == 0);
  CHECK_FALSE(source->check_unchanged());
}

TEST_CASE("A53: a file that is replaced while it is read is read as it was opened") {
  const Scratch scratch;
  const std::string path = scratch.write("a", "old");
  const auto source = ByteSource::open(path);
  REQUIRE(source);
  std::filesystem::rename(scratch.write("b", "new and longer"), path);
  CHECK(text_of(*source, 0, 20) == "old");
  CHECK(source->check_unchanged());
}

TEST_CASE("sha256_of hashes a whole input, unless it is large") {
  const auto source = ByteSource::of("abc", {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}});
  const auto hash = sha256_of(source);
  REQUIRE(hash);
  CHECK(*hash == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_FALSE(sha256_of(source, 2)->has_value());
}
