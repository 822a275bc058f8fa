#include "graph/record/recorded_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

namespace plimsoll {
namespace {

constexpr int64_t kMostRanks = int64_t{1} << 24;

struct Group {
  std::optional<Axis> axis;  // none: ranks of several
  int64_t apart = 1, ranks = 1;
};

std::optional<Group> read_group(JsonObject& record, const JsonValue& value) {
  const JsonValue::List* const parts = record.list_in(value, "groups");
  if (parts == nullptr) return std::nullopt;
  if (parts->size() != 3) {
    record.fail("E281", "a group has an axis, how far its ranks are apart, and how many they are",
                value);
    return std::nullopt;
  }
  Group group;
  const std::string axis = record.text_in((*parts)[0], "groups").value_or("");
  const auto* const known = std::ranges::find(kAxisNames, axis);
  if (known != kAxisNames.end())
    group.axis = static_cast<Axis>(known - kAxisNames.begin());
  else if (!axis.empty())
    record.fail("E281", "groups know no such axis", value);
  group.apart =
      record.integer_in((*parts)[1], "groups", {.low = 1, .high = kMostRanks}).value_or(1);
  group.ranks =
      record.integer_in((*parts)[2], "groups", {.low = 2, .high = kMostRanks}).value_or(2);
  return group;
}

// The axes whose groups, one in the other, are the group's ranks; none where the mesh has none
// such.
std::vector<Axis> axes_along(const Mesh& mesh, const Group& group) {
  std::vector<Axis> axes;
  int64_t ranks = 1;
  for (size_t i = 0; i < kAxisCount && ranks < group.ranks; ++i) {
    const auto axis = static_cast<Axis>(i);
    if (mesh.extent(axis) == 1 || mesh.stride(axis) < group.apart) continue;
    if (mesh.stride(axis) != group.apart * ranks) return {};
    axes.push_back(axis);
    ranks *= mesh.extent(axis);
  }
  return ranks == group.ranks ? axes : std::vector<Axis>{};
}

}  // namespace

RecordedWorld read_recorded_world(JsonObject& record) {
  RecordedWorld world;
  const auto numbers = record.required_integers("world", {.low = 0, .high = kMostRanks});
  const bool whole = numbers.size() == 2 && numbers[1] < numbers[0];
  if (!whole) record.fail("E281", "the world has ranks, and one of them is this");
  if (whole) world.mesh.rank = numbers[1];
  std::vector<Group> groups;
  for (const JsonValue& value : record.required_list("groups")) {
    if (const auto group = read_group(record, value)) groups.push_back(*group);
  }
  int64_t ranks = 1;
  for (const Group& group : groups) {
    if (!group.axis || world.mesh.extent(*group.axis) > 1) continue;
    world.mesh.extent(*group.axis) = group.ranks;
    if (ranks <= kMostRanks) ranks *= group.ranks;
  }
  // Ranks that tell each other nothing have samples of their own.
  if (whole && ranks < numbers[0] && numbers[0] % ranks == 0 && world.mesh.extent(Axis::kData) == 1)
    ranks *= world.mesh.extent(Axis::kData) = numbers[0] / ranks;
  if (!whole || ranks != numbers[0]) {
    if (whole)
      record.fail("E281", fmt::format("its groups are of {} ranks, of {}", ranks, numbers[0]));
    world.groups.resize(groups.size());
    return world;
  }
  for (const Group& group : groups) {
    world.groups.push_back(axes_along(world.mesh, group));
    if (world.groups.back().empty())
      record.fail("E281", fmt::format("group {} does not belong to the mesh of the other groups",
                                      world.groups.size() - 1));
  }
  return world;
}

}  // namespace plimsoll
