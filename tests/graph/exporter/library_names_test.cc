#include "graph/exporter/library_names.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace plimsoll {

TEST_CASE("every name of a library's says which and where, once") {
  std::set<std::string_view> seen;
  for (const LibraryName& name : library_names()) {
    CAPTURE(name.suffix);
    CHECK_FALSE(name.library.empty());
    CHECK_FALSE(name.source.empty());
    CHECK(seen.insert(name.suffix).second);
    const std::string own(name.suffix.substr(name.suffix.starts_with('*') ? 1 : 0));
    CHECK(has_role(own, name.role));
    CHECK(has_role("model.layers.0." + own, name.role));
    CHECK_FALSE(has_role(own + ".weight", name.role));
  }
}

TEST_CASE("names are whole parts of a path; of masks the end of one") {
  CHECK(has_role("encoder.pe", NameRole::kBuffer));
  CHECK_FALSE(has_role("encoder.shape", NameRole::kBuffer));
  CHECK(has_role("blocks.0.rope.pos_embed", NameRole::kBuffer));
  CHECK_FALSE(has_role("pos_embed", NameRole::kBuffer));
  CHECK(has_role("blocks.0.attn_mask", NameRole::kMask));
  CHECK_FALSE(has_role("mask_token", NameRole::kMask));
  CHECK(has_role("model.encoder", NameRole::kEncoder));
  CHECK_FALSE(has_role("model.image_encoder", NameRole::kEncoder));
}

}  // namespace plimsoll
