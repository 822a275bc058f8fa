// What is released reads files from anywhere: its relocations are bound and locked before it reads
// one, no stack of it runs, and its functions begin where jumps may land.
#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

template <class T>
T at(std::string_view file, uint64_t offset) {
  T value{};
  REQUIRE(offset + sizeof(T) <= file.size());
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

struct Elf {
  bool interpreted = false, locked = false, stack_runs = true, bound = false;
  std::string main = {};  // its first bytes; empty where the file has no symbols
};

void read_dynamic(std::string_view file, const Elf64_Phdr& part, Elf& elf) {
  for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= part.p_filesz; i += sizeof(Elf64_Dyn)) {
    const auto entry = at<Elf64_Dyn>(file, part.p_offset + i);
    const bool now = (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_BIND_NOW) != 0) ||
                     (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NOW) != 0);
    elf.bound = elf.bound || now;
  }
}

void read_main(std::string_view file, const Elf64_Ehdr& head, Elf& elf) {
  const auto section = [&](uint64_t i) {
    return at<Elf64_Shdr>(file, head.e_shoff + i * head.e_shentsize);
  };
  for (uint64_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(symbols.sh_link);
    for (uint64_t s = 0; s < symbols.sh_size; s += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(file, symbols.sh_offset + s);
      if (std::string_view(file.data() + names.sh_offset + symbol.st_name) != "main") continue;
      const Elf64_Shdr text = section(symbol.st_shndx);
      elf.main = file.substr(text.sh_offset + symbol.st_value - text.sh_addr, 4);
    }
  }
}

Elf read_elf(const std::string& path) {
  const std::string file = detail::text_of(path);
  const auto head = at<Elf64_Ehdr>(file, 0);
  REQUIRE(std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0);
  Elf elf;
  for (uint64_t i = 0; i < head.e_phnum; ++i) {
    const auto part = at<Elf64_Phdr>(file, head.e_phoff + i * head.e_phentsize);
    if (part.p_type == PT_INTERP) elf.interpreted = true;
    if (part.p_type == PT_GNU_RELRO) elf.locked = true;
    if (part.p_type == PT_GNU_STACK) elf.stack_runs = (part.p_flags & PF_X) != 0;
    if (part.p_type == PT_DYNAMIC) read_dynamic(file, part, elf);
  }
  read_main(file, head, elf);
  return elf;
}

// Another build than the release's is as quick to make as can be.
bool is_release() { return plimsoll_binary() && !read_elf(plimsoll_binary()).interpreted; }

}  // namespace

TEST_CASE("release: what is shipped is bound and locked before it reads a file") {
  if (!is_release()) return not_run("PLIMSOLL_BINARY is no release build; './dev test' makes one");
  for (const char* variable : {"PLIMSOLL_BINARY", "PLIMSOLL_MONITOR"}) {
    const char* const path = std::getenv(variable);
    if (!path) continue;
    CAPTURE(std::string(path));
    const Elf elf = read_elf(path);
    CHECK(elf.locked);
    CHECK(elf.bound);
    CHECK_FALSE(elf.stack_runs);
#ifdef __x86_64__
    CHECK((elf.main.empty() || elf.main == "\xF3\x0F\x1E\xFA"));  // endbr64
#endif
  }
}

}  // namespace plimsoll::test
